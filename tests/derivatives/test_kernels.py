"""Gradients of whole kernels in float64, beside the formulas of their gradients in NumPy."""

from __future__ import annotations

import os
from math import erf, pi, sqrt
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.differentiable import (
    attention,
    convolution,
    cross_entropy,
    embedding,
    gelu,
    layer_norm,
    linear_gelu,
    recurrence,
    rms_norm,
    rotary,
    softmax,
)
from support.gradcheck import gradients

import tilewright as tw

random = np.random.default_rng(11)
erf_of = np.vectorize(erf)


def normal(*shape: int) -> Any:
    return random.standard_normal(shape)


def close(found: list[Any], *wanted: Any) -> None:
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-12)


def gelu_and_slope(x: Any) -> tuple[Any, Any]:
    half = 0.5 * (1 + erf_of(x / sqrt(2)))
    return x * half, half + x * np.exp(-x * x / 2) / sqrt(2 * pi)


def test_gelu() -> None:
    x, g = normal(29), normal(29)
    close(gradients(gelu, (4,), {"x": x, "out": x}, ["x"], ["out"], [g]), g * gelu_and_slope(x)[1])


def softmax_of(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_softmax() -> None:
    x, g = normal(5, 13), normal(5, 13)
    p = softmax_of(x)
    found = gradients(softmax, (3,), {"x": x, "out": x, "N": 16}, ["x"], ["out"], [g])
    close(found, p * (g - (p * g).sum(1, keepdims=True)))


def test_layer_norm() -> None:
    x, w, b, g = normal(5, 13), normal(13), normal(13), normal(5, 13)
    arguments = {"x": x, "w": w, "b": b, "out": x, "eps": np.float64(1e-5), "N": 16}
    found = gradients(layer_norm, (3,), arguments, ["x", "w", "b"], ["out"], [g])
    scale = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)
    normed, inner = (x - x.mean(1, keepdims=True)) * scale, g * w
    dx = scale * (inner - inner.mean(1, keepdims=True) - normed * (inner * normed).mean(1, keepdims=True))
    close(found, dx, (g * normed).sum(0), g.sum(0))


def test_rms_norm() -> None:
    x, w, g = normal(4, 11), normal(11), normal(4, 11)
    found = gradients(rms_norm, (4,), {"x": x, "w": w, "out": x, "N": 16}, ["x", "w"], ["out"], [g])
    scale = 1 / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6)
    inner = g * w
    close(found, scale * inner - x * scale**3 * (inner * x).mean(1, keepdims=True), (g * x * scale).sum(0))


def test_linear_and_gelu() -> None:
    x, w, b, g = normal(7, 21), normal(21, 10), normal(10), normal(7, 10)
    arguments = {"x": x, "w": w, "b": b, "out": g, "TM": 4, "TN": 8, "TK": 8}
    found = gradients(linear_gelu, (2, 2), arguments, ["x", "w", "b"], ["out"], [g])
    d = g * gelu_and_slope(x @ w + b)[1]
    close(found, d @ w.T, x.T @ d, d.sum(0))


def test_cross_entropy() -> None:
    logits, labels, g = normal(5, 19), np.array([0, 18, 3, 7, 7], np.int32), normal(5)
    arguments = {"logits": logits, "labels": labels, "loss": g, "N": 8}
    found = gradients(cross_entropy, (5,), arguments, ["logits"], ["loss"], [g])
    close(found, g[:, None] * (softmax_of(logits) - np.eye(19)[labels]))


def test_rotary() -> None:
    x, angle, g = normal(5, 16), normal(5, 8), normal(5, 16)
    c, s, (ga, gb) = np.cos(angle), np.sin(angle), (g[:, :8], g[:, 8:])
    found = gradients(rotary, (3,), {"x": x, "cos": c, "sin": s, "out": x, "HALF": 8}, ["x"], ["out"], [g])
    close(found, np.hstack([ga * c + gb * s, gb * c - ga * s]))


def test_convolution() -> None:
    x, w, g = normal(23), normal(3), normal(21)
    found = gradients(convolution, (3,), {"x": x, "w": w, "out": g, "TAPS": 3}, ["x", "w"], ["out"], [g])
    close(found, np.convolve(g, w), np.correlate(x, g, "valid"))


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v, g = (normal(10, 8) for _ in range(4))
    arguments = {"q": q, "k": k, "v": v, "out": q, "SCALE": 0.35, "D": 8, "CAUSAL": causal}
    found = gradients(attention, (3,), arguments, ["q", "k", "v"], ["out"], [g])
    s = q @ k.T * 0.35
    p = softmax_of(np.where(np.tri(10) > 0, s, -np.inf) if causal else s)
    dp = g @ v.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True)) * 0.35
    close(found, ds @ k, ds.T @ q, p.T @ g)


def test_scan() -> None:
    a, b, g = normal(3, 8), normal(3, 8), normal(3, 8)
    h, w = np.zeros((3, 9)), np.zeros((3, 9))
    for t in range(8):
        h[:, t + 1] = a[:, t] * h[:, t] + b[:, t]
    for t in range(7, -1, -1):
        w[:, t] = g[:, t] + (a[:, t + 1] * w[:, t + 1] if t < 7 else 0)
    found = gradients(recurrence, (3,), {"a": a, "b": b, "out": g, "T": 8}, ["a", "b"], ["out"], [g])
    close(found, w[:, :8] * h[:, :8], w[:, :8])


def test_embedding_adds_up_equal_rows() -> None:
    table, rows, g = normal(6, 8), np.array([1, 4, 1, 1, 0, 4, 4, 1], np.int32), normal(8, 8)
    want = np.zeros((6, 8))
    np.add.at(want, rows, g)
    close(gradients(embedding, (2,), {"table": table, "rows": rows, "out": g}, ["table"], ["out"], [g]), want)


SPECS: dict[str, tuple[tw.tile_kernel, str, tuple[Any, ...], tuple[str, ...], str]] = {
    "softmax": (softmax, "f32[?,64] f32[?,64]", (64,), ("x",), "out"),
    "layer_norm": (layer_norm, "f32[?,64] f32[64] f32[64] f32[?,64] f32", (64,), ("x", "w", "b"), "out"),
    "linear_gelu": (linear_gelu, "f32[64,64] f32[64,64] f32[64] f32[64,64]", (64, 64, 32), ("x", "w", "b"), "out"),
    "cross_entropy": (cross_entropy, "f32[?,256] i32[?] f32[?]", (64,), ("logits",), "loss"),
    "attention": (attention, "f32[64,32] f32[64,32] f32[64,32] f32[64,32]", (0.35, 32, True), ("q", "k", "v"), "out"),
    "recurrence": (recurrence, "f32[?,64] f32[?,64] f32[?,64]", (64,), ("a", "b"), "out"),
    "rms_norm": (rms_norm, "f32[?,64] f32[64] f32[?,64]", (64,), ("x", "w"), "out"),
    "rotary": (rotary, "f32[?,64] f32[?,32] f32[?,32] f32[?,64]", (32,), ("x",), "out"),
    "convolution": (convolution, "f32[?] f32[?] f32[?]", (3,), ("x", "w"), "out"),
}


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", SPECS)
def test_they_assemble(name: str, target: str) -> None:
    """The derived kernels compile for both targets; ptxas takes them, where there is one."""
    from tilewright.backend_ptx.runtime.ptxas import has_ptxas

    kernel, specs, constants, wrt, output = SPECS[name]
    given = [tw.spec(text) for text in specs.split()]
    names = [p.name for p in kernel.specialiser.params]
    extra = [given[names.index(n)] for n in (output, *wrt)]
    stages = tw.grad(kernel, wrt=wrt, outputs=output).lower(*given, *constants, *extra, target=target)
    assert f".target {target}" in stages.compiled.ptx
    assert not has_ptxas() or stages.cubin().startswith(b"\x7fELF")


def small(*shape: int) -> Any:
    return normal(*shape).astype(np.float32)


SIMULATED: dict[str, tuple[tuple[Any, ...], int]] = {
    "linear_gelu": ((small(5, 11), small(11, 6), small(6), small(5, 6), 8, 8, 8), 1),
    "layer_norm": ((small(5, 13), small(13), small(13), small(5, 13), np.float32(1e-5), 16), 3),
    "cross_entropy": ((small(3, 19), np.array([0, 18, 7], np.int32), small(3), 8), 3),
    "softmax": ((small(5, 13), small(5, 13), 16), 3),
    "rms_norm": ((small(4, 11), small(11), small(4, 11), 16), 4),
    "rotary": ((small(5, 16), small(5, 8), small(5, 8), small(5, 16), 8), 3),
    "convolution": ((small(23), small(3), small(21), 3), 3),
    "recurrence": ((small(3, 8), small(3, 8), small(3, 8), 8), 3),
    "attention": ((small(6, 8), small(6, 8), small(6, 8), small(6, 8), 0.35, 8, True), 2),
}
ALWAYS = ("linear_gelu", "layer_norm", "cross_entropy")
"""With matrix products, a loop and atomic additions; sums over columns and rows; values that a loop carries."""


@pytest.mark.parametrize("name", SIMULATED if os.environ.get("TILEWRIGHT_THOROUGH") else ALWAYS)
def test_they_run_in_the_simulator(name: str) -> None:
    """The GPU code of derived kernels, beside the interpreter; `make derivatives` runs those that are not here."""
    values, blocks = SIMULATED[name]
    kernel, _, _, wrt, output = SPECS[name]
    arguments = dict(zip((p.name for p in kernel.specialiser.params), values, strict=True))
    g = small(*arguments[output].shape)
    want = gradients(kernel, (blocks,), arguments, wrt, [output], [g], np.float32)
    made = [np.zeros_like(arguments[n]) for n in wrt]
    tw.grad(kernel, wrt=wrt, outputs=output).simulate((blocks,), *values, g, *made, target="sm_80")
    for got, wanted in zip(made, want, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype, bound", [(np.float16, 2.0**-8), (ml_dtypes.bfloat16, 2.0**-5), (np.float32, 2.0**-19)])
def test_narrow_arrays_beside_float64(dtype: Any, bound: float) -> None:
    """A float32 gradient of narrow arrays, against the float64 gradient at the same values: the error is that of
    adjoints rounded to the dtype, relative to the largest gradient."""
    x, w, b, g = (normal(*shape).astype(dtype) for shape in ((6, 16), (16,), (16,), (6, 16)))

    def of(kind: Any, x: Any, w: Any, b: Any, g: Any) -> list[Any]:
        given = {"x": x, "w": w, "b": b, "out": np.zeros_like(x), "eps": kind(1e-5), "N": 16}
        return gradients(layer_norm, (3,), given, ["x", "w", "b"], ["out"], [g], kind)

    exact = of(np.float64, *(a.astype(np.float64) for a in (x, w, b, g)))
    for got, want in zip(of(np.float32, x, w, b, g), exact, strict=True):
        assert np.abs(got - want).max() <= bound * np.abs(want).max()
