"""Host cost of one launch with three torch CUDA tensors, beside torch.add's and the driver's own call."""

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

    bound = vector_add.bind((1,), x, y, out, 1024)
    ways: dict[str, Callable[[], Any]] = {
        "kernel[grid](...)": lambda: vector_add[(1,)](x, y, out, 1024),
        "tw.launch(stream, ...)": lambda: tw.launch(stream, (1,), vector_add, (x, y, out, 1024)),
        "bound()": bound,
        "cuda.bindings alone": driver_call(vector_add, x, y, out, 1024),
        "torch.add(x, y, out=out)": lambda: torch.add(x, y, out=out),
    }
    for run in ways.values():
        for _ in range(100):
            run()
    time.sleep(1)  # machine code for launches is made on another thread
    for name, run in ways.items():
        for _ in range(100):
            run()
        yield f"host cost of a launch, {name:<28} {host_cost(run):6.2f} us"


def driver_call(kernel: Any, *args: Any) -> Callable[[], Any]:
    """The driver's function with parameters that are packed already, through cuda.bindings."""
    from tilewright.backend_ptx.runtime.driver import driver

    fixed, _, _ = kernel.launcher.bind(kernel[(1,)].grid, args)
    given = fixed.plan.kernel.handle, *fixed.grid, fixed.plan.kernel.threads, 1, 1, fixed.plan.kernel.shared_bytes
    call, frame = driver().cuLaunchKernel, fixed.frame
    return lambda: call(*given, 0, frame.address, 0)
