"""Where a bulk copy (TMA) puts a tile in shared memory, by which TMA boxes, and which tiles it cannot copy.

TMA writes rows of one array axis, the inner one, whose elements lie side by side in global memory; an instruction
copies a TMA box of rows, dense and row-major. Rows of 32, 64 or 128 bytes are swizzled (CUtensorMapSwizzle): the number
of a 16-byte chunk, taken from the address, is combined by XOR with the address bits from 128 bytes up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.memory import tile_access
from tilewright.tileir.dtypes import int32
from tilewright.tileir.f2 import combine
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import inverse
from tilewright.tileir.layouts.flat import OFFSET, flatten, from_flat, index_bits, log2
from tilewright.tileir.types import ArrayType

ROW_BYTES = 128
CHUNK_BYTES = 16
# The limits of cuTensorMapEncodeTiled and of cp.async.bulk.tensor (PTX ISA 9.7.9.25).
MAX_RANK = 5
MAX_BOX = 256
DESTINATION_ALIGN = 128
# A swizzle repeats after 8 of its rows, at most 1024 bytes; its slots start at a multiple of that.
PATTERN_ROWS = 8
SLOT_ALIGN = 1024


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """How TMA fills a slot with a tile.

    `dims` are the tile's axes in the order of the tensor map's, innermost first. `box` holds, per tile axis, the
    elements that one instruction copies; `swizzle` the bytes of a swizzled row, 0 for none. `pieces` lists the
    instructions: (first tile index, byte offset in the slot) of each.
    """

    dims: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int
    pieces: tuple[tuple[tuple[int, ...], int], ...]


@lru_cache(maxsize=512)
def bulk_copy(shape: tuple[int, ...], inner: int, element_bytes: int) -> BulkCopy:
    """The copy of a tile whose axis `inner` lies side by side in global memory."""
    swizzle = _swizzle(shape, inner, element_bytes)
    dims = (inner, *_others(shape, inner))
    box = [1] * len(shape)
    box[inner] = _row(shape, inner, element_bytes)
    for axis in dims[1:]:
        box[axis] = min(shape[axis], MAX_BOX)
        if box[axis] < shape[axis]:
            break  # rows of slower axes do not follow on these: one instruction for each
    offsets = inverse(bulk_layout(shape, inner, element_bytes))
    starts = product(*(range(0, n, b) for n, b in zip(shape, box, strict=True)))
    pieces = [(start, combine(offsets, flatten(start, shape)) * element_bytes) for start in starts]
    return BulkCopy(dims, tuple(box), swizzle, tuple(sorted(pieces, key=lambda piece: piece[1])))


@lru_cache(maxsize=512)
def bulk_layout(shape: tuple[int, ...], inner: int, element_bytes: int) -> Layout:
    """The layout (dimension "offset", in elements) of a slot that `bulk_copy` fills.

    From the lowest bit: a row of the inner axis, the rows (other axes row-major), the further rows' worth of the inner
    axis.
    """
    bases = _linear_bases(shape, inner, element_bytes)
    swizzle = _swizzle(shape, inner, element_bytes)
    chunk, row = log2(CHUNK_BYTES // element_bytes), log2(ROW_BYTES // element_bytes)
    for bit in range(log2(swizzle // CHUNK_BYTES) if swizzle else 0):
        bases[row + bit] ^= bases[chunk + bit]
    return from_flat(tuple(shape), offset=tuple(bases))


@lru_cache(maxsize=512)
def part_of_slot(shape: tuple[int, ...], inner: int, element_bytes: int, parts: int) -> tuple[int, ...] | None:
    """The shape of a sub-tile that fills one of `parts` equal, contiguous ranges of a slot; None if there is none."""
    whole = bulk_layout(shape, inner, element_bytes).bases(OFFSET)
    top = whole[-log2(parts):]
    for axis, length in enumerate(shape):
        part = (*shape[:axis], length // parts, *shape[axis + 1:])
        steps = sorted(basis[axis] for basis in top)
        if length % parts or steps != [length // parts << bit for bit in range(log2(parts))]:
            continue
        if bulk_layout(part, inner, element_bytes).bases(OFFSET) == whole[:-log2(parts)]:
            return part
    return None


def inner_axis(array: ArrayType, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> int | None:
    """The tile axis along which elements lie side by side in memory; None if no axis is known to."""
    access = tile_access(array, order, steps, shape)
    return access.order[0] if access.contiguous else None


def tma_refusal(array: ArrayType, shape: tuple[int, ...], steps: tuple[int, ...], order: tuple[int, ...]) -> str | None:
    """Why TMA cannot copy the tile that `load` with these fields reads; None if it can.

    Whether the array is a parameter that the kernel does not write is another question: passes/pipelining/legality.py.
    """
    if not 1 <= len(shape) <= MAX_RANK:
        return decisions.RANK_OF_TENSOR_MAPS.format(len(shape), MAX_RANK)
    if array.index is not int32:
        return decisions.LONG_INDEX
    inner = inner_axis(array, shape, steps, order)
    if inner is None:
        return decisions.NOT_SIDE_BY_SIDE
    size = array.dtype.bytes
    if shape[inner] * size < CHUNK_BYTES:
        return decisions.SHORT_ROWS.format(shape[inner] * size, CHUNK_BYTES)
    if steps[inner] * size % CHUNK_BYTES:
        return decisions.UNALIGNED_STEPS.format(steps[inner] * size, CHUNK_BYTES)
    if prod(shape) * size < DESTINATION_ALIGN:
        return decisions.SMALL_TILE.format(prod(shape) * size, DESTINATION_ALIGN)
    if array.align % CHUNK_BYTES:
        return decisions.UNALIGNED_START.format(CHUNK_BYTES)
    if not array.disjoint:
        return decisions.AXES_MAY_OVERLAP
    for axis in (order[k] for k in range(len(shape)) if k != inner):
        stride = array.strides[axis]
        divisor = array.stride_div[axis] if stride is None else stride
        if array.extents[axis] != 1 and divisor * size % CHUNK_BYTES:
            return decisions.UNALIGNED_STRIDE.format(axis, CHUNK_BYTES)
    return None


# ---- the order of elements without the swizzle --------------------------------------------------------------------


def _others(shape: tuple[int, ...], inner: int) -> list[int]:
    """The axes that number the rows, fastest first."""
    return [axis for axis in reversed(range(len(shape))) if axis != inner]


def _swizzle(shape: tuple[int, ...], inner: int, element_bytes: int) -> int:
    """Bytes of a swizzled row, 0 where there are too few rows for a whole pattern or rows are too short."""
    row = min(shape[inner] * element_bytes, ROW_BYTES)
    rows = prod(shape) // shape[inner]
    return row if row >= 2 * CHUNK_BYTES and rows >= PATTERN_ROWS else 0


def _row(shape: tuple[int, ...], inner: int, element_bytes: int) -> int:
    """Elements of the inner axis in one row of the slot."""
    swizzle = _swizzle(shape, inner, element_bytes)
    return swizzle // element_bytes if swizzle else min(shape[inner], MAX_BOX)


def _linear_bases(shape: tuple[int, ...], inner: int, element_bytes: int) -> list[int]:
    """Flat bases of the offset's bits, before the swizzle."""
    own, row = index_bits(shape, [inner]), log2(_row(shape, inner, element_bytes))
    return [*own[:row], *index_bits(shape, _others(shape, inner)), *own[row:]]
