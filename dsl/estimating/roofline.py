"""Rooflines: rates under the limits of a GPU, as a picture and as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.estimating.devices import DeviceLimits
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError

# Operations for each byte that the axis of a picture spans, in powers of two.
LEAST, MOST = -4, 13
STYLES = ("-", "--", "-.", ":")


class Point(NamedTuple):
    """`intensity`: operations for each byte of memory. `rate`: operations a second."""

    name: str
    intensity: float
    rate: float


def pyplot() -> Any:
    """matplotlib, without a window; TileUnsupportedFeatureError where it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise TileUnsupportedFeatureError(
            "a picture needs matplotlib, which is not installed",
            hints=["pip install tilewright[viz]; without a picture, all numbers come as text"]) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as module

    return module


def roof(limits: DeviceLimits, intensity: float, kind: str) -> float:
    """The most operations a second at this intensity, by memory and by the units for one kind of operations."""
    return min(limits.rate_limit(kind) or 0.0, intensity * limits.memory_limit)


def draw_roofline(
    points: Sequence[Point], limits: DeviceLimits, path: Path, title: str, kinds: Sequence[str] = ("tensor bf16", "f32")
) -> None:
    """Write a picture: the roofs of some kinds of units, by default of tensor cores and of threads, and the points."""
    plot = pyplot()
    figure, axes = plot.subplots(figsize=(9, 6))
    low = min([LEAST, *(_log2(p.intensity) - 1 for p in points)])
    high = max([MOST, *(_log2(p.intensity) + 1 for p in points)])
    span = [2.0 ** (k / 4) for k in range(round(4 * low), round(4 * high) + 1)]
    for kind, style in zip(kinds, cycle(STYLES), strict=False):
        rate = limits.rate_limit(kind) or 0.0
        axes.plot(span, [roof(limits, x, kind) / 1e12 for x in span], style, color="black",
                  label=f"{kind}: {rate / 1e12:.0f} TFLOP/s; memory: {limits.memory_limit / 1e9:.0f} GB/s")
    for point in points:
        axes.scatter([point.intensity], [point.rate / 1e12], zorder=3)
        axes.annotate(point.name, (point.intensity, point.rate / 1e12), textcoords="offset points", xytext=(6, -10))
    axes.set(xscale="log", yscale="log", xlabel="operations for each byte of memory", ylabel="TFLOP/s",
             title=f"{limits.title}, {title}")
    axes.grid(True, which="both", alpha=0.2)
    axes.legend()
    figure.savefig(path, bbox_inches="tight")
    plot.close(figure)


def _log2(number: float) -> int:
    import math

    return math.floor(math.log2(number)) if number > 0 else 0
