"""The interpreter's cases while every core is busy elsewhere: `python -m benchmarks.busy [words] [--cores N]`.

Each case runs alone, then beside as many processes that compute without end as there are cores, for all of which only
the same cores are to be had. Times are of the clock on the wall: the mean of all runs of a turn, and the median of some
turns of both. NumPy's BLAS has the threads that it takes by itself. A process that needs one core gets a fair share:
with two cores and two others, two thirds. Products that waited for each other's threads took sixty times as long there,
which is what this looks for.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.interp_cases import cases

SECONDS = 0.2  # of runs in a turn, at least
TURNS = 3
ASKED = 3.0  # times as long, at most


def _compute(number: int) -> None:
    while True:
        number = number * 5 % 1000003


@contextlib.contextmanager
def neighbours(count: int) -> Iterator[Callable[[bool], None]]:
    """Processes that compute until the end of the context, whenever they are told to: `tell(True)`, `tell(False)`."""
    spawn = multiprocessing.get_context("spawn")
    running = [spawn.Process(target=_compute, args=(n + 1,), daemon=True) for n in range(count)]
    for process in running:
        process.start()
    time.sleep(1.0)

    def tell(compute: bool) -> None:
        for process in running:
            os.kill(process.pid or 0, signal.SIGCONT if compute else signal.SIGSTOP)
        time.sleep(0.01)

    try:
        yield tell
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
    ratios = []
    with neighbours(given.cores) as tell:
        for case in cases():
            if given.words and not any(word in case.name for word in given.words):
                continue
            tell(False)
            if not case.right():
                raise SystemExit(f"{case.name}: the result is wrong")
            times: dict[bool, list[float]] = {False: [], True: []}
            for busy in (False, True) * TURNS:
                tell(busy)
                times[busy].append(mean(case.ours))
            alone, beside = (statistics.median(times[busy]) for busy in (False, True))
            ratios.append(beside / alone)
            print(f"{case.name:<40}{alone * 1e3:10.3f} ms {beside * 1e3:10.3f} ms {ratios[-1]:8.2f}", flush=True)
    print(f"{len(ratios)} cases, {given.cores} cores busy: median {statistics.median(ratios):.2f} times as long, "
          f"worst {max(ratios):.2f} (asked: {ASKED:.0f} at most)")


if __name__ == "__main__":
    main(sys.argv[1:])
