"""A sample of the sweep: none ends in an error, ptxas takes each. The whole of it is `make sweep`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.sweep import baseline, kernels
from benchmarks.sweep.__main__ import summary
from benchmarks.sweep.cases import FAMILIES, FIRST, cases, sample
from benchmarks.sweep.compile import FAILED, OK, SLOW, TOO_LARGE, Result
from benchmarks.sweep.references import OUT, can_run, error, grid, inputs
from benchmarks.sweep.workers import Workers, run
from support.optional import needs_ptxas

from tilewright.backend_ptx.targets import TARGETS

SAMPLE = 16


def test_there_are_enough_combinations() -> None:
    found = cases()
    assert len(found) >= 3000 and len({c.name for c in found}) == len(found)
    assert {c.family for c in found} == {"named", *FAMILIES} and {c.target for c in found} == set(TARGETS)
    assert [c.number for c in found] == list(range(len(found)))
    assert sample(10, 1) == sample(10, 1) != sample(10, 2)


def test_a_new_target_is_swept_and_renumbers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    was = cases()
    cases.cache_clear()
    monkeypatch.setitem(TARGETS, "sm_new", replace(TARGETS["sm_120a"], name="sm_new"))
    now = cases()
    cases.cache_clear()
    assert now[:len(was)] == was
    added = now[len(was):]
    assert len(added) * len(FIRST) >= 3000 and {c.target for c in added} == {"sm_new"}


@needs_ptxas
def test_a_sample_is_accepted() -> None:
    small = [c for c in sample(4 * SAMPLE) if all(a <= 128 for a in c.args if isinstance(a, int))]
    results = list(run(small[:SAMPLE], jobs=2, limit=120))
    assert len(results) == SAMPLE
    assert not [r for r in results if r.status in (FAILED, SLOW, TOO_LARGE)], summary(results)


def test_cases_come_again() -> None:
    """Each device has its cases one at a time, in the processes that had them."""
    found = sample(6)
    with Workers(3, 60, ("0", "1")) as workers:
        first = list(workers.run(found, replace))
        again = list(workers.again(found[1:], replace))
    assert sorted(c.number for c in first) == sorted(c.number for c in found)
    assert sorted(c.number for c in again) == sorted(c.number for c in found[1:])


def test_what_became_of_a_baseline_is_said() -> None:
    """Case 149 asks for three CTAs on an SM."""
    case = next(c for c in cases() if c.hints.get("occupancy") == 3)
    was = Result(case.number, case.name, case.family, "sm_120a", OK, registers=168, threads=128)
    low = "occupancy=3 lowered to 2: ptxas would spill 8 bytes"
    full = replace(was, registers=255)  # two CTAs
    for before, now, kind in (
        (was, was, None), (was, replace(was, status=FAILED), baseline.GONE),
        (was, replace(was, spills=8), baseline.SPILLS),
        (was, replace(was, rungs=("no loop is split: spills",)), baseline.BACK),
        (was, replace(full, rungs=(low,)), baseline.FEWER), (full, replace(full, rungs=(low,)), baseline.NOT_HAD),
        (was, replace(was, rungs=("4 warps in place of 8: spills",)), baseline.SAME_THREADS),
        (was, replace(was, threads=64, rungs=("as written, without what takes registers: spills",)), baseline.BACK),
        (was, replace(was, registers=64, threads=256, rungs=("8 warps in place of 4: spills",)), baseline.OTHER),
    ):
        assert baseline.change(before, now, case) == kind
        lines, worse = baseline.compare([now], {case.number: before})
        assert worse == (kind in baseline.WORSE) and (kind is None) == (len(lines) == 1)
        assert sum(case.name in line for line in lines) == worse
    assert baseline.compare([replace(was, rungs=("fewer",))], {case.number: replace(was, spills=8)}) == (
        ["0 combinations compiled without spills in the baseline; of these"], False)
    assert baseline.compare([was], {}) == ([], False)


@pytest.mark.parametrize("kernel", sorted({c.kernel for c in cases() if can_run(c)}))
def test_references(kernel: str) -> None:
    """The interpreter agrees with what `--gpu` compares with, on arrays that are cut down to few rows."""
    case = next(c for c in cases() if c.kernel == kernel and max(a for a in c.args if isinstance(a, int)) <= 2048)
    rng = np.random.default_rng(0)
    shapes = {"2048": "64", "4096": "4096", "8192": "64"}
    small = [[_cut(t, shapes) for t in a] if isinstance(a, list) else _cut(a, shapes) if isinstance(a, str) else a
             for a in case.args]
    if kernel == "grouped_gemm":  # its groups are spread over 4096 rows
        pytest.skip("too many rows for the interpreter")
    small_case = replace(case, args=tuple(small))
    args = inputs(small_case, rng)
    size = grid(small_case, args)
    getattr(kernels, kernel).interpret(size, *args)
    assert error(small_case, args, args[OUT[kernel]], rng) < 0.2


def _cut(text: str, shapes: dict[str, str]) -> str:
    dtype, extents = text.rstrip("]").split("[")
    return f"{dtype}[{','.join(shapes.get(n, n) for n in extents.split(','))}]"
