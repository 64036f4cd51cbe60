"""Numbers with units, as tables show them."""

from __future__ import annotations

from collections.abc import Sequence

_POWERS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(number: float, unit: str) -> str:
    """134217728, "B" as "134 MB": three digits, decimal powers."""
    for power, letter in _POWERS:
        if number >= power:
            return f"{_three(number / power)} {letter}{unit}"
    return f"{_three(number)} {unit}"


def _three(number: float) -> str:
    return f"{number:.0f}" if number >= 100 or number == int(number) else f"{number:.1f}" if number >= 10 else (
        f"{number:.2f}")


def duration(seconds: float) -> str:
    """Seconds in the unit that makes them readable."""
    for power, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= power:
            return f"{_three(seconds / power)} {unit}"
    return f"{_three(seconds * 1e9)} ns" if seconds >= 1e-9 or not seconds else "under 1 ns"


def percent(share: float) -> str:
    """0.123 as "12 %"."""
    return "under 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"


def columns(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines of aligned columns; the first `left` to the left, the others to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) if k < left else cell.rjust(w)
                      for k, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in rows]


def plural(number: int, word: str) -> str:
    """1, "CTA" as "1 CTA" and 2 as "2 CTAs"."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
