"""Layouts of tiles that are folded along an axis within a warp."""

from __future__ import annotations

from tilewright.backend_ptx.layouts.flat import LANE_BITS, axis_shifts, distributed, log2
from tilewright.tileir.layout import Layout


def fold_layout(shape: tuple[int, ...], axis: int, warps: int) -> Layout:
    """A run of neighbours along the axis in each thread, and the runs of a warp side by side; warps divide the other
    axes."""
    shifts = axis_shifts(shape)
    along = [1 << shifts[axis] + k for k in range(log2(shape[axis]))]
    others = [1 << shifts[a] + k for a in reversed(range(len(shape))) if a != axis for k in range(log2(shape[a]))]
    split = max(0, len(along) - LANE_BITS)
    register, lane = along[:split], along[split:]
    free = LANE_BITS - len(lane)
    lane, others = [*lane, *others[:free]], others[free:]
    warp, others = others[: log2(warps)], others[log2(warps) :]
    return distributed(
        shape, [*register, *others], [*lane, *[0] * (LANE_BITS - len(lane))], [*warp, *[0] * (log2(warps) - len(warp))])
