"""Kernels in programs of torch: what a call of an operator costs the host, and a small transformer's training steps.

`python -m benchmarks integration`. The transformer is that of the tests, by functions of tilewright.kernels or by
torch's own, each eager and under torch.compile; both sides take torch's fused AdamW. Losses are compared.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tilewright as tw
from benchmarks._check import require
from benchmarks._timing import alternate

TESTS = str(Path(__file__).parents[1] / "tests")
STEPS, BATCH, TOKENS = 50, 4, 2048
CALLS, TURNS = 100, 40


@tw.tile_kernel
def double(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) * 2.0)


def by_launch(x: Any) -> Any:
    import torch

    out = torch.empty_like(x)
    double[(1,)](x, out, 256)
    return out


def by_nothing(x: Any) -> Any:
    import torch

    return torch.empty_like(x)


def twice(g: Any) -> Any:
    """A gradient that costs one addition of torch."""
    return g + g


def registered() -> tuple[Any, Any]:
    """Our operator, and an empty one that torch.library registers: both allocate their result and keep their argument
    for the backward pass."""
    import torch

    for function in (by_launch, by_nothing):
        function.__annotations__ = {"x": torch.Tensor, "return": torch.Tensor}
    ours = tw.torch.op("benchmarks::launch", backward=_backward)(by_launch)
    empty = torch.library.custom_op("benchmarks::nothing", by_nothing, mutates_args=())
    empty.register_fake(by_nothing)
    empty.register_autograd(lambda ctx, g: _backward(g, *ctx.saved_tensors),
                            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return ours, empty


def _backward(grad: Any, x: Any) -> Any:
    return twice(grad)


def microseconds(sides: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The host's time for a call of each: the least of several turns, since other work of the host only adds to it.
    They alternate, and the GPU is idle when a turn begins."""
    import torch

    samples: dict[str, list[float]] = {who: [] for who in sides}
    for number in range(TURNS + 2):
        for who, run in sides.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(CALLS):
                run()
            if number > 1:
                samples[who].append((time.perf_counter() - start) / CALLS * 1e6)
    return {who: min(times) for who, times in samples.items()}


def calls() -> Iterator[str]:
    import torch

    ours, empty = registered()
    x = torch.ones(256, device="cuda")
    assert (ours(x) == 2).all()
    with torch.no_grad():
        times = microseconds({"op": lambda: ours(x), "function": lambda: by_launch(x), "empty op": lambda: empty(x),
                              "empty function": lambda: by_nothing(x)})
    yield _said("without gradients", times)
    xr, g = x.clone().requires_grad_(), torch.ones_like(x)
    times = microseconds({"op": lambda: ours(xr), "function": lambda: by_launch(x), "empty op": lambda: empty(xr),
                          "empty function": lambda: by_nothing(x)})
    yield _said("recording gradients", times)
    times = microseconds({"op": lambda: torch.autograd.grad(ours(xr), xr, g),
                          "function": lambda: (by_launch(x), twice(g)),
                          "empty op": lambda: torch.autograd.grad(empty(xr), xr, g),
                          "empty function": lambda: (by_nothing(x), twice(g))})
    yield _said("with a backward pass", times)


def _said(what: str, times: dict[str, float]) -> str:
    over = times["op"] - times["function"] - (times["empty op"] - times["empty function"])
    listed = ", ".join(f"{who} {us:.1f} us" for who, us in times.items())
    return f"call of an operator, {what}: {listed}; as an operator {over:.1f} us more than the empty one"


class Training:
    """A model, its optimiser and its batch: a step gives the loss."""

    def __init__(self, by: Any, mode: str | None, sizes: Any, params: Any):
        import torch
        from support.torch_transformer import Transformer

        model = Transformer(sizes, params, by, TOKENS, "cuda", torch.bfloat16)
        self.model: Any = torch.compile(model, fullgraph=True, mode=mode) if mode else model
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(self, tokens: Any, labels: Any) -> Any:
        loss = self.model(tokens, labels)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()
        return loss.detach()


def training() -> Iterator[str]:
    import numpy as np
    import torch

    sys.path.insert(0, TESTS)
    from support.small_transformer import Sizes, start
    from support.torch_transformer import Library, Torch

    import tilewright.kernels as tk

    tk.register_all()
    sizes = Sizes(vocabulary=32000, width=2048, heads=16, key_heads=4, hidden=5632)
    rng = np.random.default_rng(1)
    params = start(sizes, rng)
    batches = torch.from_numpy(rng.integers(0, sizes.vocabulary, (STEPS, BATCH, TOKENS + 1))).cuda()
    modes = {"": None, ", compiled": "default", ", in graphs": "reduce-overhead"}
    sides = {who + what: Training(by, mode, sizes, params)
             for what, mode in modes.items() for who, by in (("ours", Library), ("torch", Torch))}
    losses = {}
    for who, side in sides.items():
        losses[who] = [float(side.step(b[:, :-1], b[:, 1:])) for b in batches]
        apart = max(abs(one - other) for one, other in zip(losses[who], losses["ours"], strict=True))
        yield f"training, {who}: loss {losses[who][0]:.4f} to {losses[who][-1]:.4f}, {apart:.2g} from ours at most"
    b = batches[0]
    times = alternate({who: lambda side=side: side.step(b[:, :-1], b[:, 1:]) for who, side in sides.items()}, rounds=9,
                      inner=2)
    for what in modes:
        yield (f"step of a transformer of {sizes.layers} layers, {BATCH} x {TOKENS} tokens, bfloat16{what}: ours "
               f"{times['ours' + what] / 1e3:.2f} ms, torch {times['torch' + what] / 1e3:.2f} ms, ratio "
               f"{times['torch' + what] / times['ours' + what]:.3f}")
    counters = torch._dynamo.utils.counters
    broken = sum(counters["graph_break"].values()), counters["inductor"]["cudagraph_skips"]
    require(f"{broken[0]} graphs broken, {broken[1]} without a CUDA graph", broken == (0, 0))


def rows() -> Iterator[str]:
    yield from calls()
    yield from training()
