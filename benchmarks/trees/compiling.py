"""The times that two checkouts take to compile, one compilation of each in turn.

A host's clock varies from process to process more than a compiler does from commit to commit: times of one checkout
behind those of another say little, the median of the ratios of neighbours does.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence

from benchmarks.trees.side import Side

Stages = Mapping[str, float]
ASSEMBLERS = ("driver", "ptxas")


def compare_compilers(old: Side, new: Side, seconds: float, only: Sequence[str] | None = None) -> list[str]:
    """A line for each kernel after about `seconds` of turns, which all kernels get as many of; at least two."""
    old.ask("compiled")
    names = [n for n in new.ask("compiled") if not only or any(text in n for text in only)]
    runs: dict[str, tuple[list[Stages], list[Stages]]] = {name: ([], []) for name in names}
    end, turn = time.monotonic() + seconds, 0
    while turn < 2 or time.monotonic() < end:
        for name, (before, now) in runs.items():
            for side, taken in ((old, before), (new, now)) if turn % 2 == 0 else ((new, now), (old, before)):
                taken.append(side.ask("compile", name=name))
        turn += 1
    return [line(name, *both) for name, both in runs.items()]


def line(name: str, old: Sequence[Stages], new: Sequence[Stages]) -> str:
    """The least of both sides in milliseconds, and new over old: in all, without the assembler, the assembler alone."""
    def ratio(of: str) -> str:
        return f"{statistics.median(part(n, of) / part(o, of) for o, n in zip(old, new, strict=True)):.3f}"

    least = [min(stages["total"] for stages in side) for side in (old, new)]
    found = next((a for a in ASSEMBLERS if a in old[0]), None)
    parts = f"  own part {ratio('own')}  {found} {ratio(found)}" if found else ""
    return f"{name:<40} old {least[0]:7.1f} ms  new {least[1]:7.1f} ms  new/old {ratio('total')}{parts}  of {len(old)}"


def part(stages: Stages, of: str) -> float:
    return stages["total"] - sum(stages.get(a, 0.0) for a in ASSEMBLERS) if of == "own" else stages[of]
