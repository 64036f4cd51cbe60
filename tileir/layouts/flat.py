"""Tile indices as one integer: the row-major position, whose bits are the bits of the axes side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod

from tilewright.tileir.layout import Layout

REGISTER, LANE, WARP = "register", "lane", "warp"
OFFSET = "offset"  # the input dimension of a layout of shared memory: the element's place in the buffer
LANE_BITS = 5


def log2(n: int) -> int:
    return n.bit_length() - 1


@lru_cache(maxsize=1024)
def axis_shifts(shape: tuple[int, ...]) -> tuple[int, ...]:
    """For each axis the position of its bit 0 in a flat index."""
    return tuple(log2(prod(shape[axis + 1 :])) for axis in range(len(shape)))


def index_bits(shape: tuple[int, ...], axes: Iterable[int]) -> list[int]:
    """The bits of a flat index that belong to these axes, those of the first axis first, each from its lowest."""
    shifts = axis_shifts(shape)
    return [1 << shifts[axis] + bit for axis in axes for bit in range(log2(shape[axis]))]


def flatten(index: Sequence[int], shape: tuple[int, ...]) -> int:
    """The flat index of a tile index (of a basis as well)."""
    out = 0
    for part, shift in zip(index, axis_shifts(shape), strict=True):
        out |= part << shift
    return out


def unflatten(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The tile index of a flat index."""
    return tuple(flat >> s & (n - 1) for n, s in zip(shape, axis_shifts(shape), strict=True))


@lru_cache(maxsize=4096)
def flat_bases(layout: Layout, dim: str) -> tuple[int, ...]:
    """The bases of one input dimension as flat indices."""
    return tuple(flatten(b, layout.shape) for b in layout.bases(dim))


@lru_cache(maxsize=4096)
def from_flat(shape: tuple[int, ...], **dims: tuple[int, ...]) -> Layout:
    """A layout from flat bases, the dimensions in the order given."""
    return Layout([(name, [unflatten(b, shape) for b in bases]) for name, bases in dims.items()], shape)


def distributed(shape: tuple[int, ...], register: Sequence[int], lane: Sequence[int], warp: Sequence[int]) -> Layout:
    """The layout of a tile in registers from flat bases; lanes for which none is left hold copies."""
    spare = (0,) * (LANE_BITS - len(lane))
    return from_flat(tuple(shape), register=tuple(register), lane=(*lane, *spare), warp=tuple(warp))


def parts(layout: Layout) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Flat bases of (register, lane, warp)."""
    return flat_bases(layout, REGISTER), flat_bases(layout, LANE), flat_bases(layout, WARP)


def is_plain(layout: Layout) -> bool:
    """Whether every basis is zero or one index bit of its own, so that contributions combine without overlap.

    Then XOR of contributions is also their sum. All layouts that the passes choose are plain.
    """
    seen = 0
    for dim, _ in layout.dims:
        for basis in flat_bases(layout, dim):
            if basis & (basis - 1) or basis & seen:
                return False
            seen |= basis
    return True
