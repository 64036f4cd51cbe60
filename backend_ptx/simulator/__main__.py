"""Simulate kernels of the source checkout's catalogue, with the time of each step and the code on request.

    python -m tilewright.backend_ptx.simulator softmax --target sm_90a --schedule random --seed 3
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.entry import simulate_lowered

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run every catalogue case whose name contains the pattern; 1 if one fails or there is none."""
    parser = argparse.ArgumentParser(prog="python -m tilewright.backend_ptx.simulator", description=__doc__)
    parser.add_argument("pattern", help="part of the names of catalogue cases; '' for all")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--schedule", choices=("inorder", "random"), default="inorder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", action="store_true", help="print the simulated LLVM IR")
    options = parser.parse_args()
    if not (ROOT / "tests" / "catalogue").is_dir():
        parser.error(f"the catalogue is part of the source checkout, not in {ROOT}; from Python, call simulate(...)")
    sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "examples")]
    from catalogue.all import all_cases  # type: ignore[import-not-found]

    cases = [case for case in all_cases() if options.pattern in case.name]
    if not cases:
        parser.error(f"no case of the catalogue has {options.pattern!r} in its name")
    return int(sum(_failed(case, options) for case in cases) > 0)


def _failed(case: Any, options: argparse.Namespace) -> bool:
    args = case.args()
    name = case.name
    start = time.perf_counter()
    try:
        code = case.kernel.lower(*args, target=options.target)
        lowered = code.lowered
        middle = time.perf_counter()
        if options.text:
            print(lowered.llvm_text)
        simulate_lowered(lowered, case.grid, code.values, schedule=options.schedule, seed=options.seed)
        end = time.perf_counter()
        with np.errstate(all="ignore"):
            want = case.reference(*case.args())
        case.check(case.results(args), want, "simulated")
    except Exception as error:
        print(f"FAILED {name}: {type(error).__name__}: {error}")
        return True
    print(f"ok {name}: lowering {middle - start:.3f} s, {lowered.threads} threads, simulation {end - middle:.3f} s")
    return False


if __name__ == "__main__":
    raise SystemExit(main())
