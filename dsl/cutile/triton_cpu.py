"""triton.testing's clock. Programs of cuTile measure by it, whether or not they have kernels of Triton.

Triton must be installed where the program imports it; its own kernels need a GPU.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tilewright.cutile import device
from tilewright.cutile.log import substituted

SUMMARIES: dict[str, Callable[[Sequence[float]], Any]] = {
    "min": min, "max": max, "mean": statistics.mean, "median": statistics.median, "all": list}


def patch(testing: Any) -> None:
    """Change triton.testing in place."""
    for name in ("do_bench", "do_bench_cudagraph"):
        setattr(testing, name, _by_the_cpu(f"triton.testing.{name}()"))


def _by_the_cpu(label: str) -> Callable[..., Any]:
    def bench(fn: Callable[[], Any], *windows: Any, grad_to_none: Iterable[Any] | None = None,
              quantiles: Sequence[float] | None = None, return_mode: str = "mean", **options: Any) -> Any:
        """Milliseconds of `fn`, of 10 runs: their mean or what `return_mode` asks for, or these quantiles."""
        substituted(label, "10 runs by the CPU's clock")

        def run() -> None:
            for tensor in grad_to_none or ():
                tensor.grad = None
            fn()

        times = [1e3 * seconds for seconds in device.times_of(run, 1, 10)]
        if quantiles is None:
            return SUMMARIES[return_mode](times)
        found = [_quantile(sorted(times), at) for at in quantiles]
        return found[0] if len(found) == 1 else found

    return bench


def _quantile(ordered: list[float], at: float) -> float:
    whole, part = divmod(at * (len(ordered) - 1), 1)
    below, above = ordered[int(whole)], ordered[min(int(whole) + 1, len(ordered) - 1)]
    return below + part * (above - below)
