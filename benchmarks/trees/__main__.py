"""`python -m benchmarks.trees OLD [NEW]`: the report's kernels of two checkouts, timed side by side on one GPU.

Each checkout runs in a process of its own, with its own compiler and launcher; the two alternate on the GPU: old, new,
new, old, and so on. A line for each kernel: both times, old over new, the old side's even turns over its odd ones (the
noise of this run), and whether the results differ. Exit status 1 where a result differs or a kernel fails.

With `--compile SECONDS` the two compile in turns instead, the kernels of `benchmarks compile`; no GPU is needed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Work, works
from benchmarks.trees.compiling import compare_compilers
from benchmarks.trees.side import Failed, Side

HERE = Path(__file__).resolve()
AGREE = 2e-3  # of the sum of a result's magnitudes: two orders of summation of bfloat16 numbers stay far below


@dataclass(frozen=True)
class Pair:
    """Microseconds of each turn of both sides, and what `digest` said of their results."""

    name: str
    old: Sequence[float]
    new: Sequence[float]
    sums: tuple[float, float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.old) / statistics.median(self.new)

    @property
    def itself(self) -> float:
        return statistics.median(self.old[::2]) / statistics.median(self.old[1::2])

    @property
    def agrees(self) -> bool:
        return math.isclose(*self.sums, rel_tol=AGREE)

    def text(self) -> str:
        old, new = statistics.median(self.old), statistics.median(self.new)
        return (f"{self.name:<40} old {old:9.2f} us  new {new:9.2f} us  old/new {self.ratio:.3f}  "
                f"old/old {self.itself:.3f}{'' if self.agrees else '  RESULTS DIFFER'}")


def compare(old: Side, new: Side, work: Work, turns: int) -> Pair:
    # The pairs of turns are turned round each time: what runs second finds the clock and L2 as the first left them.
    sums = (old.ask("prepare", name=work.name, grid=work.grid), new.ask("prepare", name=work.name, grid=work.grid))
    times: dict[Side, list[float]] = {old: [], new: []}
    for turn in range(turns):
        for side in (old, new) if turn % 2 == 0 else (new, old):
            times[side].append(side.ask("time"))
    return Pair(work.name, times[old], times[new], sums)


def summary(pairs: Sequence[Pair]) -> str:
    ratios, itself = [p.ratio for p in pairs], [p.itself for p in pairs]
    return (f"{len(pairs)} kernels: least {min(ratios):.3f}, geometric mean {statistics.geometric_mean(ratios):.3f}; "
            f"old against itself {min(itself):.3f} to {max(itself):.3f}")


def lines(sides: tuple[Side, Side], chosen: Sequence[Work], turns: int) -> Iterator[str | Pair]:
    """A pair for each kernel, or why there is none."""
    for work in chosen:
        try:
            yield compare(*sides, work, turns)
        except Failed as failed:
            yield f"{work.name:<40} {failed}"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trees", description=__doc__)
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, nargs="?", default=HERE.parents[2], help="another (default: this one)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="kernels whose names contain one of these")
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every N-th kernel from the K-th on")
    parser.add_argument("--turns", type=int, default=8, help="turns of each side (default: 8)")
    parser.add_argument("--compile", type=float, metavar="SECONDS", help="compile in turns for so long instead")
    options = parser.parse_args(argv)
    with Side(options.old.resolve()) as old, Side(options.new.resolve()) as new:
        if options.compile is not None:
            print("\n".join(compare_compilers(old, new, options.compile, options.only)))
            return 0
        first, step = map(int, options.part.split("/"))
        chosen = [w for w in works() if not options.only or any(text in w.name for text in options.only)][first::step]
        return report((old, new), chosen, options.turns)


def report(sides: tuple[Side, Side], chosen: Sequence[Work], turns: int) -> int:
    """Print a line for each kernel and the summary; the exit status."""
    pairs, failed = [], 0
    for line in lines(sides, chosen, turns):
        print(line if isinstance(line, str) else line.text(), flush=True)
        if isinstance(line, str):
            failed += 1
        else:
            pairs.append(line)
    if pairs:
        print(summary(pairs))
    return 1 if failed or not all(p.agrees for p in pairs) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
