"""Which elements of an array are neighbours in memory, aligned so that one access moves them."""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from tilewright.tileir.analysis.runs import Along
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Broadcast
from tilewright.tileir.types import ArrayType

WIDEST = 16  # bytes of one access


def aligned(array: ArrayType, dense: int, count: int, *divisors: int) -> int:
    """`count` elements along axis `dense`, or so many fewer that the array's start, its strides along the other axes
    and the `divisors` are multiples. Along an axis of one element nobody moves."""
    axes = zip(array.strides, array.stride_div, array.extents, strict=True)
    known = [0 if extent == 1 else divisor if stride is None else stride for stride, divisor, extent in axes]
    divisors = (*divisors, max(array.align // array.dtype.bytes, 1), *known[:dense], *known[dense + 1 :])
    while count > 1 and any(d % count for d in divisors):
        count //= 2
    return count


class TileRun(NamedTuple):
    """Axes of a tile from the fastest to the slowest in memory; so many elements along the first of them may be one
    access, if they are contiguous."""

    order: tuple[int, ...]
    length: int
    contiguous: bool


def tile_run(
    array: ArrayType, order: tuple[int, ...], steps: tuple[int, ...], shape: tuple[int, ...], most: int,
) -> TileRun:
    """Of a load or store with these fields, accesses of `most` bytes at most: tile axis k is array axis order[k]."""
    strides = [array.strides[a] for a in order]
    ranked = sorted(reversed(range(len(shape))), key=lambda k: _stride_rank(strides[k]))
    # An axis of length 1 says nothing about neighbours.
    ranked.sort(key=lambda k: shape[k] == 1)
    contiguous = bool(ranked) and strides[ranked[0]] == 1
    length = 1
    if contiguous:  # base, tile origins and the other strides must all be multiples of a vector
        fast = ranked[0]
        length = aligned(array, order[fast], min(most // array.dtype.bytes, shape[fast]), steps[fast])
    return TileRun(tuple(ranked), length, contiguous)


def _stride_rank(stride: int | None) -> int:
    """Known small strides first; an unknown one counts as large, so that row-major order decides."""
    return 1 << 40 if stride is None else abs(stride)


def moves_elements(function: Function) -> bool:
    """Whether elements of the longest tile are loaded one by one, as those of rows at odd addresses are."""
    loads = [op for op in function.walk() if isinstance(op, Load) and op.shape]
    longest = max((prod(op.shape) for op in loads), default=0)
    return any(prod(op.shape) == longest and tile_run(op.array.type, op.order, op.steps, op.shape, WIDEST).length == 1
               for op in loads)


def looks_up(op: Op) -> bool:
    """Whether an op gathers at indices that, along the last axis, come from memory: neighbours may lie anywhere.

    Stores at such indices are no less side by side: on an H200, 2^24 numbers scattered among neighbours took 49 us by
    lanes side by side, 53 by lanes with four numbers each.
    """
    return isinstance(op, Gather) and any(map(_is_loaded, op.indices))


def _is_loaded(index: Value) -> bool:
    work, seen = [index], {index}
    while work:
        op = work.pop().op
        if isinstance(op, (Load, Gather)):
            return True
        passes_on = op is not None and (op.elementwise or op.same_elements or isinstance(op, Broadcast))
        for source in op.operands if op is not None and passes_on else ():
            if source.type.shape[-1:] == index.type.shape[-1:] and source not in seen:
                seen.add(source)
                work.append(source)
    return False


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
