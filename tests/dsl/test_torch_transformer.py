"""A transformer of library functions trains as one of torch's functions does; the two in one graph each."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.optional import optional
from support.small_transformer import Sizes, batches, start

import tilewright.kernels as tk

torch = optional("torch")
from support.torch_transformer import Library, Torch, Transformer  # noqa: E402  # it imports torch

SIZES, TOKENS = Sizes(), 12
tk.register_all()


def losses(by: type[Library], steps: int, compiled: bool = False) -> list[float]:
    model = Transformer(SIZES, start(SIZES, np.random.default_rng(1)), by, TOKENS, "cpu", torch.float32)
    loss_of: Any = torch.compile(model, fullgraph=True, backend="aot_eager") if compiled else model
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    out = []
    for tokens, labels in batches(steps, SIZES):
        loss = loss_of(torch.from_numpy(tokens).long(), torch.from_numpy(labels).long())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        out.append(float(loss.detach()))
    return out


def test_fifty_steps() -> None:
    mine, theirs = losses(Library, 50), losses(Torch, 50)
    assert np.abs(np.array(mine) - theirs).max() < 1e-3
    assert mine[-1] < mine[0] / 3


def test_one_graph() -> None:
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    np.testing.assert_allclose(losses(Library, 3, compiled=True), losses(Torch, 3), atol=1e-4)
    assert not torch._dynamo.utils.counters["graph_break"]
