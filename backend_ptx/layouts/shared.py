"""Layouts of shared memory: swizzles without bank conflicts for a given writer and reader, and the count of conflicts.

Shared memory serves 32 banks of 4 bytes at once. A warp's access is served in groups of lanes (all 32 for up to 4 bytes
a lane, 16 for 8, 8 for 16 bytes); two lanes of a group conflict when they touch different words of one bank.

A layout has one input dimension, "offset" (in elements), and its bases are a basis of the tile's index space: from the
lowest offset bit up the bits of a vector, then those that choose the bank, then those that choose the row of 128 bytes.
"""

from __future__ import annotations

from functools import lru_cache

from tilewright.tileir.f2 import complement, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import VECTOR_BYTES, access_vector, linear_shared, offset_bases
from tilewright.tileir.layouts.flat import from_flat, is_plain, log2, parts

ROW_BYTES = 128
WORD_BYTES = 4


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
