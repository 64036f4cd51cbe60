"""Layouts of shared memory: swizzles without bank conflicts for a given writer and reader, and the count of conflicts.

Shared memory serves 32 banks of 4 bytes at once. A warp's access is served in groups of lanes (all 32 for up to 4 bytes
a lane, 16 for 8, 8 for 16 bytes); two lanes of a group conflict when they touch different words of one bank.

A layout has one input dimension, "offset" (in elements), and its bases are a basis of the tile's index space: from the
lowest offset bit up the bits of a vector, then those that choose the bank, then those that choose the row of 128 bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache, reduce
from operator import or_
from typing import NamedTuple

from tilewright.tileir.f2 import combine, complement, echelon, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import OFFSET, flat_bases, from_flat, is_plain, log2, parts

ROW_BYTES = 128
VECTOR_BYTES = 16
WORD_BYTES = 4


@lru_cache(maxsize=256)
def linear_shared(shape: tuple[int, ...]) -> Layout:
    """Row-major order."""
    return from_flat(shape, offset=tuple(1 << k for k in range(sum(log2(n) for n in shape))))


@lru_cache(maxsize=512)
def swizzled_shared(source: Layout, target: Layout, element_bytes: int) -> Layout:
    """A layout of shared memory that `source` writes and `target` reads without bank conflicts, where one exists.

    V: register bits of both, so that both sides move vectors; W: bits inside a 4-byte word, taken from the writer's
    registers. Lanes conflict when they differ by a combination of the row bits I, so I must meet neither the lanes P of
    the writer's group nor the lanes Q of the reader's: it is made of bits outside both and of pairs p ^ q.
    """
    bits = [1 << k for k in range(sum(log2(n) for n in source.shape))]
    if not (is_plain(source) and is_plain(target)):
        return linear_shared(source.shape)
    s_register, s_lane, _ = parts(source)
    t_register, t_lane, _ = parts(target)
    common = [b for b in s_register if b in t_register]
    vector = common[: max(0, log2(VECTOR_BYTES // element_bytes))]
    word = [b for b in (*s_register, *t_register, *s_lane, *t_lane) if b and b not in vector]
    low = list(dict.fromkeys([*vector, *word[: max(0, log2(4 // element_bytes) - len(vector))]]))
    group = 5 - max(0, log2(element_bytes << len(vector)) - 2)
    lanes_p = [b for b in s_lane[:group] if b and b not in low]
    lanes_q = [b for b in t_lane[:group] if b and b not in low]
    p_only = [b for b in lanes_p if b not in lanes_q]
    q_only = [b for b in lanes_q if b not in lanes_p]
    outside = [b for b in bits if b not in low and b not in lanes_p and b not in lanes_q]
    pairs = [p ^ q for p, q in zip(p_only, q_only, strict=False)]
    banks = max(0, log2(ROW_BYTES // element_bytes) - len(low))
    rows_wanted = max(0, len(bits) - len(low) - banks)
    rows = [*reversed(outside), *pairs][:rows_wanted]
    bank_bits = complement([*low, *rows], [*lanes_p, *lanes_q, *bits])
    return from_flat(source.shape, offset=(*low, *bank_bits, *reversed(rows)))


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


def alignment(shared: Layout, layout: Layout, inner: Collection[int]) -> int:
    """The power of two of which all offsets in the buffer are multiples, at 0 in the register bits `inner`."""
    register, lane, warp = offset_bases(shared, layout)
    outer = (o for i, o in enumerate(register) if i not in inner)
    together = reduce(or_, (*outer, *lane, *warp), shared.size(OFFSET))
    return together & -together


def bank_conflicts(shared: Layout, layout: Layout, element_bytes: int) -> int:
    """Extra wavefronts of one warp access: 0 if each group of lanes is served at once. Worst register, group and warp
    are alike by linearity, so lane groups at register 0 decide."""
    vector, _ = access_vector(shared, layout, element_bytes)
    width = element_bytes * vector
    group = min(5, 5 - max(0, log2(width) - 2))
    words: dict[int, set[int]] = {}
    for offset in span(offset_bases(shared, layout).lane[:group]):
        for byte in range(0, max(width, 4), 4):
            word = (offset * element_bytes + byte) // 4
            words.setdefault(word % 32, set()).add(word)
    return max(len(w) for w in words.values()) - 1
