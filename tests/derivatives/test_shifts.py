"""Running maxima that outputs do not depend on: which are found, what becomes of their loops, and residuals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.differentiable import attention, cross_entropy, softmax
from support.gradcheck import gradients

import tilewright as tw
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.reduce import ReduceMax, ReduceSum

random = np.random.default_rng(31)
LOW = tw.PaddingMode.NEG_INF


def normal(*shape: int) -> Any:
    return random.standard_normal(shape)


def derived(kernel: tw.tile_kernel, given: dict[str, Any], wrt: tuple[str, ...], output: str, **options: Any) -> Any:
    backward = tw.grad(kernel, wrt=wrt, outputs=output, **options)
    extra = (given[output], *(given[name] for name in wrt))
    return backward.lower(*given.values(), *(array.copy() for array in extra)).tile_ir()


def decisions(function: Any) -> str:
    return "\n".join(f"{d.name}: {d.value}: {d.reason}" for d in function.decisions)


Step = Callable[[Any, Any, Any, Any], tuple[Any, Any, Any]]


def sums(step: Step, last: Callable[[Any, Any, Any], Any]) -> tw.tile_kernel:
    """A kernel over rows: `step` makes of a maximum, a total and a tile the next ones, `last` the result of both."""

    @tw.tile_kernel
    def kernel(x, out):
        i = tw.bid(0)
        top, total = tw.full((1, 1), -1e30, x.dtype), tw.zeros((1, 1), x.dtype)
        for k in range(tw.cdiv(x.shape[1], 4)):
            t = tw.load(x, (i, k), (1, 4), padding_mode=LOW)
            top, total = step(top, total, t, x.shape[1])
        tw.store(out, i, last(top, total, x.shape[1]).reshape((1,)))

    return kernel


def natural(top: Any, total: Any, t: Any, n: Any) -> Any:
    higher = tw.maximum(tw.max(t, axis=1, keepdims=True), top)
    return higher, total * tw.exp(top - higher) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)


def of_two(top: Any, total: Any, t: Any, n: Any) -> Any:
    """With a factor that only a launch knows, in powers of two."""
    factor = 0.5 / n
    higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
    weight = tw.exp2(t * factor - higher * factor)
    return higher, total * tw.exp2((top - higher) * factor) + tw.sum(weight, axis=1, keepdims=True)


def guarded(top: Any, total: Any, t: Any, n: Any) -> Any:
    higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
    base = tw.where(higher == -float("inf"), 0.0, higher)
    return higher, total * tw.exp(top - base) + tw.sum(tw.exp(t - base), axis=1, keepdims=True)


def log_of(top: Any, total: Any, n: Any = 0) -> Any:
    return top + tw.log(total)


def twice_the_top(top: Any, total: Any, n: Any) -> Any:
    return log_of(top, total) + top


def the_total(top: Any, total: Any, n: Any) -> Any:
    return total


def scaled_otherwise(top: Any, total: Any, t: Any, n: Any) -> Any:
    higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
    return higher, total * tw.exp(2.0 * (top - higher)) + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)


def not_scaled(top: Any, total: Any, t: Any, n: Any) -> Any:
    higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
    return higher, total + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)


def asked_for(top: Any, total: Any, t: Any, n: Any) -> Any:
    higher = tw.maximum(top, tw.max(t, axis=1, keepdims=True))
    kept = tw.where(higher > 1.0, total, total * tw.exp(top - higher))
    return higher, kept + tw.sum(tw.exp(t - higher), axis=1, keepdims=True)


def log2_of(top: Any, total: Any, n: Any) -> Any:
    return top * (0.5 / n) + tw.log2(total)


FACTOR = float(np.float32(0.5) / np.float32(9)) * np.log(2)
FOUND = {
    "natural": (sums(natural, log_of), lambda x: np.log(np.exp(x).sum(1)), lambda x: softmax_of(x)),
    "powers of two": (sums(of_two, log2_of), lambda x: np.log2(np.exp(x * FACTOR).sum(1)),
                      lambda x: softmax_of(x * FACTOR) * FACTOR / np.log(2)),
    "guarded": (sums(guarded, log_of), lambda x: np.log(np.exp(x).sum(1)), lambda x: softmax_of(x)),
}


def softmax_of(x: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


@pytest.mark.parametrize("name", FOUND)
def test_a_loop_begins_with_the_last_maximum(name: str) -> None:
    """No iteration recomputes what the loop carries, and gradients are those of the formula."""
    kernel, forward, slope = FOUND[name]
    x, g = normal(3, 9), normal(3)
    out = np.zeros(3)
    kernel[3](x, out)
    np.testing.assert_allclose(out, forward(x), rtol=1e-12)
    [found] = gradients(kernel, (3,), {"x": x, "out": out}, ["x"], ["out"], [g])
    np.testing.assert_allclose(found, g[:, None] * slope(x), rtol=1e-11, atol=1e-13)
    function = derived(kernel, {"x": x, "out": out}, ("x",), "out")
    loops = [op for op in function.walk() if isinstance(op, For)]
    assert all(op in function.body.ops for op in loops) and len(loops) == 3
    assert "carried_values: top: by a loop of its own" in decisions(function)


NOT_FOUND = {
    "the maximum is a result": sums(natural, twice_the_top), "the total is": sums(natural, the_total),
    "it is scaled with another factor": sums(scaled_otherwise, log_of),
    "a term is not scaled": sums(not_scaled, log_of),
    "a condition asks for it": sums(asked_for, log_of),
}


@pytest.mark.parametrize("name", NOT_FOUND)
def test_outputs_that_depend_on_the_maximum(name: str) -> None:
    kernel, x, g = NOT_FOUND[name], normal(2, 9), normal(2)
    function = derived(kernel, {"x": x, "out": g}, ("x",), "out")
    assert "top:" not in decisions(function)
    [found] = gradients(kernel, (2,), {"x": x, "out": g}, ["x"], ["out"], [g])
    step, out = 1e-6, [np.zeros(2), np.zeros(2)]
    way = normal(2, 9)
    kernel[2](x + step * way, out[0])
    kernel[2](x - step * way, out[1])
    np.testing.assert_allclose((found * way).sum(), (g * (out[0] - out[1])).sum() / (2 * step), rtol=1e-6)


def test_the_maximum_of_a_tile_is_a_constant_where_outputs_do_not_depend_on_it() -> None:
    x = normal(4, 16)
    function = derived(softmax, {"x": x, "out": x, "N": 16}, ("x",), "out")
    assert sum(isinstance(op, ReduceMax) for op in function.walk()) == 1
    # The sums of the exponentials, and of their adjoints: none counts the elements that are the maximum.
    assert sum(isinstance(op, ReduceSum) for op in function.walk()) == 2


def lse_kernel() -> tw.tile_kernel:
    @tw.tile_kernel
    def kernel(x, loss, lse):
        i = tw.bid(0)
        top, total = tw.full((1, 1), -1e30, tw.float64), tw.zeros((1, 1), tw.float64)
        for k in range(tw.cdiv(x.shape[1], 4)):
            top, total = natural(top, total, tw.load(x, (i, k), (1, 4), padding_mode=LOW), 0)
        result = log_of(top, total).reshape((1,))
        tw.store(lse, i, result)
        tw.store(loss, i, result * 2.0)

    return kernel


def test_a_residual_begins_a_loop() -> None:
    """The logarithm of the sum stands for the maximum: the gradient has one loop, and none for the maximum."""
    kernel, x, g, loss, lse, x_grad = lse_kernel(), normal(3, 9), normal(3), np.zeros(3), np.zeros(3), np.zeros((3, 9))
    kernel[3](x, loss, lse)
    backward = tw.grad(kernel, wrt="x", outputs="loss", residuals="lse")
    assert backward.roles.residuals == ("lse",)
    backward[3](x, loss, lse, g, x_grad)
    np.testing.assert_allclose(x_grad, 2 * g[:, None] * softmax_of(x), rtol=1e-11)
    function = derived(kernel, {"x": x, "loss": loss, "lse": lse}, ("x",), "loss", residuals="lse")
    assert sum(isinstance(op, For) for op in function.walk()) == 1
    assert "carried_values: top: from the residual lse" in decisions(function)


def kept_attention() -> tw.tile_kernel:
    """With the logarithms of the sums of its weights, in powers of two."""

    @tw.tile_kernel
    def kernel(q, k, v, out, lse, scale):
        i = tw.bid(0)
        rows, factor = tw.load(q, (i, 0), (4, 8), padding_mode=tw.PaddingMode.ZERO), scale * 1.4426950408889634
        top, total = tw.full((4, 1), -1e30, q.dtype), tw.zeros((4, 1), q.dtype)
        acc = tw.zeros((4, 8), q.dtype)
        for j in range(i + 1):
            keys = tw.load(k, (j, 0), (4, 8), padding_mode=tw.PaddingMode.ZERO)
            s = tw.mma(rows, tw.transpose(keys), tw.zeros((4, 4), q.dtype))
            column, row = tw.arange(4, dtype=tw.int32)[None, :] + j * 4, tw.arange(4, dtype=tw.int32)[:, None] + i * 4
            s = tw.where(column <= row, s, -1e30)
            higher = tw.maximum(top, tw.max(s, axis=1, keepdims=True))
            p, shrink = tw.exp2(s * factor - higher * factor), tw.exp2((top - higher) * factor)
            total = total * shrink + tw.sum(p, axis=1, keepdims=True)
            acc = tw.mma(p, tw.load(v, (j, 0), (4, 8), padding_mode=tw.PaddingMode.ZERO), acc * shrink)
            top = higher
        tw.store(out, (i, 0), acc / total)
        tw.store(lse, i, (top * factor + tw.log2(total)).reshape((4,)))

    return kernel


@pytest.mark.parametrize("residuals", [(), ("lse",), ("out", "lse"), ("out",)])
def test_attention_with_residuals(residuals: tuple[str, ...]) -> None:
    kernel = kept_attention()
    q, k, v, g = (normal(10, 8) for _ in range(4))
    out, lse, made = np.zeros((10, 8)), np.zeros(10), [np.zeros((10, 8)) for _ in range(3)]
    scale, slope = 0.25, float(np.float32(0.25) * np.float32(1.4426950408889634)) * np.log(2)
    kernel[3](q, k, v, out, lse, scale)
    tw.grad(kernel, wrt=("q", "k", "v"), outputs="out", residuals=residuals)[3](q, k, v, out, lse, scale, g, *made)
    p = softmax_of(np.where(np.tri(10) > 0, q @ k.T * slope, -np.inf))
    dp = g @ v.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True)) * slope
    for got, want in zip(made, (ds @ k, ds.T @ q, p.T @ g), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)
    given = {"q": q, "k": k, "v": v, "out": out, "lse": lse, "scale": scale}
    function = derived(kernel, given, ("q", "k", "v"), "out", residuals=residuals)
    # Both residuals leave the products that adjoints need: scores, weights' adjoints, and one for each gradient.
    least = {("out", "lse"): 5, ("lse",): 7, ("out",): 7, (): 8}[residuals]
    assert sum(isinstance(op, Mma) for op in function.walk()) == least


def test_narrow_residuals_and_gradients_that_are_stored() -> None:
    """bfloat16 in the interpreter, beside float64: the bound is the rounding of scores and results."""
    from benchmarks import derivative_kernels as forward

    q, k, v, g = (normal(1, 24, 16).astype(ml_dtypes.bfloat16) for _ in range(4))
    out, lse, dq = np.zeros_like(q), np.zeros((1, 24), np.float32), np.full_like(q, np.nan)
    dk, dv = np.zeros((1, 24, 16), np.float32), np.zeros((1, 24, 16), np.float32)
    rest = (0.25, 16, 16, 16, True)
    forward.attention[2, 1](q, k, v, out, lse, *rest)
    backward = tw.grad(forward.attention, wrt=("q", "k", "v"), outputs="out", residuals=("out", "lse"), overwrite="q")
    backward[2, 1](q, k, v, out, lse, *rest, g, dq, dk, dv)
    q, k, v, g = (a[0].astype(np.float64) for a in (q, k, v, g))
    p = softmax_of(np.where(np.tri(24) > 0, q @ k.T * 0.25, -np.inf))
    dp = g @ v.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True)) * 0.25
    for got, want in zip((dq, dk, dv), (ds @ k, ds.T @ q, p.T @ g), strict=True):
        assert np.abs(got[0].astype(np.float64) - want).max() <= 2.0**-6 * np.abs(want).max()


def test_residuals_that_are_cheap_are_computed_again() -> None:
    @tw.tile_kernel
    def kernel(x, twice, out):
        i = tw.bid(0)
        t = tw.load(x, i, 4) * 2.0
        tw.store(twice, i, t)
        tw.store(out, i, tw.exp(t))

    x, twice, out, x_grad = normal(8), np.zeros(8), np.zeros(8), np.zeros(8)
    tw.grad(kernel, wrt="x", outputs="out", residuals="twice")[2](x, twice + np.nan, out, np.ones(8), x_grad)
    np.testing.assert_allclose(x_grad, 2 * np.exp(2 * x))
    function = derived(kernel, {"x": x, "twice": twice, "out": out}, ("x",), "out", residuals="twice")
    assert "residual: twice: recomputed: element by element, which costs less than to read it" in (
        decisions(function))


def test_residuals_that_are_dear_are_read() -> None:
    @tw.tile_kernel
    def kernel(x, size, out):
        i = tw.bid(0)
        t = tw.load(x, (i, 0), (2, 4))
        scale = tw.rsqrt(tw.sum(t * t, axis=1))
        tw.store(size, i, scale)
        tw.store(out, (i, 0), t * scale[:, None])

    x, size, out, x_grad, g = normal(6, 4), np.zeros(6), np.zeros((6, 4)), np.zeros((6, 4)), normal(6, 4)
    kernel[3](x, size, out)
    tw.grad(kernel, wrt="x", outputs="out", residuals="size")[3](x, size, out, g, x_grad)
    s = size[:, None]
    np.testing.assert_allclose(x_grad, s * g - x * s**3 * (x * g).sum(1, keepdims=True), rtol=1e-12)
    given = {"x": x, "size": size, "out": out}
    assert "residual: size: read: to compute it again takes a loop, a product or a reduction" in decisions(
        derived(kernel, given, ("x",), "out", residuals="size"))


def test_stored_gradients() -> None:
    """What was in the array does not count, and is not read."""
    logits, labels, g = normal(5, 19), np.array([0, 18, 3, 7, 7], np.int32), normal(5)
    made = np.full((5, 19), np.nan)
    backward = tw.grad(cross_entropy, wrt="logits", outputs="loss", overwrite="logits")
    backward[5](logits, labels, g, 8, g, made)
    np.testing.assert_allclose(made, g[:, None] * (softmax_of(logits) - np.eye(19)[labels]), rtol=1e-11, atol=1e-12)
    given = {"logits": logits, "labels": labels, "loss": g, "N": 8}
    function = derived(cross_entropy, given, ("logits",), "loss", overwrite="logits")
    assert "gradient: logits: stores: asked for by overwrite: each element is read once" in decisions(function)


def test_names_of_options() -> None:
    for options, text in (
        ({"residuals": "none"}, "residuals names 'none', which is no parameter of kernel attention"),
        ({"residuals": ("out", "out")}, "residuals names 'out' twice"),
        ({"overwrite": "k"}, "overwrite names 'k', which is not named in wrt"),
    ):
        with pytest.raises(ValueError, match=text):
            tw.grad(attention, wrt="q", outputs="out", **options)
    with pytest.raises(TypeError, match="residuals must be the name of a parameter"):
        tw.grad(attention, wrt="q", outputs="out", residuals=3)  # type: ignore[arg-type]
