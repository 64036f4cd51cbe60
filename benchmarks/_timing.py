"""Timing of GPU work with events: contenders alternate in one run, medians are compared."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One line of a benchmark: medians in microseconds by contender; the first contender is ours.

    `moved`: for work that is given in `flops`, the bytes that it must move at least (for the roofline).
    """

    name: str
    times: dict[str, float]
    bytes: float = 0.0
    flops: float = 0.0
    moved: float = 0.0

    def rate(self, who: str) -> float:
        """GB/s if bytes are given, else TFLOP/s."""
        return self.bytes / self.times[who] / 1e3 if self.bytes else self.flops / self.times[who] / 1e6

    def text(self) -> str:
        ours, *others = self.times
        unit = "GB/s" if self.bytes else "TFLOP/s"
        parts = [f"{self.name:<44}", f"{ours} {self.times[ours]:9.1f} us {self.rate(ours):8.1f} {unit}"]
        for who in others:
            parts.append(f"| {who} {self.rate(who):8.1f} ratio {self.times[who] / self.times[ours]:.3f}")
        return "  ".join(parts)


# Cycles that the GPU waits before a timed run, if asked: 0.1 ms or more, in which the host has queued its launches.
HEAD_START = 200_000


def alternate(
    contenders: dict[str, Callable[[], Any]], *, rounds: int = 15, warmup: int = 3, inner: int = 4,
    queued: bool = False, before: Callable[[], Any] | None = None,
) -> dict[str, float]:
    """Median time in microseconds of each contender; every round runs each of them `inner` times.

    Their order changes: who follows a copy finds L2 full of what it still has to write. `queued`: the GPU begins when
    the host has queued the runs, so that the first launches of a kernel, which take the host longer, are timed as
    later ones are. `before` runs before each timed run, so that L2 holds the same for all.
    """
    import torch

    for run in contenders.values():
        for _ in range(warmup):
            run()
    torch.cuda.synchronize()
    samples: dict[str, list[float]] = {who: [] for who in contenders}
    order = list(contenders.items())
    for number in range(rounds):
        first = number // 2 % len(order)
        turned = order[first:] + order[:first]
        for who, run in reversed(turned) if number % 2 else turned:
            start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            if queued:
                torch.cuda._sleep(HEAD_START)
            if before is not None:
                before()
            start.record()
            for _ in range(inner):
                run()
            stop.record()
            stop.synchronize()
            samples[who].append(start.elapsed_time(stop) * 1e3 / inner)
    return {who: statistics.median(times) for who, times in samples.items()}


def graph_of(run: Callable[[], Any]) -> Callable[[], Any]:
    """A run as a CUDA graph, which keeps the run and so its arrays; as it is where it cannot be captured."""
    import torch

    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run()
    except Exception as error:
        torch.cuda.synchronize()
        print(f"  (no graph: {type(error).__name__}: {str(error)[:120]})")
        return run

    def replay(of: Callable[[], Any] = run) -> None:
        graph.replay()

    return replay


def fastest(choices: dict[str, Callable[[], Any]], queued: bool = False) -> Callable[[], Any]:
    """The fastest here of several ways to do the same work, as a tuner picks it. Those that fail drop out.

    Each is timed as a CUDA graph: the first launches of a kernel can take the host longer than the GPU (0.5 ms more, on
    a busy host, for kernels of 1.1 ms), and then chance would choose.
    """
    working = {}
    for name, run in choices.items():
        try:
            run()
        except Exception as error:  # a contender that this machine refuses: too many registers, too much memory
            print(f"  (left out: {name}: {type(error).__name__})")
            continue
        working[name] = run
    graphs = {name: graph_of(run) for name, run in working.items()}
    times = alternate(graphs, rounds=9, warmup=2, inner=2, queued=queued)
    return working[min(times, key=lambda name: times[name])]


def triton_kernels() -> Any:
    """The module of Triton's contenders, None where Triton is not installed."""
    if importlib.util.find_spec("triton") is None:
        return None
    from benchmarks import triton_kernels

    return triton_kernels


def copier(nbytes: int) -> Callable[[], Any]:
    """A device copy that moves `nbytes` in total: half read, half written."""
    import torch

    source = torch.randint(0, 255, (nbytes // 2,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return lambda: target.copy_(source)
