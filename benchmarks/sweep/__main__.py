"""`python -m benchmarks.sweep`: compile and assemble every combination, or a sample; results as lines of JSON.

A run that is repeated with the same file of results goes on where the last one stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.sweep.baseline import compare
from benchmarks.sweep.cases import Case, cases, sample
from benchmarks.sweep.compile import FAILED, OK, SLOW, Result
from benchmarks.sweep.workers import run

DEFECTS = (FAILED, SLOW)


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1, help="processes side by side")
    parser.add_argument("--sample", type=int, metavar="N", help="N combinations drawn from all")
    parser.add_argument("--seed", type=int, default=0, help="another draw")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="these combinations")
    parser.add_argument("--family", help="combinations of this family")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one combination")
    parser.add_argument("--out", type=Path, default=Path("build/sweep.jsonl"), help="results, a line each")
    parser.add_argument("--baseline", type=Path, help="results of another compiler, to compare with")
    parser.add_argument("--gpu", type=int, metavar="N", help="run N combinations on the GPU: results and times")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for --gpu: what is not reached is left out")
    options = parser.parse_args(argv)
    if options.gpu:
        from benchmarks.sweep.gpu import run_on_gpu

        return run_on_gpu(options.gpu, options.seed, options.jobs, options.limit, options.seconds, options.out)
    chosen = _chosen(options)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = read(options.out)
    left = [case for case in chosen if case.number not in done]
    with options.out.open("a") as file:
        for result in run(left, options.jobs, options.limit):
            done[result.number] = result
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")
            file.flush()
            if result.status in DEFECTS:
                print(f"{result.number}: {result.name}\n    {result.message[:400]}", flush=True)
    results = [done[case.number] for case in chosen]
    lines, worse = compare(results, read(options.baseline) if options.baseline else {})
    print("\n".join([*summary(results), *lines]))
    return 1 if worse or any(r.status in DEFECTS for r in results) else 0


def _chosen(options: argparse.Namespace) -> list[Case]:
    found = sample(options.sample, options.seed) if options.sample else cases()
    numbers = set(options.only or ()) or {case.number for case in found}
    return [c for c in found if c.number in numbers and options.family in (None, c.family)]


def read(file: Path) -> dict[int, Result]:
    """Results by number."""
    if not file.exists():
        return {}
    results = [Result(**json.loads(line)) for line in file.read_text().splitlines()]
    return {r.number: dataclasses.replace(r, rungs=tuple(r.rungs), serialised=tuple(r.serialised)) for r in results}


def summary(results: Sequence[Result]) -> list[str]:
    """Counts, and a line for each combination that went down a rung, spills, or runs wgmma one at a time."""
    fine = [r for r in results if r.status == OK]
    counts = Counter(r.status for r in results)
    lines = [f"{len(results)} combinations: " + ", ".join(f"{n} {status}" for status, n in counts.most_common())]
    for family in dict.fromkeys(r.family for r in results):
        of = Counter(r.status for r in results if r.family == family)
        lines.append(f"  {family}: " + ", ".join(f"{n} {status}" for status, n in of.most_common()))
    lines.append(f"{sum(bool(r.rungs) for r in fine)} went down the ladder, {sum(r.spills > 0 for r in fine)} spill, "
                 f"{sum(bool(r.serialised) for r in fine)} run wgmma one at a time")
    for r in fine:
        notes = [*r.rungs]
        if r.spills:
            notes.append(f"{r.spills} bytes of spills at {r.registers} registers in {r.threads} threads")
        notes += [f"serialised wgmma ({code})" for code in r.serialised]
        if notes:
            lines.append(f"  {r.number}: {r.name}: {'; '.join(notes)}")
    seconds = sum(r.compiling + r.assembling for r in results)
    return [*lines, f"{seconds:.0f} s of processor time, {sum(r.assembling for r in results):.0f} s of it in ptxas"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
