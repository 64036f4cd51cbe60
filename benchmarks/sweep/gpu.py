"""A drawn set on the GPU: right results, and times beside the same kernel without hints.

Processes side by side compile each kernel, with and without its hints, run it and compare some rows with NumPy. Then
each GPU times what its processes have loaded, one kernel after the other. Where the hints cost more than a fifth, the
kernel is timed without each hint alone, so that the report names the hint that costs and what it decides otherwise.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import random
import re
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.sweep import kernels
from benchmarks.sweep.cases import Case, cases
from benchmarks.sweep.compile import OK, Result, arguments_of, status_of
from benchmarks.sweep.references import OUT, TOLERANCE, can_run, error, grid, inputs
from benchmarks.sweep.workers import VISIBLE, Workers

WRONG = "wrong"
SHARE = 0.8  # of the rate without hints that a kernel with hints must reach
TIMED = 9


@dataclass(frozen=True)
class Measured:
    """A combination on the GPU. Times are microseconds; `plain` is that of the kernel without hints."""

    number: int
    name: str
    family: str
    target: str
    status: str
    message: str = ""
    error: float = 0.0
    rungs: tuple[str, ...] = ()
    time: float = 0.0
    plain: float = 0.0
    reasons: tuple[str, ...] = ()


def drawn(count: int, seed: int, target: str) -> list[Case]:
    """Combinations whose kernels have a reference, compiled for the GPU at hand."""
    fitting = [replace(c, target=target) for c in cases() if can_run(c)]
    unique = list({(c.kernel, str(c.args), str(c.hints)): c for c in fitting}.values())
    return random.Random(seed).sample(unique, min(count, len(unique)))


def run_on_gpu(count: int, seed: int, jobs: int, limit: float, seconds: float, out: Path) -> int:
    """`jobs` processes share the GPUs. Of `seconds` two thirds are for compiling; what is not reached is left out."""
    from tilewright.backend_ptx.runtime.driver import device_count, get_device

    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(threads, "1")  # there is a process for each core already
    visible = os.environ.get(VISIBLE)
    devices = (visible.split(",") if visible else [str(number) for number in range(device_count())])[:device_count()]
    chosen = {c.number: c for c in drawn(count, seed, get_device(0).target.name)}
    start = time.monotonic()

    def until(share: float, cases: Iterable[Case]) -> Iterator[Case]:
        return (case for case in cases if time.monotonic() < start + share * seconds)

    with Workers(jobs, limit, devices) as workers:
        results = {r.number: r for r in workers.run(until(2 / 3, chosen.values()), check)}
        right = [chosen[r.number] for r in results.values() if r.status == OK]
        results |= {r.number: r for r in workers.again(until(1, right), timed)}
    found = [Measured(r.number, r.name, r.family, r.target, r.status, r.message) if isinstance(r, Result) else r
             for r in results.values()]
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(json.dumps(dataclasses.asdict(r)) + "\n" for r in found))
    print("\n".join(report(found)))
    if len(found) < len(chosen):
        print(f"{len(chosen) - len(found)} of {len(chosen)} were not reached in {seconds:g} s")
    return int(any(r.status not in (OK, "too large", "unsupported") for r in found))


@functools.cache
def _kernel(name: str, hints: tuple[tuple[str, int], ...]) -> Any:
    """One object for what is launched twice: it keeps what it has compiled."""
    return getattr(kernels, name).replace_hints(**dict(hints))


def kernel_of(case: Case) -> Any:
    return _kernel(case.kernel, tuple(case.hints.items()))


def check(case: Case) -> Measured:
    """Compile with and without hints, run both, compare."""
    about = (case.number, case.name, case.family, case.target)
    try:
        worst = max(_error(replace(case, hints=hints)) for hints in (case.hints, {}))
    except Exception as failure:
        return Measured(*about, status_of(failure), f"{type(failure).__name__}: {failure}")
    dtype = next(a for a in case.args if isinstance(a, (str, list)))
    name = re.match(r"\w+", dtype if isinstance(dtype, str) else dtype[0])
    assert name is not None
    if not worst <= TOLERANCE[name[0]]:
        return Measured(*about, WRONG, f"error {worst:.3g}, at most {TOLERANCE[name[0]]:g} is expected", worst)
    return Measured(*about, OK, error=worst)


def _error(case: Case) -> float:
    import numpy as np

    rng = np.random.default_rng(case.number)
    host = inputs(case, rng)
    device = _on_device(host)
    kernel_of(case)[grid(case, host)](*device)
    out = device[OUT[case.kernel]]
    back = [a.to_host() for a in out] if isinstance(out, list) else out.to_host()
    return error(case, host, back, rng)


def _on_device(host: Sequence[Any]) -> list[Any]:
    import numpy as np

    import tilewright as tw

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [tw.to_device(item) for item in value]
        return tw.to_device(value) if isinstance(value, np.ndarray) else value

    return [moved(value) for value in host]


def timed(case: Case) -> Measured:
    """Time a combination that was right beside the kernel without hints."""
    about = (case.number, case.name, case.family, case.target)
    try:
        with_hints, plain = _times(case, [case.hints, {}])
        found = Measured(*about, OK, time=with_hints, plain=plain)
        return found if plain >= SHARE * with_hints else _explained(case, found)
    except Exception as failure:
        return Measured(*about, status_of(failure), f"{type(failure).__name__}: {failure}")


def _times(case: Case, variants: Sequence[dict[str, int]]) -> list[float]:
    """Microseconds under each set of hints. Runs alternate, so that all see the same clocks."""
    import numpy as np

    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.tune.stopwatch import Stopwatch

    host = inputs(case, np.random.default_rng(case.number))
    device, size = _on_device(host), grid(case, host)
    made = [kernel_of(replace(case, hints=hints)) for hints in variants]
    watch = Stopwatch(get_device(0))
    times: list[list[float]] = [[] for _ in made]
    for _ in range(TIMED):
        for kernel, found in zip(made, times, strict=True):
            watch.start(0)
            kernel[size](*device)
            found.append(watch.stop(0))
    return [statistics.median(found[1:]) for found in times]


def _explained(case: Case, found: Measured) -> Measured:
    """What the hints cost, hint by hint, and what the compiler decides otherwise because of them."""
    from tilewright.inspecting.decisions import decisions

    without = [{name: value for name, value in case.hints.items() if name != dropped} for dropped in case.hints]
    whole, plain, *others = _times(case, [case.hints, {}, *without])
    shares = [f"{plain / whole:.2f} with all hints"]
    shares += [f"{plain / time:.2f} without {name}" for name, time in zip(case.hints, others, strict=True)]
    arguments = arguments_of(case)
    kernel = kernel_of(case)
    said = [decisions(kernel_of(replace(case, hints=hints)), tuple(arguments), case.target)
            for hints in (case.hints, {})]
    changed = [line for line in said[0] if line not in said[1]]
    return replace(found, rungs=kernel.compiled(*arguments, target=case.target).rungs, reasons=(*shares, *changed))


def report(results: Sequence[Measured]) -> list[str]:
    fine = [r for r in results if r.status == OK]
    known = [r for r in fine if r.time]
    lines = [f"{len(results)} combinations: {len(fine)} right; of {len(known)} that were timed "
             f"{sum(r.plain >= SHARE * r.time for r in known)} at {SHARE:g} or more of the rate without hints"]
    for r in sorted(results, key=lambda r: (r.status == OK, r.plain / r.time if r.time else 0.0)):
        if r.status != OK:
            lines.append(f"  {r.number}: {r.status}: {r.name}: {r.message[:200]}")
        elif r.plain < SHARE * r.time:
            lines.append(f"  {r.number}: {r.plain / r.time:.2f} ({r.time:.1f} us, {r.plain:.1f} us without hints): "
                         + "; ".join([r.name, *r.rungs]))
            lines += (f"      {reason[:160]}" for reason in r.reasons)
    return lines
