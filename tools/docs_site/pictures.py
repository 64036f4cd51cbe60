"""The pictures of the gallery: which parts of its arrays a launch of an example reads and writes.

They are drawn from the explorer's access map while the site is built, as SVG; the repository holds none of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from example_launches import Launch, launch_of

SIDE = 168  # pixels of the longer side of an array
GAP, TITLE, FOOT = 28, 44, 48
COLOURS = "#2f5bb0", "#b35a00"  # of reads, of writes
BLOCK = "#111111"
FONT = 'font-family="sans-serif" font-size="12"'
MOST = 8  # arrays of a picture
WRAPPED = 64  # cells of a line of an array of one axis
SHOWN = {"blas": ("gemm", 0), "cholesky": ("update", 0), "segmented_sum": ("segmented_sum", 1),
         "segmented_mask": ("segmented_mask", 1), "moe_routing": ("place", 0), "decode": ("attend", 1),
         "distributed_matmul": ("multiply", 0)}
"""Where the first launch is not the one to show: a kernel, and which of its launches."""


@dataclass(frozen=True)
class Picture:
    """An SVG, and the same in words."""

    svg: str
    words: str


def picture(name: str) -> Picture:
    """Of an example. LookupError where the launch to show does not exist."""
    launch = launch_of(name, *SHOWN.get(name, ()))
    arrays = access_data(launch)["arrays"][:MOST]
    block = blocks_of(launch) // 2
    drawn, at, low = [], GAP // 2, 0
    for array in arrays:
        part, width, height = drawing(array, block)
        drawn.append(f'<g transform="translate({at},0)">{part}</g>')
        at, low = at + max(width, 130) + GAP, max(low, height)
    grid = " x ".join(str(n) for n in launch.grid)
    notes = (f"Kernel {launch.name}, grid {grid}. In frames: what block {block} accesses.",
             "Blue is read, brown is written; darker is more often.")
    wide, low = max(at, 560), TITLE + low
    told = "".join(f'<text x="{GAP // 2}" y="{low + 20 + 16 * n}" {FONT} fill="#333333">{escape(note)}</text>'
                   for n, note in enumerate(notes))
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {low + FOOT}" width="{wide}" '
           f'height="{low + FOOT}"><rect width="100%" height="100%" fill="#ffffff"/>{"".join(drawn)}{told}</svg>')
    return Picture(svg, f"Access map of {launch.name}, by element: " + "; ".join(map(words, arrays)))


def blocks_of(launch: Launch) -> int:
    return launch.grid[0] * launch.grid[1] * launch.grid[2]


def access_data(launch: Launch) -> dict[str, Any]:
    """What the explorer's page has of a launch's accesses."""
    from tilewright.inspecting.explorer.accesses import access_map, record
    from tilewright.inspecting.explorer.places import Numbering

    recorder, _ = record(launch.stages("sm_90a"), launch.grid)
    return access_map(recorder, Numbering())


def words(array: dict[str, Any]) -> str:
    """How often an element is read and written, on average."""
    size = max(array["extents"][0] * array["extents"][1], 1)
    told = [f"{verb} {often(count / size)}" for verb, count in zip(("read", "written"), array["elements"], strict=True)
            if count]
    return f"{array['name']} ({shape(array)}) is {' and '.join(told)}"


def often(times: float) -> str:
    return "once" if times == 1 else f"{times:.3g} times"


def shape(array: dict[str, Any]) -> str:
    return " x ".join(map(str, array["shape"])) or "one element"


def drawing(array: dict[str, Any], block: int) -> tuple[str, int, int]:
    """An array as cells, its width and its height. What is both read and written shows the writes below the reads."""
    rows, columns = array["cells"]
    if rows == 1 and columns > WRAPPED:
        rows, columns = -(-columns // WRAPPED), WRAPPED
    wide = min(SIDE / max(rows, columns), 24.0) * columns
    tall = max(min(SIDE / max(rows, columns), 24.0) * rows, 14)
    kinds = [(kind, found) for kind, found in enumerate(array["kinds"]) if found]
    part = tall / len(kinds)
    lines = [line(array["name"], 16, "#111111", "bold"), line(shape(array), 32, "#333333")]
    for place, (kind, found) in enumerate(kinds):
        size, top = (wide / columns, part / rows), TITLE + place * part
        for box, strength in cells(found, columns):
            lines.append(box.drawn(size, top, f'fill="{COLOURS[kind]}" fill-opacity="{strength:.2f}"'))
        lines += [box.drawn(size, top, f'fill="{BLOCK}" fill-opacity="0.35" stroke="{BLOCK}"')
                  for box in touched(found, block, columns)]
    lines.append(f'<rect y="{TITLE}" width="{wide:.1f}" height="{tall:.1f}" fill="none" stroke="#767676"/>')
    return "".join(lines), int(wide), int(tall)


def line(text: str, y: int, colour: str, weight: str = "normal") -> str:
    return f'<text x="0" y="{y}" {FONT} font-weight="{weight}" fill="{colour}">{escape(text)}</text>'


class Box(NamedTuple):
    """Cells of some rows and columns, ends excluded."""

    top: int
    bottom: int
    left: int
    right: int

    def drawn(self, size: tuple[float, float], above: float, style: str) -> str:
        x, y = self.left * size[0], above + self.top * size[1]
        return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{(self.right - self.left) * size[0]:.1f}" '
                f'height="{(self.bottom - self.top) * size[1]:.1f}" {style}/>')


def cells(found: dict[str, Any], columns: int) -> list[tuple[Box, float]]:
    """Boxes of cells of equal colour, and how strong it is."""
    most = max(found["times"]) or 1
    levels = [math.ceil(4 * n / most) for n in found["times"]]
    edges = [at for at in range(1, len(levels)) if levels[at] != levels[at - 1]]
    runs = list(pairwise([0, *edges, len(levels)]))
    return [(box, 0.2 + 0.15 * level) for level in sorted(set(levels) - {0})
            for box in boxes([run for run in runs if levels[run[0]] == level], columns)]


def touched(found: dict[str, Any], block: int, columns: int) -> list[Box]:
    """What one block accesses."""
    if block >= len(found["of"]):
        return []
    pairs = iter(found["runs"][found["of"][block]])
    return boxes([(first, first + count) for first, count in zip(pairs, pairs, strict=True)], columns)


def boxes(runs: list[tuple[int, int]], columns: int) -> list[Box]:
    """Runs of cells, which may go over several rows, as boxes: equal parts of rows below each other are one."""
    open_boxes: dict[tuple[int, int], Box] = {}
    out = []
    for first, stop in runs:
        for row in range(first // columns, (stop - 1) // columns + 1):
            at = max(first, row * columns) - row * columns, min(stop, (row + 1) * columns) - row * columns
            old = open_boxes.get(at)
            if old is not None and old.bottom == row:
                open_boxes[at] = old._replace(bottom=row + 1)
                continue
            if old is not None:
                out.append(old)
            open_boxes[at] = Box(row, row + 1, *at)
    return [*out, *open_boxes.values()]
