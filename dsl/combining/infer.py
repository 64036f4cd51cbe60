"""`infer`: which arguments a kernel writes, and the dtypes and shapes of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.arguments.bind import ArrayArgument, ArrayList
from tilewright.arguments.spec import Spec
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import make_grid
from tilewright.tileir.analysis.effects import written_arrays
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public


@dataclass(frozen=True, slots=True)
class Output:
    """An argument that a kernel writes: its `name` (of an element of a tuple or list `x`, `x[0]`), `dtype` and `shape`.
    `read`: whether the kernel also reads it, so that what it holds before counts."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    read: bool = False

    @property
    def spec(self) -> Spec:
        """The output as an argument of `kernel.lower`, `infer` and the like."""
        return Spec(self.dtype, self.shape)


@public
def infer(kernel: tile_kernel, grid: Any, /, *args: Any, **named: Any) -> tuple[Output, ...]:
    """Which arguments a kernel writes, with their dtypes and shapes: what to allocate before a launch. Nothing runs.

    Arguments: `kernel`; `grid`, as in a launch; the kernel's arguments, specs in the place of arrays. Of an output the
        dtype and the number of axes must be known: `ct.spec("f32[?,?]")` leaves the extents open.
    Result: a tuple with an Output (`name`, `dtype`, `shape`, `read`, `spec`) for each array that is written, in the
        order of the parameters. An open extent is that of an axis which is accessed at the same places; else it ends
        where the last tile of the grid ends.
    Errors: those of a launch; TileValueError at the line of a store whose indices depend on what arrays hold, and where
        two axes are accessed at the same places and their extents differ.

    Example:
        @ct.tile_kernel
        def row_sums(x, out):
            i = ct.bid(0)
            ct.store(out, i, ct.sum(ct.load(x, (i, 0), (4, 16), padding_mode=ct.PaddingMode.ZERO), axis=1))

        [out] = ct.infer(row_sums, (3,), ct.spec("f32[10,16]"), ct.spec("f32[?]"))
        print(out.name, out.dtype, out.shape)  # out float32 (10,)
        ct.infer(row_sums, (3,), ct.spec("f32[10,16]"), ct.spec("f32[?,?]"))  # TileTypeError
    """
    if not isinstance(kernel, tile_kernel):
        raise TypeError(f"infer: the kernel must be made with @tile_kernel, not {type(kernel).__name__}")
    from tilewright.combining.extents import Extents

    size = make_grid(grid if isinstance(grid, tuple) else (grid,)).size
    specialiser = kernel.specialiser
    arguments = specialiser.bind(specialiser.call.complete(args, named))
    function = specialiser.tile_ir(arguments, facts=False)
    extents = Extents(function, size, arguments)
    out: list[Output] = []
    for position in sorted(written_arrays(function)):
        leaf = extents.arrays[position]
        for item in leaf.items if isinstance(leaf, ArrayList) else [leaf]:
            assert isinstance(item, ArrayArgument)
            out.append(Output(item.name, item.info.dtype, extents.shape(position, item), extents.read(position)))
    return tuple(out)
