"""The layouts that loads and stores prefer: a few consecutive elements per thread, neighbouring lanes, then warps."""

from __future__ import annotations

from functools import lru_cache

from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.flat import LANE_BITS, distributed, index_bits, log2


@lru_cache(maxsize=1024)
def blocked(shape: tuple[int, ...], order: tuple[int, ...], vector: int, warps: int) -> Layout:
    """A layout of `shape` for `warps` warps.

    `order` lists the axes, the fastest in memory first. Its first axis gives `vector` consecutive elements (fewer if it
    is shorter) to a thread; then all remaining index bits, fastest axis first, go to lanes, to warps, and last to
    registers again. Lanes and warps for which no bit is left hold copies.
    """
    bits = index_bits(shape, order)
    inner = min(log2(vector), log2(shape[order[0]])) if order else 0
    register, rest = bits[:inner], bits[inner:]
    lane, rest = rest[:LANE_BITS], rest[LANE_BITS:]
    warp, rest = rest[: log2(warps)], rest[log2(warps) :]
    return distributed(shape, register + rest, lane, warp + [0] * (log2(warps) - len(warp)))


@lru_cache(maxsize=1024)
def patched(shape: tuple[int, ...], order: tuple[int, ...], vector: int, warps: int) -> Layout:
    """As `blocked`, but what a thread holds lies side by side along the second axis of `order`, too."""
    bits = index_bits(shape, order)
    count = max(len(bits) - LANE_BITS - log2(warps), 0)
    fast = log2(shape[order[0]])
    inner = min(log2(vector), fast, count)
    register = [*bits[:inner], *bits[fast : fast + count - inner]]
    rest = [bit for bit in bits if bit not in register]
    lane, rest = rest[:LANE_BITS], rest[LANE_BITS:]
    warp, rest = rest[: log2(warps)], rest[log2(warps) :]
    return distributed(shape, register + rest, lane, warp + [0] * (log2(warps) - len(warp)))


def row_major(shape: tuple[int, ...], warps: int, vector: int = 1) -> Layout:
    """`blocked` with the last axis fastest: the layout of tiles that no memory access shapes."""
    return blocked(shape, tuple(reversed(range(len(shape)))), vector, warps)


def fold_layout(shape: tuple[int, ...], axis: int, warps: int) -> Layout:
    """The layout of a tile that is folded along an axis within a warp: a run of neighbours in each thread, and the runs
    of a warp side by side; warps divide the other axes."""
    others = (other for other in reversed(range(len(shape))) if other != axis)
    return blocked(shape, (axis, *others), max(1, shape[axis] >> LANE_BITS), warps)
