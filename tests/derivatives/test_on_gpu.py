"""Derived gradients on a GPU, beside torch's, and a network that is trained by derived gradients alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.differentiable import (
    attention,
    convolution,
    cross_entropy,
    layer_norm,
    linear_gelu,
    recurrence,
    rms_norm,
    rotary,
    softmax,
)

import tilewright as tw

pytestmark = pytest.mark.gpu
BOUND = 1e-4  # of the largest element of a gradient, in float32


@pytest.fixture
def torch(request: pytest.FixtureRequest) -> Any:
    """torch with CUDA; it is no dependency of ours, so its absence is a skip unless GPU tests are required."""
    try:
        import torch as module
    except ImportError:
        module = None
    if module is None or not module.cuda.is_available():
        refuse = pytest.fail if request.config.getoption("--require-gpu") else pytest.skip
        refuse("there is no torch that sees a GPU")
    return module


class Case(NamedTuple):
    """A kernel, its arguments (shapes stand for random arrays), and what torch computes of those in `wrt`."""

    kernel: tw.tile_kernel
    grid: tuple[int, ...]
    arguments: dict[str, Any]
    wrt: tuple[str, ...]
    output: str
    theirs: Callable[[Any, dict[str, Any]], Any]


def scanned(torch: Any, a: Any, b: Any) -> Any:
    h, out = torch.zeros_like(b[:, 0]), []
    for t in range(b.shape[1]):
        h = a[:, t] * h + b[:, t]
        out.append(h)
    return torch.stack(out, 1)


def turned(torch: Any, x: Any, c: Any, s: Any) -> Any:
    first, second = x.chunk(2, 1)
    return torch.cat([first * c - second * s, second * c + first * s], 1)


CASES = {
    "softmax": Case(softmax, (100,), {"x": (200, 250), "out": (200, 250), "N": 256}, ("x",), "out",
                    lambda torch, t: torch.softmax(t["x"], 1)),
    "layer_norm": Case(
        layer_norm, (100,), {"x": (200, 250), "w": (250,), "b": (250,), "out": (200, 250), "eps": 1e-5, "N": 256},
        ("x", "w", "b"), "out",
        lambda torch, t: torch.nn.functional.layer_norm(t["x"], (250,), t["w"], t["b"], 1e-5)),
    "rms_norm": Case(rms_norm, (200,), {"x": (200, 250), "w": (250,), "out": (200, 250), "N": 256}, ("x", "w"), "out",
                     lambda torch, t: torch.nn.functional.rms_norm(t["x"], (250,), t["w"], 1e-6)),
    "linear_gelu": Case(
        linear_gelu, (4, 3), {"x": (200, 100), "w": (100, 150), "b": (150,), "out": (200, 150), "TM": 64, "TN": 64,
                              "TK": 32}, ("x", "w", "b"), "out",
        lambda torch, t: torch.nn.functional.gelu(t["x"] @ t["w"] + t["b"])),
    "cross_entropy": Case(
        cross_entropy, (200,), {"logits": (200, 1000), "labels": None, "loss": (200,), "N": 256}, ("logits",), "loss",
        lambda torch, t: torch.nn.functional.cross_entropy(t["logits"], t["labels"].long(), reduction="none")),
    "rotary": Case(rotary, (100,), {"x": (200, 64), "cos": (200, 32), "sin": (200, 32), "out": (200, 64), "HALF": 32},
                   ("x", "cos", "sin"), "out", lambda torch, t: turned(torch, t["x"], t["cos"], t["sin"])),
    "convolution": Case(
        convolution, (25,), {"x": (202,), "w": (3,), "out": (200,), "TAPS": 3}, ("x", "w"), "out",
        lambda torch, t: torch.nn.functional.conv1d(t["x"][None, None], t["w"][None, None])[0, 0]),
    "attention": Case(
        attention, (25,), {"q": (100, 32), "k": (100, 32), "v": (100, 32), "out": (100, 32), "SCALE": 32**-0.5, "D": 32,
                           "CAUSAL": True}, ("q", "k", "v"), "out",
        lambda torch, t: torch.nn.functional.scaled_dot_product_attention(
            t["q"][None, None], t["k"][None, None], t["v"][None, None], is_causal=True)[0, 0]),
    "recurrence": Case(recurrence, (50,), {"a": (50, 64), "b": (50, 64), "out": (50, 64), "T": 64}, ("a", "b"), "out",
                       lambda torch, t: scanned(torch, t["a"], t["b"])),
}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_torch(torch: Any, name: str) -> None:
    case = CASES[name]
    torch.manual_seed(7)
    given = {key: torch.randn(value, device="cuda") if isinstance(value, tuple) else value
             for key, value in case.arguments.items()}
    if "labels" in given:
        given["labels"] = torch.randint(0, 1000, (200,), device="cuda", dtype=torch.int32)
    if name == "recurrence":
        given["a"] = torch.tanh(given["a"])
    cotangent = torch.randn_like(given[case.output])
    found = [torch.zeros_like(given[key]) for key in case.wrt]
    tw.grad(case.kernel, wrt=case.wrt, outputs=case.output)[case.grid](*given.values(), cotangent, *found)
    exact = {key: value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
             for key, value in given.items()}
    inputs = [exact[key].requires_grad_() for key in case.wrt]
    want = torch.autograd.grad(case.theirs(torch, exact), inputs, cotangent.double())
    for key, one, other in zip(case.wrt, found, want, strict=True):
        assert float((one - other).abs().max()) <= BOUND * float(other.abs().max()), key


def test_residuals_and_gradients_that_are_stored(torch: Any) -> None:
    """A running maximum begun from the logarithm of the sum that the forward kernel has stored."""
    from benchmarks import derivative_kernels as forward

    torch.manual_seed(8)
    heads, tokens, d = 3, 200, 64
    q, k, v, g = (torch.randn(heads, tokens, d, device="cuda", dtype=torch.bfloat16) for _ in range(4))
    out, lse = torch.empty_like(q), torch.empty(heads, tokens, device="cuda")
    grid, rest = (tw.cdiv(tokens, 64), heads), (d**-0.5, 64, 64, d, True)
    forward.attention[grid](q, k, v, out, lse, *rest)
    dq, dk, dv = torch.empty_like(q), *(torch.zeros(k.shape, device="cuda") for _ in range(2))
    backward = tw.grad(forward.attention, wrt=("q", "k", "v"), outputs="out", residuals=("out", "lse"), overwrite="q")
    backward[grid](q, k, v, out, lse, *rest, g, dq, dk, dv)
    inputs = [t.float().requires_grad_() for t in (q, k, v)]
    want = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=True)
    for one, other in zip((dq, dk, dv), torch.autograd.grad(want, inputs, g.float()), strict=True):
        assert float((one.float() - other).abs().max()) <= 2.0**-5 * float(other.abs().max())


def test_a_network_is_trained(torch: Any) -> None:
    """linear + GELU, linear, cross-entropy: 30 steps with derived gradients, losses beside torch's to 1e-3."""
    torch.manual_seed(9)
    rows, columns, hidden, classes, rate = 128, 20, 32, 10, 0.5
    x = torch.randn(rows, columns, device="cuda")
    labels = torch.randint(0, classes, (rows,), device="cuda", dtype=torch.int32)
    start = [torch.randn(columns, hidden, device="cuda") / columns**0.5, torch.zeros(hidden, device="cuda"),
             torch.randn(hidden, classes, device="cuda") / hidden**0.5, torch.zeros(classes, device="cuda")]
    names = ("x", "w", "b")
    back = [tw.grad(linear_gelu, wrt=names, outputs="out"), tw.grad(linear_gelu, wrt=names, outputs="out"),
            tw.grad(cross_entropy, wrt="logits", outputs="loss")]
    w1, b1, w2, b2 = (t.clone() for t in start)
    theirs = [t.clone().requires_grad_() for t in start]
    tiles = (32, 16, 8)

    def grid(n: int) -> tuple[int, int]:
        return tw.cdiv(rows, tiles[0]), tw.cdiv(n, tiles[1])

    losses = []
    for _ in range(30):
        h, logits, loss = (torch.empty(*s, device="cuda") for s in ((rows, hidden), (rows, classes), (rows,)))
        linear_gelu[grid(hidden)](x, w1, b1, h, *tiles)
        linear_gelu[grid(classes)](h, w2, b2, logits, *tiles)
        cross_entropy[(rows,)](logits, labels, loss, 16)
        ours = float(loss.mean())
        g = torch.full((rows,), 1 / rows, device="cuda")
        dlogits, dh, dx, *dw = (torch.zeros_like(t) for t in (logits, h, x, w1, b1, w2, b2))
        back[2][(rows,)](logits, labels, loss, 16, g, dlogits)
        back[1][grid(classes)](h, w2, b2, logits, *tiles, dlogits, dh, dw[2], dw[3])
        back[0][grid(hidden)](x, w1, b1, h, *tiles, dh, dx, dw[0], dw[1])
        for value, gradient in zip((w1, b1, w2, b2), dw, strict=True):
            value -= rate * gradient
        gelu = torch.nn.functional.gelu
        made = gelu(gelu(x @ theirs[0] + theirs[1]) @ theirs[2] + theirs[3])
        want = torch.nn.functional.cross_entropy(made, labels.long())
        with torch.no_grad():
            for value, gradient in zip(theirs, torch.autograd.grad(want, theirs), strict=True):
                value -= rate * gradient
        losses.append((ours, float(want)))
    assert all(abs(one - other) <= 1e-3 for one, other in losses) and losses[-1][0] < 0.9 * losses[0][0]
    assert np.isfinite(losses).all()
