"""`tw.compare`: a kernel in two executors, down to the first op that is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.comparing.result import Comparison
from tilewright.comparing.sides import Side
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel


@public
def compare(
    kernel: tile_kernel, grid: Any, /, *args: Any, a: str | Side = "gpu", b: str | Side = "interpreter",
    save: Any = None, **named: Any,
) -> Comparison:
    """Run a kernel in two ways on copies of the same arguments; where they differ by more than the ops may, find the
    first op that is wrong.

    That is done by debug stores: the kernel runs again with arrays that get what some of its ops compute, for each
    block and iteration. An op is wrong where its result is not what the interpreter makes of the operands that it had,
    within the bounds of docs/language.md. Where the defect does not show with debug stores, the IR after each pass is
    executed instead, and the pass is named.

    Arguments: `kernel`, `grid` and `args` as in a launch; the arrays stay as they are.
    Options: `a`, `b`: "gpu", "interpreter", "interpreter:single" (one block after the other), "frontend" (before any
        pass), "simulator:sm_90a" (any target), "machine:sm_90a" (the IR after the passes for a target, in the
        interpreter), or a `Side`, which can have other constants, another grid and other hints. `save`, a folder that
        gets the IR, the arguments and a report where the sides differ; `tilewright compare FOLDER` shows it again.
    Result: a `Comparison`: `equal`, `first` (the op), `made_by` (the pass); print it.
    Errors: those of a launch; ValueError for another side.

    Example:
        @ct.tile_kernel
        def scale(x, out):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, 64) * 0.5)

        x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
        print(ct.compare(scale, (2,), x, out, a="simulator:sm_90a").exact)  # True
        ct.compare(scale, (2,), x, out, a="abacus")  # ValueError
    """
    from tilewright.comparing.saving import save as saved
    from tilewright.comparing.specialised import pair_of

    sides = tuple(side if isinstance(side, Side) else Side(side) for side in (a, b))
    pair = pair_of(kernel, grid, args, named, sides[0], sides[1])
    found = pair.compare()
    return found if found.equal or save is None else saved(pair, found, Path(save))
