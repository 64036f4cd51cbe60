"""The steps of examples/tuned_matmul.py, which docs/performance.md explains, beside cuBLAS."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks._timing import Row, alternate
from benchmarks.matmul import checked

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def rows(n: int = 8192) -> Iterator[Row]:
    import torch
    from tuned_matmul import steps

    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    c, theirs = torch.empty_like(a), torch.empty_like(a)
    exact = [a.double(), b.double()]
    processors = torch.cuda.get_device_properties(0).multi_processor_count
    for step, kernel, grid, constants in steps(n, n, processors):
        name = f"step of a matmul {n}^3: {step}"
        run = checked(name, c, exact, 2.0**-8,
                      lambda k=kernel, g=grid, s=constants: k[g](a, b, c, *s))
        run()
        times = alternate({"ours": run, "cuBLAS": lambda: torch.matmul(a, b, out=theirs)}, rounds=7, inner=2)
        yield Row(name, times, flops=2.0 * n**3, moved=3.0 * a.nbytes)
