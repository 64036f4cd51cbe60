"""Times of the interpreter beside the same computation in plain NumPy: `python -m benchmarks.interp`.

Both run on one core, with one thread of BLAS, alternately. A time is the least of several runs, in seconds of this
process: others who share the machine count little. Of the table: the ratio of each case, and the geometric mean of all.

    python -m benchmarks.interp softmax attention     # cases whose names contain one of these words
    python -m benchmarks.interp --rounds 4 --page     # the least of four rounds; the table goes to docs/performance.md
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.interp_cases import Case, cases, launches

SECONDS = 0.6  # of measuring both sides of a case
TURN = 3  # runs of a side before the other one's turn: the first finds the caches full of the other's data
THREADS = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
START, END = "<!-- interpreter: made by python -m benchmarks.interp --page -->\n", "<!-- end of the interpreter -->"
SMALL, SERIAL = "a small launch", "a block of a serial launch"
Times = dict[str, tuple[float, float]]
"""By name of a case: seconds of the kernel, and of NumPy."""


def least(runs: Sequence[Callable[[], Any]]) -> tuple[float, ...]:
    """The least time of each of these, which run alternately; the first runs compile, and fill caches."""
    best, spent = [float("inf")] * len(runs), 0.0
    for run in runs:
        run()
        run()
    while spent < SECONDS:
        for k, run in enumerate(runs):
            for _ in range(TURN):
                start = time.process_time()
                run()
                took = time.process_time() - start
                best[k], spent = min(best[k], took), spent + max(took, 1e-5)
    return tuple(best)


def measured(case: Case) -> tuple[float, float]:
    """Seconds of the kernel, and of NumPy."""
    if not case.right():
        raise SystemExit(f"{case.name}: the result is wrong")
    ours, plain = least((case.ours, case.plain))
    return ours, plain


def added(known: Times, wanted: Sequence[str]) -> Iterator[str]:
    """Measure the wanted cases (none: all, and what a launch and a serial block cost), as far as they are faster than
    known; their names as they are done."""
    for case in cases():
        if not wanted or any(word in case.name for word in wanted):
            _add(known, case.name, measured(case))
            yield case.name
    if not wanted:
        _add(known, SMALL, measured(launches.small()))
        _add(known, SERIAL, tuple(t / 100 for t in measured(launches.serial())))


def _add(known: Times, name: str, times: Iterable[float]) -> None:
    ours, plain = map(min, times, known.get(name, (float("inf"),) * 2))
    known[name] = ours, plain


def line(name: str, ours: float, plain: float) -> str:
    return f"{name:<40}{ours * 1e3:10.3f} ms {plain * 1e3:10.3f} ms {ours / plain:8.2f}"


def summary(times: Times) -> str:
    ratios = [ours / plain for name, (ours, plain) in times.items() if name not in (SMALL, SERIAL)]
    return f"{len(ratios)} cases: geometric mean {statistics.geometric_mean(ratios):.2f}, worst {max(ratios):.2f}"


def table(times: Times) -> str:
    """What the page shows."""
    rows = [f"| `{name}` | {ours * 1e3:.3f} | {plain * 1e3:.3f} | {ours / plain:.2f} |"
            for name, (ours, plain) in times.items() if name not in (SMALL, SERIAL)]
    costs = ", ".join(f"{name} {times[name][0] * 1e6:.0f} us" for name in (SMALL, SERIAL))
    return "\n".join(["| case | interpreter, ms | NumPy, ms | ratio |", "|---|---|---|---|", *rows, "",
                      f"{summary(times)}; {costs}.", ""])


def write(times: Times) -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(f"{before}{START}\n{table(times)}\n{END}{rest.partition(END)[2]}")


def alone(module: str, words: Sequence[str]) -> None:
    """Go on, in a new process where need be, on one core and with one thread of BLAS."""
    if any(os.environ.get(name) != "1" for name in THREADS):
        # They are read when NumPy is imported, which it is by now.
        os.execve(sys.executable, [sys.executable, "-m", module, *words],
                  {**os.environ, **dict.fromkeys(THREADS, "1")})
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.interp", description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--rounds", type=int, default=1, help="how often to measure each case")
    parser.add_argument("--page", action="store_true", help="put the table into docs/performance.md")
    given = parser.parse_args(arguments)
    if given.page and given.words:
        parser.error("the page shows all cases")
    alone("benchmarks.interp", arguments)
    times: Times = {}
    print(f"{'':<40}{'interpreter':>13} {'NumPy':>13} {'ratio':>8}")
    for number in range(given.rounds):
        for name in added(times, given.words):
            if number == given.rounds - 1:
                print(line(name, *times[name]), flush=True)
    print(summary(times) if times else "no case has such a name")
    for name in (SMALL, SERIAL):
        if name in times:
            print(f"{name} {times[name][0] * 1e6:.1f} us")
    if given.page:
        write(times)


if __name__ == "__main__":
    main(sys.argv[1:])
