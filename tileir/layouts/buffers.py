"""Where a buffer has the elements of a tile. Its layout has one input dimension, "offset" (in elements), and its
bases are a basis of the tile's index space."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from tilewright.tileir.f2 import combine, echelon
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import OFFSET, flat_bases, from_flat, log2, parts

VECTOR_BYTES = 16  # of the widest access of a thread


@lru_cache(maxsize=256)
def linear_shared(shape: tuple[int, ...]) -> Layout:
    """Row-major order."""
    return from_flat(shape, offset=tuple(1 << k for k in range(sum(log2(n) for n in shape))))


@lru_cache(maxsize=1024)
def inverse(shared: Layout) -> tuple[int, ...]:
    """For each bit of a flat tile index the offset (in elements) that it contributes."""
    bases = flat_bases(shared, OFFSET)
    table = echelon(bases)
    out = []
    for k in range(len(bases)):
        offset = table.solve(1 << k)
        assert offset is not None, f"{shared} is not invertible"
        out.append(offset)
    return tuple(out)


class Offsets(NamedTuple):
    """Element offsets that the bits of register, lane and warp contribute (combine by XOR)."""

    register: tuple[int, ...]
    lane: tuple[int, ...]
    warp: tuple[int, ...]


@lru_cache(maxsize=1024)
def offset_bases(shared: Layout, layout: Layout) -> Offsets:
    """Where a buffer has what the bits of a tile's layout contribute."""
    table = inverse(shared)
    return Offsets(*(tuple(combine(table, b) for b in bases) for bases in parts(layout)))


def alignment(shared: Layout, layout: Layout, inner: Collection[int]) -> int:
    """The power of two of which all offsets in the buffer are multiples, at 0 in the register bits `inner`."""
    register, lane, warp = offset_bases(shared, layout)
    outer = (o for i, o in enumerate(register) if i not in inner)
    together = reduce(or_, (*outer, *lane, *warp), shared.size(OFFSET))
    return together & -together


@lru_cache(maxsize=1024)
def access_vector(shared: Layout, layout: Layout, element_bytes: int) -> tuple[int, tuple[int, ...]]:
    """(v, register bits): v elements, up to 16 bytes, lie side by side in the buffer; which register bits choose among
    them, lowest offset first."""
    register = offset_bases(shared, layout).register
    chosen: list[int] = []
    while (element_bytes << len(chosen)) < VECTOR_BYTES and (1 << len(chosen)) in register:
        chosen.append(register.index(1 << len(chosen)))
    vector = min(1 << len(chosen), alignment(shared, layout, chosen))
    return vector, tuple(chosen[: log2(vector)])


@lru_cache(maxsize=1024)
def copy_vector(shared: Layout, layout: Layout, element_bytes: int) -> int:
    """v such that registers [k*v, (k+1)*v), up to 16 bytes, lie side by side in the buffer, the first at a multiple of
    v: what one asynchronous copy may move."""
    register, bits = offset_bases(shared, layout).register, 0
    while bits < len(register) and register[bits] == 1 << bits and element_bytes << bits < VECTOR_BYTES:
        bits += 1
    return min(1 << bits, alignment(shared, layout, range(bits)))
