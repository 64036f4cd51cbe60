"""Host cost of one launch with three torch CUDA tensors, beside torch.add's."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))


def host_cost(run: Callable[[], Any], launches: int = 500, rounds: int = 9) -> float:
    """Median microseconds of host time of one call, the queue never full."""
    import torch

    samples = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(launches):
            run()
        samples.append((time.perf_counter() - start) / launches * 1e6)
    return statistics.median(samples)


def rows() -> Iterator[str]:
    import torch
    from vector_add import vector_add

    x, y, out = (torch.randn(1024, device="cuda") for _ in range(3))
    stream = torch.cuda.current_stream()
    import tilewright as tw

    ways = {
        "kernel[grid](...)": lambda: vector_add[(1,)](x, y, out, 1024),
        "tw.launch(stream, ...)": lambda: tw.launch(stream, (1,), vector_add, (x, y, out, 1024)),
        "torch.add(x, y, out=out)": lambda: torch.add(x, y, out=out),
    }
    for run in ways.values():
        run()
    for name, run in ways.items():
        yield f"host cost of a launch, {name:<28} {host_cost(run):6.2f} us"
