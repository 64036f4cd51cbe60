"""Which elements of an array are neighbours in memory, aligned so that one access moves them."""

from __future__ import annotations

from typing import NamedTuple

from tilewright.tileir.analysis.runs import Along
from tilewright.tileir.types import ArrayType


def aligned(array: ArrayType, dense: int, count: int, *divisors: int) -> int:
    """`count` elements along axis `dense`, or so many fewer that the array's start, its strides along the other axes
    and the `divisors` are multiples. Along an axis of one element nobody moves."""
    axes = zip(array.strides, array.stride_div, array.extents, strict=True)
    known = [0 if extent == 1 else divisor if stride is None else stride for stride, divisor, extent in axes]
    divisors = (*divisors, max(array.align // array.dtype.bytes, 1), *known[:dense], *known[dense + 1 :])
    while count > 1 and any(d % count for d in divisors):
        count //= 2
    return count


class GatherRun(NamedTuple):
    """`length` elements side by side in memory, along array axis `dense` (-1: one element)."""

    length: int = 1
    dense: int = -1


def gather_run(array: ArrayType, indices: tuple[Along, ...], axis: int, most: int) -> GatherRun:
    """How many elements along an axis of the index tiles lie side by side and aligned in memory, `most` bytes of them,
    wherever that is: the index of the array axis of stride 1 counts up, and the others stay."""
    best = GatherRun(1, -1)
    for dense, run in enumerate(indices):
        if array.strides[dense] == 1:
            others = (indices[other][axis].stays for other in range(len(indices)) if other != dense)
            count = min(most // array.dtype.bytes, run[axis].rises, *others)
            best = max(best, GatherRun(aligned(array, dense, count), dense), key=lambda run: run.length)
    return best
