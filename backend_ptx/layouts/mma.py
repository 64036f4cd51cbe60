"""The layouts of an MMA's tiles: the fragments of mma.sync, or register blocks for plain FMAs.

Fragments follow the PTX ISA, "Matrix Fragments for mma". With p elements in a 32-bit register, lane l of a warp holds

    accumulator m16n8:  rows l/4 and l/4 + 8, columns 2 (l%4) and 2 (l%4) + 1
    operand A   m16 k8p: rows l/4 and l/4 + 8, k = p (l%4) + e and 4p + p (l%4) + e, e < p
    operand B   k8p n8:  column l/4, the same k

which is linear in the bits of register and lane, so all of it is bit lists. m8n8k4 on float64 has neither the upper
rows nor the upper half of k.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tilewright.backend_ptx.layouts.blocked import row_major
from tilewright.backend_ptx.layouts.flat import LANE_BITS, axis_shifts, distributed, log2, parts
from tilewright.tileir.layout import Layout

# A bit of an index: the axis ("b" batch, "m", "n" or "k") and its number; None: no element depends on it (copies).
Bit = tuple[str, int] | None


@dataclass(frozen=True, slots=True)
class Fragment:
    """The tile of one instruction: m x n x k, with `pack` elements of A and B in a register."""

    m: int
    n: int
    k: int
    pack: int

    @property
    def _word(self) -> int:
        return log2(self.pack)

    @property
    def acc_registers(self) -> list[Bit]:
        return [("n", 0), *([("m", 3)] if self.m == 16 else [])]

    @property
    def acc_lanes(self) -> list[Bit]:
        return [("n", 1), ("n", 2), ("m", 0), ("m", 1), ("m", 2)]

    @property
    def a_registers(self) -> list[Bit]:
        return [*self._packed, *([("m", 3)] if self.m == 16 else []), *self._upper_k]

    @property
    def a_lanes(self) -> list[Bit]:
        return [*self._lane_k, ("m", 0), ("m", 1), ("m", 2)]

    @property
    def b_registers(self) -> list[Bit]:
        return [*self._packed, *self._upper_k]

    @property
    def b_lanes(self) -> list[Bit]:
        return [*self._lane_k, ("n", 0), ("n", 1), ("n", 2)]

    @property
    def _packed(self) -> list[Bit]:
        return [("k", i) for i in range(self._word)]

    @property
    def _lane_k(self) -> list[Bit]:
        return [("k", self._word), ("k", self._word + 1)]

    @property
    def _upper_k(self) -> list[Bit]:
        return [("k", self._word + 2)] if self.k > 4 * self.pack else []


class ProductLayouts(NamedTuple):
    """The layouts of acc (and the result), a and b."""

    acc: Layout
    a: Layout
    b: Layout


@lru_cache(maxsize=512)
def fragment_layouts(
    acc_shape: tuple[int, ...], k: int, fragment: Fragment, warps: int, rows_only: bool = False,
) -> ProductLayouts:
    """Layouts for acc of shape [batch..., M, N]; every warp owns a contiguous M/wm x N/wn part of it.

    `rows_only`: warps divide only the rows, so that a warp holds whole rows of acc (which a following MMA can take as
    its A operand without a conversion).
    """
    *batch, m, n = acc_shape
    wm, wn = warp_grid(m, n, fragment, warps, rows_only)
    m_bits, n_bits, k_bits = log2(m), log2(n), log2(k)
    batch_bits = sum(log2(size) for size in batch)
    m_own = axis_bits("m", log2(fragment.m), m_bits - wm)
    n_own = axis_bits("n", log2(fragment.n), n_bits - wn)
    k_own = axis_bits("k", log2(fragment.k), k_bits)
    spare = log2(warps) - wm - wn
    in_warps = min(spare, batch_bits)
    batches = axis_bits("b", 0, batch_bits - in_warps)
    warp = [*axis_bits("m", m_bits - wm, m_bits), *axis_bits("n", n_bits - wn, n_bits),
            *axis_bits("b", batch_bits - in_warps, batch_bits), *[None] * (spare - in_warps)]
    acc = layout_of_bits(acc_shape, [*fragment.acc_registers, *n_own, *m_own, *batches], fragment.acc_lanes, warp, "mn")
    a = layout_of_bits((*batch, m, k), [*fragment.a_registers, *m_own, *k_own, *batches], fragment.a_lanes, warp, "mk")
    b = layout_of_bits((*batch, k, n), [*fragment.b_registers, *n_own, *k_own, *batches], fragment.b_lanes, warp, "kn")
    return ProductLayouts(acc, a, b)


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
    n_bits, m_bits = log2(n), log2(m)

    def tagged(basis: int) -> Bit:
        if not basis:
            return None
        bit = basis.bit_length() - 1
        if bit < n_bits:
            return "n", bit
        return ("m", bit - n_bits) if bit < n_bits + m_bits else ("b", bit - n_bits - m_bits)

    register, lane, warp = ([tagged(x) for x in dim] for dim in parts(acc))
    k_own = axis_bits("k", 0, log2(k))
    a = layout_of_bits((*batch, m, k), [*k_own, *_without("n", register)], lane, warp, "mk")
    b = layout_of_bits((*batch, k, n), [*_without("m", register), *k_own], lane, warp, "kn")
    return ProductLayouts(acc, a, b)


def axis_bits(name: str, first: int, end: int) -> list[Bit]:
    return [(name, i) for i in range(first, end)]


def _without(axis: str, bits: Iterable[Bit]) -> list[Bit]:
    return [bit for bit in bits if bit is not None and bit[0] != axis]


def layout_of_bits(
    shape: tuple[int, ...], register: Sequence[Bit], lane: Sequence[Bit], warp: Sequence[Bit], axes: str,
) -> Layout:
    """The layout of a tile whose last two axes are named by `axes`; bits of other axes are copies."""
    *_, row, column = axis_shifts(shape)
    start = {axes[0]: row, axes[1]: column, "b": row + log2(shape[-2])}

    def flat(bit: Bit) -> int:
        return 0 if bit is None or bit[0] not in start else 1 << start[bit[0]] + bit[1]

    lanes = [flat(bit) for bit in lane]
    return distributed(
        shape, [flat(bit) for bit in register], [*lanes, *[0] * (LANE_BITS - len(lanes))], [flat(bit) for bit in warp])
