"""A launch with everything in one call, as cuTile has it."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Never

from tilewright.kernel import tile_kernel
from tilewright.launching.checking import checking
from tilewright.launching.grid import make_grid
from tilewright.launching.numerics import target_of
from tilewright.launching.tracing import not_traced, record
from tilewright.tracebacks import public

if TYPE_CHECKING:
    from tilewright.interp.checking.report import Report


@not_traced
@public
def launch(
    stream: Any, grid: Any, kernel: Any, kernel_args: Any, /, *, programmatic_dependent_launch: bool = False,
    check: bool | str | Collection[str] = False, on_report: str = "raise", numerics: str | None = None,
    **unknown: Never,
) -> list[Report] | None:
    """Run a kernel over a grid, with everything in one call; `kernel[grid](*args)` does the same.

    Arguments: `stream`, a torch, CuPy or numba stream or an int handle (0: the default stream), None for the arrays'
        own; `grid`, a tuple of up to three ints; `kernel`; `kernel_args`, a tuple with one entry per parameter.
    Options: `programmatic_dependent_launch=True` allows the kernel to start before the one queued ahead of it has
        ended, as the kernel's hint of that name does for all of its launches. `check` and `on_report` run it checked,
        as `interpret` does, `numerics` in the interpreter too, with a GPU's arithmetic.
    Result: None; of a checked launch, a list of reports.
    Errors: as those of `kernel[grid]`, and TypeError for a grid or arguments that are no tuple; RuntimeError for a
        keyword that a launch does not have.

    Example:
        @ct.tile_kernel
        def kernel(out, value):
            ct.store(out, ct.bid(0), value)

        out = np.zeros(3, np.int32)
        ct.launch(None, (3,), kernel, (out, 7))
        print(out)  # [7 7 7]
        ct.launch(None, 3, kernel, (out, 7))  # TypeError
    """
    if unknown:
        raise RuntimeError(f"launch: there is no keyword {next(iter(unknown))!r}; the kernel's own arguments go into "
                           "the tuple, by position, and hints into @tile_kernel(...) or kernel.replace_hints(...)")
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"launch: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    if not isinstance(kernel_args, tuple):
        raise TypeError(f"launch: the kernel's arguments must be a tuple, not {type(kernel_args).__name__}")
    kernel.specialiser.call.check_count(kernel_args)
    if not isinstance(programmatic_dependent_launch, bool):
        raise TypeError("launch: programmatic_dependent_launch must be True or False, "
                        f"not {programmatic_dependent_launch!r}")
    made: tile_kernel = _dependent(kernel) if programmatic_dependent_launch else kernel
    checks = checking(check, on_report)
    target = target_of(numerics, checks is not None)
    if checks is None and target is None:
        if record(made.launcher, grid, kernel_args):
            return None
        if not isinstance(grid, tuple) or len(grid) > 3:
            make_grid(grid)  # raises
        own, named = made.specialiser.call.split(kernel_args)
        made[grid](*own, stream=stream, **named)
        return None
    arguments = made.specialiser.bind(kernel_args)
    return made.launcher.interpret(make_grid(grid), arguments, check=checks, target=target)


def _dependent(kernel: tile_kernel) -> tile_kernel:
    """The kernel with the hint for dependent launches, made once; `replace_hints` copies what a kernel holds."""
    known: tuple[Any, tile_kernel] | None = vars(kernel).get("_dependent")
    if known is None or known[0] is not kernel.hints:
        known = kernel.hints, kernel.replace_hints(programmatic_dependent_launch=True)
        vars(kernel)["_dependent"] = known
    return known[1]
