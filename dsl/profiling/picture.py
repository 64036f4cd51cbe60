"""The roofline picture of a profile."""

from __future__ import annotations

from pathlib import Path

from tilewright.estimating.roofline import Point, draw_roofline
from tilewright.profiling.records import Recording


def draw(profile: Recording, path: Path) -> None:
    """A point a kernel: where it was measured, its rate; in the interpreter, the most that the GPU can reach."""
    points = []
    for row in profile.rows:
        if row.estimate is not None and row.estimate.dram_bytes[0]:
            seconds = row.seconds or row.estimate.seconds
            points.append(Point(row.kind.kernel, row.estimate.intensity, row.estimate.work / seconds))
    if not points:
        raise ValueError("there is nothing to draw: the profile has no launch whose bytes are known")
    measured = any(row.seconds for row in profile.rows)
    draw_roofline(points, profile.rows[0].kind.limits, path, "measured" if measured else "at most, by the limits")
