"""A picture of fused launches: a box for each launch, the kernels in it, and the arrays that go in and out, as SVG.

Nothing here sets a colour but that of the text around, so that it can be read in light and dark notebooks alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Protocol

WIDTH, SIDE, LINE, GAP = 260, 190, 18, 26
_SMALL = 'font-size="11"'


class Drawn(Protocol):
    """A launch, as `running.Step` has it."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def vanished(self) -> tuple[str, ...]: ...
    @property
    def reads(self) -> tuple[str, ...]: ...
    @property
    def writes(self) -> tuple[str, ...]: ...


def picture(steps: Sequence[Drawn]) -> str:
    """The launches from top to bottom. On the left what each reads, on the right what it writes, both in memory; arrays
    that vanished stand in the box."""
    parts, top = [], 4
    for step in steps:
        height = _height(step)
        parts += _box(step, top, height)
        parts += _arrays(step.reads, SIDE - 8, top, height, "end", (SIDE - 6, SIDE))
        parts += _arrays(step.writes, SIDE + WIDTH + 30, top, height, "start", (SIDE + WIDTH, SIDE + WIDTH + 28))
        top += height + GAP
    width = 2 * SIDE + WIDTH
    launches = "1 launch" if len(steps) == 1 else f"{len(steps)} launches"
    words = f"{launches}: " + "; ".join(" + ".join(step.names) for step in steps)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top - GAP + 8}" width="{width}" role="img" '
            f'aria-label="{escape(words)}" font-family="sans-serif" font-size="13" fill="currentColor">'
            f'<title>{escape(words)}</title>{"".join(parts)}</svg>')


def _height(step: Drawn) -> int:
    lines = len(step.names) + 1 + bool(step.vanished)
    return max(lines, len(step.reads), len(step.writes)) * LINE + 12


def _box(step: Drawn, top: int, height: int) -> list[str]:
    """The launch, its kernels in their order, its grid, and what vanished."""
    out = [f'<rect x="{SIDE}" y="{top}" width="{WIDTH}" height="{height}" rx="6" fill="none" stroke="currentColor"/>']
    x, y = SIDE + 12, top + LINE
    for name in step.names:
        out.append(f'<text x="{x}" y="{y}">{escape(name)}</text>')
        y += LINE
    out.append(f'<text x="{x}" y="{y}" {_SMALL}>over ({", ".join(map(str, step.grid))})</text>')
    if step.vanished:
        out.append(f'<text x="{x}" y="{y + LINE}" {_SMALL} font-style="italic">in registers: '
                   f'{escape(", ".join(step.vanished))}</text>')
    return out


def _arrays(
    names: Sequence[str], x: int, top: int, height: int, anchor: str, ends: tuple[int, int],
) -> list[str]:
    """Names of arrays beside a box, each with a line to or from it."""
    out, y = [], top + (height - len(names) * LINE) // 2 + 13
    left, right = ends
    for name in names:
        out.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" {_SMALL}>{escape(name)}</text>')
        out.append(f'<path d="M {left} {y - 4} H {right}" stroke="currentColor"/>')
        y += LINE
    return out
