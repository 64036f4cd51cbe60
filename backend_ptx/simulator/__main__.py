"""Simulate catalogue kernels from the command line, with the time of each step and the text on request.

    python -m tilewright.backend_ptx.simulator softmax --target sm_90a --schedule random --seed 3
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Run every catalogue case whose name contains the pattern; 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tilewright.backend_ptx.simulator", description=__doc__)
    parser.add_argument("pattern", help="part of the names of catalogue cases; '' for all")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--schedule", choices=("inorder", "random"), default="inorder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--text", action="store_true", help="print the simulated LLVM text")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    sys.path.insert(0, str(ROOT / "examples"))
    from catalogue.all import all_cases  # type: ignore[import-not-found]

    cases = [case for case in all_cases() if options.pattern in case.name]
    return int(sum(_failed(case, options) for case in cases) > 0)


def _failed(case: Any, options: argparse.Namespace) -> bool:
    from support.simulator.lowered import lower_kernel, runtime_arguments  # type: ignore[import-not-found]

    from tilewright.backend_ptx.simulator.lowered import run_lowered

    args = case.args()
    name = case.name
    start = time.perf_counter()
    try:
        lowered = lower_kernel(case.kernel, args, options.target)
        middle = time.perf_counter()
        if options.text:
            print(lowered.llvm_text)
        given = runtime_arguments(case.kernel, args)
        run_lowered(lowered, case.grid, given, schedule=options.schedule, seed=options.seed)
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
