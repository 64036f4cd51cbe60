"""Layouts of the tiles of a product as lists of the bits of their indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tilewright.tileir.layout import Basis, Layout
from tilewright.tileir.layouts.flat import axis_shifts, distributed, log2, parts

# A bit of an index: the axis ("b" batch, "m", "n" or "k") and its number; None: no element depends on it (copies).
Bit = tuple[str, int] | None


def bits_of(acc: Layout) -> list[list[Bit]]:
    """What registers, lanes and warps choose of [batch..., M, N]."""
    *_, m, n = acc.shape

    def bit(basis: int) -> Bit:
        at, in_row = basis.bit_length() - 1, log2(n)
        if at < in_row:
            return ("n", at) if basis else None
        return ("m", at - in_row) if at < in_row + log2(m) else ("b", at - in_row - log2(m))

    return [[bit(basis) for basis in dim] for dim in parts(acc)]


def axis_bits(name: str, first: int, end: int) -> list[Bit]:
    return [(name, i) for i in range(first, end)]


def without(axis: str, bits: Iterable[Bit]) -> list[Bit]:
    return [bit for bit in bits if bit is not None and bit[0] != axis]


def layout_of_bits(shape: tuple[int, ...], register: Sequence[Bit], lane: Sequence[Bit], warp: Sequence[Bit],
                   axes: str) -> Layout:
    """The layout of a tile whose last two axes are named by `axes`; bits of other axes are copies."""
    *_, row, column = axis_shifts(shape)
    start = {axes[0]: row, axes[1]: column, "b": row + log2(shape[-2])}

    def flat(bit: Bit) -> int:
        return 0 if bit is None or bit[0] not in start else 1 << start[bit[0]] + bit[1]

    return distributed(shape, *([flat(bit) for bit in bits] for bits in (register, lane, warp)))


def renumbered(layout: Layout, axis: int, bits: Mapping[int, int]) -> Layout:
    """The layout of a tile of which each bit of an axis is another one."""
    def moved(basis: Basis) -> Basis:
        return *basis[:axis], bits.get(basis[axis], basis[axis]), *basis[axis + 1:]

    return Layout([(name, [moved(basis) for basis in bases]) for name, bases in layout.dims], layout.shape)
