"""The interpreter's cases while every core is busy elsewhere: `python -m benchmarks.busy [words] [--cores N]`.

Each case runs alone, then beside as many processes that compute without end as there are cores, for all of which only
the same cores are to be had. Times are of the clock on the wall, the mean of all runs; NumPy's BLAS has the threads
that it takes by itself. A process that needs one core gets a fair share: with two cores and two others, two thirds.
Products that waited for each other's threads took sixty times as long there, which is what this looks for.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.interp_cases import cases

SECONDS = 0.4  # of runs of a case, at least
ASKED = 3.0  # times as long, at most


def _compute(number: int) -> None:
    while True:
        number = number * 5 % 1000003


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[None]:
    """Processes that compute until the end of the context."""
    spawn = multiprocessing.get_context("spawn")
    running = [spawn.Process(target=_compute, args=(n + 1,), daemon=True) for n in range(count)]
    for process in running:
        process.start()
    time.sleep(0.5)
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.join()


def mean(run: Callable[[], Any]) -> float:
    """Seconds of a run, on the wall."""
    start, runs = time.perf_counter(), 0
    while (took := time.perf_counter() - start) < SECONDS or runs < 3:
        run()
        runs += 1
    return took / runs


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.busy", description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--cores", type=int, default=2, help="how many cores there are for all of them")
    given = parser.parse_args(arguments)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-given.cores:])
    chosen = [c for c in cases() if not given.words or any(word in c.name for word in given.words)]
    for case in chosen:
        if not case.right():
            raise SystemExit(f"{case.name}: the result is wrong")
        case.ours()
    before = [mean(case.ours) for case in chosen]
    with neighbours(given.cores):
        busy = [mean(case.ours) for case in chosen]
    ratios = [b / a for a, b in zip(before, busy, strict=True)]
    for case, a, b, ratio in zip(chosen, before, busy, ratios, strict=True):
        print(f"{case.name:<40}{a * 1e3:10.3f} ms {b * 1e3:10.3f} ms {ratio:8.2f}")
    print(f"{len(ratios)} cases, {given.cores} cores busy: median {statistics.median(ratios):.2f} times as long, "
          f"worst {max(ratios):.2f} (asked: {ASKED:.0f} at most)")


if __name__ == "__main__":
    main(sys.argv[1:])
