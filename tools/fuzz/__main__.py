"""`python -m fuzz`: random programs and mutants by seed, in child processes; each find is printed, reduced."""

from __future__ import annotations

import argparse
import collections
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

from fuzz import children, generate, mutate, work  # noqa: E402

FINDS = ("mismatch", "crash", "hang", "internal", "memory", "refused", children.LOST)
MUTANT_SECONDS, MUTANT_BYTES, PROGRAM_SECONDS = 45.0, 2 << 30, 100.0  # a mutant stops itself after 5 s of work


def main() -> int:
    options = parser().parse_args()
    if options.gpu:
        options.n, options.oracles = options.gpu, ["gpu"]
    if options.what not in generate.KINDS:
        options.oracles = []
    elif not options.oracles:
        options.oracles = ["simulator"] if options.what == "products" else ["oracle", "single", "text", "passes"]
    mutants = options.what in mutate.KINDS
    limits = (MUTANT_SECONDS, MUTANT_BYTES) if mutants else (PROGRAM_SECONDS, 0)
    seeds = range(options.seed, options.seed + options.n)
    print(", ".join([options.what, f"seeds {seeds.start} to {seeds.stop - 1}", *options.oracles]), flush=True)
    job = work.Job(options.what, tuple(options.oracles), not options.whole)
    start, finds, counts = time.time(), 0, collections.Counter[str]()
    given = children.until(start + options.seconds, iter(seeds))
    for seed, outcome, text in children.run(job, given, options.j, *limits):
        counts[outcome] += 1
        if outcome in FINDS:
            finds += 1
            print(f"---- find {finds}, seed {seed}: {outcome}\n{text}", flush=True)
    outcomes = ", ".join(f"{n} {outcome}" for outcome, n in sorted(counts.items()))
    took = f"{time.time() - start:.0f} s"
    print(f"{sum(counts.values())} {options.what} of {options.n} in {took}, {finds} finds: {outcomes}")
    return int(bool(finds))


def parser() -> argparse.ArgumentParser:
    out = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    out.add_argument("what", nargs="?", default="programs", choices=[*generate.KINDS, "ir", *mutate.KINDS],
                     help="random kernels, those of integers alone, those of matrix products alone with the sums of "
                          "sm_90a's tensor cores; random Tile IR; mutants of .tile text, kernels, command lines, the "
                          "cache")
    out.add_argument("-n", type=int, default=1000, help="how many")
    out.add_argument("--seed", type=int, default=0, help="the first seed")
    out.add_argument("--seconds", type=float, default=1e9, help="no new seed after so many")
    out.add_argument("-j", type=int, default=1, help="processes")
    out.add_argument("--oracles", type=lambda text: text.split(","), default=[],
                     help="of programs: oracle, single, text, passes, simulator, ptxas, checked, gpu; of products "
                          "simulator, ptxas, gpu")
    out.add_argument("--gpu", type=int, metavar="N", help="N of them on the GPU here against the interpreter")
    out.add_argument("--whole", action="store_true", help="do not reduce what is found")
    return out


if __name__ == "__main__":
    raise SystemExit(main())
