"""`tilewright check --prove`: what holds for every launch of a kernel, by interp/proving."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arguments.spec import Spec
from tilewright.tileir.core import Function
from tilewright.tileir.types import ArrayType

if TYPE_CHECKING:
    from tilewright.interp.proving import Known, Proof
    from tilewright.kernel import tile_kernel


def prove_kernel(kernel: tile_kernel, args: Sequence[Any], grid: tuple[int, ...] | None) -> Proof:
    """Prove the kernel's accesses in bounds, and that its blocks do not race, for all arrays of the types of `args`.

    Arguments: `args`: as for `kernel.ptx`; extents and `grid`, where given, are those of an example: what does not hold
        of them is not taken for granted.
    Errors: TileError for what does not compile.
    """
    from tilewright.interp.proving import prove

    stages = kernel.lower(*args)
    function = stages.tile_ir(passes=False, facts=False)
    return prove(function, example(function, stages.values, grid))


def example(function: Function, values: Sequence[Any], grid: tuple[int, ...] | None) -> Known:
    """The launch at hand: what is known of extents, by parameter, and of the grid."""
    from tilewright.interp.proving import Known

    sizes = {(position, axis): size
             for position, (param, value) in enumerate(zip(function.params, values, strict=True))
             if isinstance(param.type, ArrayType)
             for axis, size in enumerate(_extents(value)) if size is not None}
    return Known(grid, sizes)


def _extents(value: Any) -> tuple[int | None, ...]:
    return (value.extents or ()) if isinstance(value, Spec) else tuple(value.shape)
