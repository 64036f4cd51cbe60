"""The layouts of an MMA's tiles: the fragments of mma.sync, or register blocks for plain FMAs.

Fragments follow the PTX ISA, "Matrix Fragments for mma". With p elements in a 32-bit register, lane l of a warp holds

    accumulator m16n8:  rows l/4 and l/4 + 8, columns 2 (l%4) and 2 (l%4) + 1
    operand A   m16 k8p: rows l/4 and l/4 + 8, k = p (l%4) + e and 4p + p (l%4) + e, e < p
    operand B   k8p n8:  column l/4, the same k

which is linear in the bits of register and lane, so all of it is bit lists. m8n8k4 on float64 has neither the upper
rows nor the upper half of k.

A tile may be smaller than the instruction. A register for bits of the index that it lacks does not exist: lowering puts
zero in its place and drops the result. Lanes for such bits hold copies; along k lowering makes those zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.bits import Bit, axis_bits, bits_of, layout_of_bits, without
from tilewright.tileir.layouts.blocked import row_major
from tilewright.tileir.layouts.flat import log2


class Held(NamedTuple):
    """The bits of the index that choose among the registers of a thread and the lanes of a warp."""

    registers: list[Bit]
    lanes: list[Bit]


@dataclass(frozen=True, slots=True)
class Fragment:
    """The tile of one instruction: m x n x k, with `pack` elements of A and B in a register."""

    m: int
    n: int
    k: int
    pack: int

    @property
    def accumulator(self) -> Held:
        return Held([("n", 0), *axis_bits("m", 3, log2(self.m))], [("n", 1), ("n", 2), *axis_bits("m", 0, 3)])

    def operand(self, axis: str) -> Held:
        """A ("m", its rows) or B ("n", its columns)."""
        word = log2(self.pack)
        upper = axis_bits("k", word + 2, log2(self.k))
        rows = axis_bits(axis, 3, log2(self.m if axis == "m" else self.n))
        return Held([*axis_bits("k", 0, word), *rows, *upper],
                    [*axis_bits("k", word, word + 2), *axis_bits(axis, 0, 3)])


class ProductLayouts(NamedTuple):
    """The layouts of acc (and the result), a and b."""

    acc: Layout
    a: Layout
    b: Layout

    def turned(self) -> ProductLayouts:
        """Those of the product whose transpose, b^T a^T, has these."""
        axes = (*range(len(self.acc.shape) - 2), -1, -2)
        acc, b, a = (transform.permute(layout, axes) for layout in self)
        return ProductLayouts(acc, a, b)


@lru_cache(maxsize=512)
def fragment_layouts(acc_shape: tuple[int, ...], k: int, fragment: Fragment, warps: int,
                     rows_only: bool = False) -> ProductLayouts:
    """Layouts for acc of shape [batch..., M, N]. Warps divide the batch first, as they share no operands there; then
    every warp owns a contiguous M/wm x N/wn part.

    `rows_only`: warps divide only the rows, so that a warp holds whole rows of acc (which a following MMA can take as
    its A operand without a conversion).
    """
    *batch, m, n = acc_shape
    shapes = acc_shape, (*batch, m, k), (*batch, k, n)
    m, n, k = max(m, fragment.m), max(n, fragment.n), max(k, fragment.k)
    m_bits, n_bits, k_bits = log2(m), log2(n), log2(k)
    batch_bits = sum(log2(size) for size in batch)
    in_warps = min(log2(warps), batch_bits)
    wm, wn = warp_grid(m, n, fragment, warps >> in_warps, rows_only)
    m_own = axis_bits("m", log2(fragment.m), m_bits - wm)
    n_own = axis_bits("n", log2(fragment.n), n_bits - wn)
    k_own = axis_bits("k", log2(fragment.k), k_bits)
    spare = log2(warps) - wm - wn - in_warps
    batches = axis_bits("b", 0, batch_bits - in_warps)
    warp = [*axis_bits("m", m_bits - wm, m_bits), *axis_bits("n", n_bits - wn, n_bits),
            *axis_bits("b", batch_bits - in_warps, batch_bits), *[None] * spare]
    of_acc, of_a, of_b = fragment.accumulator, fragment.operand("m"), fragment.operand("n")
    acc = layout_of_bits((*batch, m, n), [*of_acc.registers, *n_own, *m_own, *batches], of_acc.lanes, warp, "mn")
    a = layout_of_bits((*batch, m, k), [*of_a.registers, *m_own, *k_own, *batches], of_a.lanes, warp, "mk")
    b = layout_of_bits((*batch, k, n), [*of_b.registers, *n_own, *k_own, *batches], of_b.lanes, warp, "kn")
    return ProductLayouts(*(transform.within(layout, s) for s, layout in zip(shapes, (acc, a, b), strict=True)))


def warp_grid(m: int, n: int, fragment: Fragment, warps: int, rows_only: bool = False) -> tuple[int, int]:
    """log2 of the warps along M and along N: those that read least from shared memory, which is M/wm + N/wn a warp."""
    most_m, most_n = log2(m // fragment.m), log2(n // fragment.n)
    total = min(log2(warps), most_m + most_n)
    if rows_only:
        wm = min(total, most_m)
        return wm, total - wm
    choices = [(wm, total - wm) for wm in range(total + 1) if wm <= most_m and total - wm <= most_n]
    return min(choices, key=lambda c: ((m >> c[0]) + (n >> c[1]), -c[0]))


@lru_cache(maxsize=512)
def block_layouts(acc_shape: tuple[int, ...], k: int, warps: int) -> ProductLayouts:
    """Layouts for plain FMAs: a thread owns four neighbouring columns of several rows, and all of k of its operands."""
    acc = row_major(acc_shape, warps, vector=4)
    *batch, m, n = acc_shape
    register, lane, warp = bits_of(acc)
    k_own = axis_bits("k", 0, log2(k))
    a = layout_of_bits((*batch, m, k), [*k_own, *without("n", register)], lane, warp, "mk")
    b = layout_of_bits((*batch, k, n), [*without("m", register), *k_own], lane, warp, "kn")
    return ProductLayouts(acc, a, b)


@lru_cache(maxsize=512)
def scale_layouts(acc: Layout, of_a: tuple[int, ...]) -> tuple[Layout, Layout]:
    """Layouts of the scales of a, of the shape `of_a`, and of b, of a block-scaled mma.sync.

    Lanes 4r and 4r + 1 hold the scales of rows r and r + 8, lane 4c those of column c; the next lanes hold copies.
    """
    *batch, n = acc.shape[:-2] + acc.shape[-1:]
    own, _, warp = bits_of(acc)
    own = [*axis_bits("k", 0, log2(of_a[-1])), *(bit for bit in own if bit not in (("m", 3), ("n", 0)))]
    rows, columns = [("m", 3), None, *axis_bits("m", 0, 3)], [None, None, *axis_bits("n", 0, 3)]
    return (layout_of_bits(of_a, without("n", own), rows, warp, "mk"),
            layout_of_bits((*batch, of_a[-1], n), without("m", own), columns, warp, "kn"))
