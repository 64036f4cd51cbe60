"""A small transformer of library functions alone, with its gradients written out: rotary embedding, causal attention
with shared key heads, RMS norm, SwiGLU, cross-entropy, AdamW.

`Kernels()` computes it by the kernels, `References()` by their references in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright.kernels as tk

Params = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Extents of a model; the defaults are a toy."""

    vocabulary: int = 17
    width: int = 16
    heads: int = 2
    key_heads: int = 1
    hidden: int = 24
    layers: int = 2

    @property
    def d(self) -> int:
        return self.width // self.heads


class Kernels:
    """Library functions by name."""

    dtype: Any = np.float32

    def __getattr__(self, name: str) -> Any:
        return getattr(tk, name)


class References(Kernels):
    """Their references in the same places."""

    dtype = np.float64

    def __getattr__(self, name: str) -> Any:
        return getattr(tk, name).reference


def start(sizes: Sizes, rng: np.random.Generator) -> Params:
    """Parameters in float64."""
    d, w = sizes.d, sizes.width
    shapes = {"table": (sizes.vocabulary, w), "norm": (w,), "head": (sizes.vocabulary, w)}
    for layer in range(sizes.layers):
        shapes |= {f"{layer}.{name}": shape for name, shape in {
            "norm1": (w,), "q": (sizes.heads * d, w), "k": (sizes.key_heads * d, w), "v": (sizes.key_heads * d, w),
            "o": (w, sizes.heads * d), "norm2": (w,), "gate": (sizes.hidden, w), "up": (sizes.hidden, w),
            "down": (w, sizes.hidden)}.items()}
    return {name: np.ones(shape) if "norm" in name else rng.standard_normal(shape) / shape[-1]**0.5
            for name, shape in shapes.items()}


def angles(tokens: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of the rotary embedding."""
    angle = np.arange(tokens)[:, None] * 100.0 ** (-np.arange(d // 2) / (d // 2))
    return np.cos(angle), np.sin(angle)


def by_head(x: Any, d: int) -> Any:
    """(batch, tokens, heads * d) as (batch, heads, tokens, d): a view."""
    return x.reshape(*x.shape[:2], -1, d).transpose(0, 2, 1, 3)


def by_token(x: Any) -> Any:
    """The way back, contiguous."""
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(x.shape[0], x.shape[2], -1)


def step(ops: Kernels, p: Params, tokens: np.ndarray, labels: np.ndarray, sizes: Sizes) -> tuple[float, Params]:
    """The loss and the gradient of each parameter."""
    cos, sin = (x.astype(ops.dtype) for x in angles(tokens.shape[1], sizes.d))
    x, kept = ops.embedding(p["table"], tokens), []
    for layer in range(sizes.layers):
        x, saved = forward(ops, layer_of(p, layer), x, cos, sin, sizes.d)
        kept.append(saved)
    normal = ops.rms_norm(x, p["norm"])
    flat = normal.reshape(-1, sizes.width)
    logits = ops.linear(flat, p["head"])
    losses = ops.cross_entropy(logits, labels.reshape(-1))

    grads: Params = {}
    share = np.full(losses.shape, 1 / losses.size, ops.dtype)
    dlogits = ops.cross_entropy_backward(share, logits, labels.reshape(-1))
    dflat, grads["head"], _ = ops.linear_backward(dlogits, flat, p["head"])
    dx, grads["norm"], _ = ops.norm_backward(dflat.reshape(x.shape), x, p["norm"])
    for layer in reversed(range(sizes.layers)):
        dx, found = backward(ops, layer_of(p, layer), dx, kept[layer], cos, sin)
        grads |= {f"{layer}.{name}": g for name, g in found.items()}
    grads["table"] = ops.embedding_backward(dx, tokens, sizes.vocabulary, True)
    return float(losses.mean()), grads


def layer_of(p: Params, layer: int) -> Params:
    """The parameters of one layer by their short names."""
    return {name.partition(".")[2]: x for name, x in p.items() if name.startswith(f"{layer}.")}


def forward(ops: Kernels, p: Params, x: Any, cos: Any, sin: Any, d: int) -> tuple[Any, Params]:
    """One layer, and what its gradient needs."""
    n1 = ops.rms_norm(x, p["norm1"])
    q, k, v = (by_head(ops.linear(n1, p[name]), d) for name in "qkv")
    q, k = ops.rotary(q, cos, sin), ops.rotary(k, cos, sin)
    out, lse = ops.attention(q, k, v, True)
    mixed = by_token(out)
    middle = ops.linear(mixed, p["o"], None, x)
    n2 = ops.rms_norm(middle, p["norm2"])
    gate, up = ops.linear(n2, p["gate"]), ops.linear(n2, p["up"])
    hidden = ops.gated(gate, up)
    saved = dict(x=x, n1=n1, q=q, k=k, v=v, out=out, lse=lse, mixed=mixed, middle=middle, n2=n2, gate=gate, up=up,
                 hidden=hidden)
    return ops.linear(hidden, p["down"], None, middle), saved


def backward(ops: Kernels, p: Params, dx: Any, s: Params, cos: Any, sin: Any) -> tuple[Any, Params]:
    """The gradient of one layer's input, and of its parameters."""
    g: Params = {}
    dhidden, g["down"], _ = ops.linear_backward(dx, s["hidden"], p["down"])
    dgate, dup = ops.gated_backward(dhidden, s["gate"], s["up"])
    dn2, g["gate"], _ = ops.linear_backward(dgate, s["n2"], p["gate"])
    more, g["up"], _ = ops.linear_backward(dup, s["n2"], p["up"])
    dmiddle, g["norm2"], _ = ops.norm_backward(dn2 + more, s["middle"], p["norm2"], 1e-6, False, dx)
    dmixed, g["o"], _ = ops.linear_backward(dmiddle, s["mixed"], p["o"])
    dout = by_head(dmixed, s["q"].shape[-1])
    dq, dk, dv = ops.attention_backward(dout, None, s["q"], s["k"], s["v"], s["out"], s["lse"], True)
    dn1 = None
    for name, cotangent in (("q", ops.rotary(dq, cos, sin, True)), ("k", ops.rotary(dk, cos, sin, True)), ("v", dv)):
        part, g[name], _ = ops.linear_backward(by_token(cotangent), s["n1"], p[name])
        dn1 = part if dn1 is None else dn1 + part
    dx, g["norm1"], _ = ops.norm_backward(dn1, s["x"], p["norm1"], 1e-6, False, dmiddle)
    return dx, g


def train(ops: Kernels, p: Params, batches: Any, sizes: Sizes, rate: float = 1e-2) -> list[float]:
    """The loss of each step of AdamW."""
    p = {name: x.astype(ops.dtype) for name, x in p.items()}
    means, squares = ([np.zeros_like(x) for x in p.values()] for _ in range(2))
    losses = []
    for number, (tokens, labels) in enumerate(batches, 1):
        loss, grads = step(ops, p, tokens, labels, sizes)
        losses.append(loss)
        ops.adamw(list(p.values()), [grads[name] for name in p], means, squares, number, rate)
    return losses


def batches(steps: int, sizes: Sizes, batch: int = 4, tokens: int = 12) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sequences that count on by a step of their own: the next token follows from the two before."""
    rng = np.random.default_rng(3)
    out = []
    for _ in range(steps):
        first, by = rng.integers(0, sizes.vocabulary, (batch, 1)), rng.integers(1, 4, (batch, 1))
        text = (first + by * np.arange(tokens + 1)) % sizes.vocabulary
        out.append((text[:, :-1].astype(np.int32), text[:, 1:].astype(np.int32)))
    return out
