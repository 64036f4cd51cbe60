"""How tensor maps are encoded: what the compiler says of them, and the launcher reads."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.dtypes import BY_IR, DType
from tilewright.tileir.records import record

MAP_BYTES, MAP_ALIGN = 128, 64
# Addresses wrap at 2^64 bytes: FAR steps of WRAP bytes lead back to where they began. No dimension has more than MOST.
FAR, WRAP, MOST = 1 << 30, 1 << 34, 0x7FFF0000


@record
class TensorMapSpec:
    """How to encode a tensor map of array argument `argument`, whose elements are `dtype` (float32 where it is
    tfloat32, to which they are rounded on the way).

    Dimension k of the map, innermost (side by side in memory) first, is axis axes[k] of the array; an instruction
    copies box[k] elements of it. `swizzle` is the width of swizzled rows in bytes: 0 (none), 32, 64 or 128. Elements
    outside the array read as zero; the kernel writes the array if it is `stored`. With `table` the argument is a list,
    each of whose arrays has such a map.

    `clips`: the axes of which the kernel copies slices that may end before the array, whose bounds it computes.
    Elements beyond the end of a slice must read as zero too, though they lie in the array. So FAR rows count as inside
    along such an axis, and the map has two further dimensions of box 1 along it:

        address(x, y, z) = start of the array + (x + y) * stride + z * (WRAP - stride)
        0 <= x < FAR, 0 <= y <= extent, 0 <= z < MOST

    With x = FAR - length + i, y = stop and z = FAR that is row start + i, since FAR * WRAP = 2^64; x is outside where i
    is beyond the slice. (Triton's descriptors of ragged tensors wrap around likewise.)
    """

    argument: int
    dtype: DType
    axes: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    stored: bool = False
    table: bool = False
    clips: tuple[int, ...] = ()

    @property
    def rank(self) -> int:
        """Dimensions of the map."""
        return len(self.axes) + 2 * len(self.clips)

    @staticmethod
    def from_data(data: dict[str, Any]) -> TensorMapSpec:
        """From the fields as JSON has them. Raises KeyError or TypeError on anything else."""
        decoded = {"dtype": BY_IR[data["dtype"]], **{name: tuple(data[name]) for name in ("axes", "box", "clips")}}
        return TensorMapSpec(**{**data, **decoded})
