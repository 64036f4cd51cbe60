"""`kernel_from_ir`: a kernel from Tile IR."""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any

from tilewright.deriving.ir_source import IrSource
from tilewright.kernel import kernel_of, tile_kernel
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.plan import NO_ALIASES, MachinePlan, Switches
from tilewright.tracebacks import public


@public
def kernel_from_ir(
    ir: Function | str | PathLike[str], /, *, grid: str | None = None, deterministic: bool = False, **hints: Any
) -> tile_kernel:
    """The kernel that Tile IR describes: launched, compiled, checked and inspected like one of a Python function.

    Arguments: `ir`, the text that `kernel.ir(...)` gives, a file that holds it (a path object, `Path("scale.tile")`),
        or a function, as `kernel.lower(...).tile_ir()` makes it. Text with places (`spans=True`) keeps its lines.
    Options: `grid`, `deterministic` and hints as of `tile_kernel`; those of the IR hold for hints that are not given.
    Result: a kernel. Its parameters are those of the IR: constants are gone, a tuple `x` is `x_0`, `x_1`. The IR is
        specialised: arrays must have the extents, strides, divisors and alignment that it states.
    Errors: TileError with the place in the text for IR that is not valid, TileUnsupportedFeatureError for what the
        backend's passes have made; at a launch TypeError and ValueError for arguments that do not fit, TileValueError
        for arrays that share memory.

    Example:
        @ct.tile_kernel
        def scale(x, out, FACTOR: ct.Constant[float]):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, 4) * FACTOR)

        text = scale.ir(ct.spec("f32[8]"), ct.spec("f32[8]"), 3.0)
        again = ct.kernel_from_ir(text)
        x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
        again[(2,)](x, out)
        print(out)  # [ 0.  3.  6.  9. 12. 15. 18. 21.]
        again[(2,)](x, np.zeros((8, 1), np.float32))  # TypeError
        ct.kernel_from_ir("func @nothing")  # TileSyntaxError
    """
    function = clone_function(ir) if isinstance(ir, Function) else _read(ir)
    _check(function)
    rules = LaunchRules(grid=grid, deterministic=deterministic)
    options = KernelOptions(**{**asdict(function.hints), **hints})
    return kernel_of(IrSource(function), options, rules, tile_kernel)


def _read(ir: Any) -> Function:
    import tilewright.backend_ptx.ops  # noqa: F401  (so that dumps of the backend are read, and refused in words)
    from tilewright.tileir.parser import parse
    from tilewright.tileir.verifier import verify

    if not isinstance(ir, (str, PathLike)):
        raise TypeError(f"kernel_from_ir takes Tile IR as text, in a file or as a function, not {type(ir).__name__}")
    text, file = (ir, "<Tile IR>") if isinstance(ir, str) else (Path(ir).read_text(), str(Path(ir)))
    function = parse(text, file)
    verify(function)
    return function


def _check(function: Function) -> None:
    """Refuse what the compiler cannot begin with."""
    from tilewright.tileir import ops

    families = {f"{ops.__name__}.{name}" for name in ops.__all__}
    machine = next((op for op in function.walk() if type(op).__module__ not in families), None)
    if machine is not None or function.plan != MachinePlan():
        what = f"holds {machine.opcode}" if machine is not None else "has a plan"
        raise TileUnsupportedFeatureError(
            f"this IR {what}, which the backend's passes make", (machine or function).span,
            hints=["take the IR before the backend's passes: kernel.ir(...), or `tilewright ir`"])
    if function.aliases != NO_ALIASES or function.switches != Switches():
        raise TileUnsupportedFeatureError(
            "this IR was made for one launch: for arguments that share memory, or for one way of building it",
            function.span, hints=["take the IR for arrays that share none: kernel.ir(...)"])
