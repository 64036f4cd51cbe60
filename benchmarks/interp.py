"""Times of the interpreter beside the same computation in plain NumPy: `python -m benchmarks.interp`.

Both run on one core, with one thread of BLAS. A time is the least of several runs, in seconds of this process: others
who share the machine count little. Of the table: the ratio of each case, and the geometric mean of all.

    python -m benchmarks.interp softmax attention     # cases whose names contain one of these words
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.interp_cases import Case, cases, launches

SECONDS = 0.3  # of measuring each side of a case
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def seconds(run: Callable[[], Any]) -> float:
    """The least time of a run; the first ones compile, and fill caches."""
    run()
    run()
    best, spent = float("inf"), 0.0
    while spent < SECONDS:
        start = time.process_time()
        run()
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-5)
    return best


def rows(wanted: Sequence[str]) -> Iterator[str]:
    ratios = []
    for case in cases():
        if wanted and not any(word in case.name for word in wanted):
            continue
        ours, plain = measured(case)
        ratios.append(ours / plain)
        yield f"{case.name:<40}{ours * 1e3:10.3f} ms {plain * 1e3:10.3f} ms {ours / plain:8.2f}"
    if ratios:
        worst, mean = max(ratios), statistics.geometric_mean(ratios)
        yield f"{len(ratios)} cases: geometric mean {mean:.2f}, worst {worst:.2f}"


def measured(case: Case) -> tuple[float, float]:
    """Seconds of the kernel, and of NumPy."""
    if not case.right():
        raise SystemExit(f"{case.name}: the result is wrong")
    return seconds(case.ours), seconds(case.plain)


def overheads() -> Iterator[str]:
    """Times that no size of the data explains."""
    one, blocks = launches.small(), launches.serial()
    yield f"a small launch {measured(one)[0] * 1e6:10.1f} us"
    yield f"a serial block {measured(blocks)[0] / 100 * 1e6:10.1f} us"


def alone(module: str, words: Sequence[str]) -> None:
    """Go on, in a new process where need be, on one core and with one thread of BLAS."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        # They are read when NumPy is imported, which it is by now.
        os.execve(sys.executable, [sys.executable, "-m", module, *words],
                  {**os.environ, **dict.fromkeys(THREADS, "1")})
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(wanted: Sequence[str]) -> None:
    alone("benchmarks.interp", wanted)
    print(f"{'':<40}{'interpreter':>13} {'NumPy':>13} {'ratio':>8}")
    for line in rows(wanted):
        print(line, flush=True)
    if not wanted:
        for line in overheads():
            print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
