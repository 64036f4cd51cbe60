"""Explore the protocols of all catalogue kernels with rings, for all trip counts; states of each. `make protocols`."""

import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "examples")]

from catalogue.all import one_per_kernel  # noqa: E402
from support.protocols import every_trip_count, explored, kernels  # noqa: E402


def main() -> None:
    cases = [case for case in one_per_kernel() if "sm_90a" in case.targets]
    for kernel in kernels(cases):
        start = time.perf_counter()
        count, states = explored(kernel, every_trip_count(kernel))
        took = time.perf_counter() - start
        print(f"{kernel.name:<40} {count:4} protocols {states:9} states {took:7.1f} s", flush=True)


if __name__ == "__main__":
    main()
