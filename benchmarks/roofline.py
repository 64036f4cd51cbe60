"""A roofline picture of what a run measured: rate against arithmetic intensity, under the measured limits.

A kernel can do at most min(peak matrix rate, intensity * copy bandwidth); both peaks come from the group `limits`.
`python -m benchmarks.roofline figures.json picture.png` draws what `--json` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

LIMIT = "limit: "
# Work that is given in bytes alone does so few operations that its place along the axis says nothing: one per byte.
UNKNOWN_INTENSITY = 1.0


def is_limit(row: object) -> bool:
    """Whether a row of a record is one of the limits."""
    return isinstance(row, dict) and str(row.get("name", "")).startswith(LIMIT)


def point(row: dict[str, Any], who: str) -> tuple[float, float] | None:
    """(operations per byte, TFLOP/s) of one contender; None where the row does not say what it moves."""
    seconds = row["times"][who] * 1e-6
    flops, moved = row["flops"], row["moved"] or row["bytes"]
    if not moved:
        return None
    flops = flops or moved * UNKNOWN_INTENSITY
    return flops / moved, flops / seconds / 1e12


def peaks(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """(bytes a second, TFLOP/s) of the limits."""
    best = {"bytes": 0.0, "flops": 0.0}
    for row in filter(is_limit, rows):
        seconds = min(row["times"].values()) * 1e-6
        kind = "bytes" if row["bytes"] else "flops"
        best[kind] = max(best[kind], row[kind] / seconds)
    return best["bytes"], best["flops"] / 1e12


def draw(rows: list[dict[str, Any]], machine: str, file: Path) -> None:
    """Write the picture. Raises ImportError without matplotlib (pip install tilewright[viz])."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    copy, matrix = peaks(rows)
    figure, axes = pyplot.subplots(figsize=(10, 6.5))
    ridge = matrix * 1e12 / copy if copy else 1.0
    intensities = [2.0**k for k in range(-3, 13)] + [ridge]
    axes.plot(sorted(intensities), [min(matrix, i * copy / 1e12) for i in sorted(intensities)], color="black",
              label=f"limits: {copy / 1e9:.0f} GB/s, {matrix:.0f} TFLOP/s")
    for who, marker in (("ours", "o"), ("cuBLAS", "x"), ("torch", "+"), ("triton", "^")):
        points = [p for row in rows if not is_limit(row) and who in row["times"] and (p := point(row, who))]
        if points:
            axes.scatter(*zip(*points, strict=True), marker=marker, label=who, alpha=0.7)
    axes.set(xscale="log", yscale="log", xlabel="operations per byte of memory traffic", ylabel="TFLOP/s",
             title=machine)
    axes.grid(True, which="both", alpha=0.2)
    axes.legend()
    figure.savefig(file, bbox_inches="tight")
    print(f"roofline: {file}")


if __name__ == "__main__":
    figures = json.loads(Path(sys.argv[1]).read_text())
    draw([row for row in figures["rows"] if isinstance(row, dict) and "times" in row], figures["machine"],
         Path(sys.argv[2]))
