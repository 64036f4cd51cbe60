"""The gradients of the examples' kernels, as they are, in float32: which have one, and which are refused, and why."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from attention import attention, inputs
from attention_backward import key_gradients, query_gradients, row_products
from batched_matmul import linear_gelu
from black_scholes import black_scholes
from blas import axpy, gemm, gemv
from cholesky import factor, solve, update
from convolution import convolve
from cross_entropy import cross_entropy
from decode import attend, project
from device_code import decode as decode_bytes
from distributed_matmul import add_up, meet, multiply, multiply_add, multiply_parts
from dropout import dropout
from embedding import embed
from fft import fft64
from fft4096 import fft4096
from fused_block import fused_block
from fused_linear import linear_relu
from fused_relu import relu_scale_add
from gather_scatter import gather_rows, scatter_rows
from gemm import gemm as scaled_gemm
from grouped_matmul import grouped_matmul
from heat import heat_step
from histogram import histogram
from int8_weights import quantised_linear
from layer_norm import layer_norm
from layer_norm_backward import layer_norm_backward, sum_parts
from life import generation
from mandelbrot import mandelbrot
from matmul import matmul
from mixture_of_experts import add_choices, expert_layer, gate
from moe_routing import choose, count, place
from n_body import accelerate
from one_mma import one_mma
from online_softmax import online_softmax
from persistent_matmul import persistent_matmul
from prefix_sum import chunk_sums, scan_chunks, scan_sums
from rms_norm import add_rms_norm
from rotary_embedding import rotate
from segmented_mask import segmented_mask
from segmented_sum import segmented_sum
from shipping import matmul as shipped
from sin_affine import sin_affine
from softmax import softmax
from sort import sort_rows
from sparse import csr_times_vector
from split_k_atomics import split_k_atomic, split_k_locked
from split_k_matmul import add_parts, partial_products
from sum_axis import sum_middle
from support.gradcheck import gradcheck
from top_k import top_k
from train_network import cross_entropy as train_loss
from train_network import descend, norm_relu
from train_network import linear as train_linear
from transpose import transpose
from tuned_matmul import in_bands, persistent, plain
from vector_add import vector_add

import tilewright as tw

random = np.random.default_rng(21)
EXAMPLES = Path(__file__).parents[2] / "examples"


def f(*shape: int) -> Any:
    return random.standard_normal(shape).astype(np.float32)


def i(*numbers: int) -> Any:
    return np.array(numbers, np.int32)


class Run(NamedTuple):
    kernel: tw.tile_kernel
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    wrt: str
    outputs: str = "out"
    stored_once: str = ""


def price() -> Any:
    return random.uniform(0.5, 1.5, 13).astype(np.float32)


q, k, v, starts = (a.astype(np.float32) if a.dtype.kind == "f" else a for a in inputs((9, 5), 2, 1, 16, random))

RUNS = (
    Run(attention, (3, 2, 2), (q, k, v, starts, q, f(2, len(q)), 0.25, 4, 4, 16), "q k v"),
    Run(row_products, (3, 2), (q, f(*q.shape), f(2, len(q)), 8, 16), "out grad", "delta"),
    Run(linear_gelu, (2, 2, 2), (f(2, 5, 6), f(2, 7, 6), f(7), f(2, 5, 7), 4, 4, 4), "a b bias", "c"),
    Run(black_scholes, (2,), (price(), price(), price(), f(13), f(13), 0.03, 0.2, 8), "spot strike years", "call put"),
    Run(gemv, (2,), (f(7, 9), f(9), f(7), 4, 4), "a x", "y"),
    Run(gemm, (2, 2), (f(7, 9), f(9, 6), f(7, 6), 4, 4, 4), "a b", "c"),
    Run(convolve, (4, 1), (f(1, 5, 5, 2), f(3, 3, 2, 3), f(1, 3, 3, 3), 2, 1, 4, 4, 8), "image weight"),
    Run(cross_entropy, (4,), (f(4, 11), i(3, -1, 0, 10), f(4), f(4, 11), 0.1, 16), "logits", "loss"),
    Run(dropout, (2,), (f(13), f(13), 7, 0.4, 8), "x"),
    Run(embed, (2, 2), (f(6, 7), i(1, 4, 1, 0, 5, 1), f(6, 7), 4, 4), "table"),
    Run(fft64, (2,), (f(2, 3, 64), f(2, 8, 8), f(2, 8, 8), f(2, 3, 64), 2), "x matrix twiddle"),
    Run(linear_relu, (2, 2), (f(5, 6), f(7, 6), f(7), f(5, 7), 4, 4, 4), "x w bias"),
    Run(relu_scale_add, (2, 2), (f(5, 6), f(5, 6), 0.5, 1.0, 4, 4), "x"),
    Run(gather_rows, (2, 2), (f(6, 7), i(1, 4, 1, 0, 5, 1), f(6, 7), 4, 4), "table"),
    Run(scatter_rows, (2, 2), (f(5, 6), i(4, 1, 0, 3, 2), f(5, 6), 4, 4), "x"),
    Run(heat_step, (2, 2), (f(8, 9), f(8, 9), 0.2, 4), "old", "new"),
    Run(layer_norm, (3,), (f(3, 11), f(11), f(11), f(3, 11), f(3), f(3), 1e-3, 4), "x weight bias"),
    Run(gate, (2, 2), (f(5, 12), f(5, 6), 4, 4), "up", "hidden"),
    Run(add_choices, (2, 2), (f(6, 5), f(3, 5), 2, 2, 4), "parts"),
    Run(accelerate, (2,), (f(3, 7), f(7), f(3, 7), 0.5, 4, 4), "position mass", "acceleration"),
    Run(online_softmax, (3,), (f(3, 11), f(3, 11), 4), "x"),
    Run(persistent_matmul, (3,), (f(9, 10), f(10, 7), f(9, 7), 4, 4, 4), "a b", "c", "c"),
    Run(chunk_sums, (2,), (f(13), f(2), 8), "x", "sums"),
    Run(scan_chunks, (2,), (f(13), f(2), f(13), 8), "x sums"),
    Run(segmented_sum, (3,), (f(11), i(0, 4, 4, 11), f(3), 4), "x"),
    Run(sin_affine, (2, 2), (f(5, 6), f(6), f(5, 1), f(5, 6), 4, 4), "x a b", "y"),
    Run(softmax, (3,), (f(3, 11), f(3, 11), 16), "x"),
    Run(sort_rows, (2,), (f(3, 7), f(3, 7), np.zeros((3, 7), np.int32), 2, 8), "x", "values"),
    Run(csr_times_vector, (3,), (i(0, 2, 2, 5), i(1, 3, 0, 2, 3), f(5), f(4), f(3), 4), "values x", "y"),
    Run(split_k_atomic, (2, 2, 3), (f(7, 9), f(9, 6), f(7, 6), 4, 4), "a b", "c"),
    Run(partial_products, (2, 2, 2), (f(7, 9), f(9, 6), f(2, 7, 6), 4, 4), "a b", "parts"),
    Run(add_parts, (2, 2), (f(2, 7, 6), f(7, 6), 4), "parts", "c"),
    Run(sum_middle, (2, 2), (f(2, 5, 7), f(2, 7), 4, 4), "x"),
    Run(top_k, (2,), (f(3, 7), f(3, 2), np.zeros((3, 2), np.int32), 2, 2, 8), "x", "values"),
    Run(transpose, (2, 2), (f(5, 6), f(6, 5), 4, 4), "x"),
    Run(plain, (2, 2), (f(7, 9), f(9, 6), f(7, 6), 4, 4, 4), "a b", "c"),
    Run(in_bands, (4,), (f(7, 9), f(9, 6), f(7, 6), 4, 4, 4, 2), "a b", "c"),
    Run(vector_add, (2,), (f(13), f(13), f(13), 8), "x y"),
    Run(project, (2, 2), (f(5, 6), f(6, 7), f(5, 7), 4, 4, 4), "x w"),
    Run(attend, (2,), (f(2, 8), f(2, 6, 8), f(2, 6, 8), i(5, 6), f(2, 8), 0.35, 4, 8), "q keys values"),
    Run(fft4096, (1,), (f(2, 1, 4096), f(2, 1024), f(2, 1, 4096)), "x"),
    Run(fused_block, (2, 2), (f(5, 6), f(6), f(6), f(6, 7), f(7), f(5, 7), 1e-2, 0.3, 7, 4, 4, 4),
        "x gamma beta w bias"),
    Run(sum_parts, (2,), (f(3, 7), f(7), 4, 4), "parts"),
    Run(matmul, (4,), (f(7, 9), f(9, 6), f(7, 6), 4, 4, 4), "a b", "c", "c"),
    Run(shipped, (2, 2), (f(7, 9), f(9, 6), f(7, 6), 4, 4, 4), "a b", "c"),
    Run(expert_layer, (2, 2), (f(3, 6), f(2, 6, 5), i(0, 2, 99, 99, 1, 99, 99, 99), i(0, 1), f(3), f(3, 5), 1, 4, 4, 4),
        "x weight share", "out", "out"),
    Run(one_mma, (2,), (f(2, 4, 4), f(2, 4, 4), f(2, 4, 4), f(2, 4, 4), 4, 4, 4), "a b c", "d"),
    Run(segmented_mask, (1,), (f(12), i(0, 4, 4, 12), f(3), 4, 4), "x"),
    Run(train_linear, (2, 2), (f(5, 6), f(6, 7), f(1, 7), f(5, 7), 4, 4, 4), "x w b"),
    Run(norm_relu, (3,), (f(5, 6), f(1, 6), f(1, 6), f(5, 6), 2, 8), "x gain shift"),
    Run(train_loss, (3,), (f(5, 6), i(0, 5, 2, 2, 1), f(5), 2, 8), "logits", "loss"),
    Run(multiply, (3,), (f(9, 10), f(10, 7), f(9, 7), 4, 4, 4), "a b", "c", "c"),
    Run(multiply_add, (3,), (f(9, 10), f(10, 7), f(2, 9, 7), f(9, 7), 4, 4, 4), "a b others", "c", "c"),
    Run(persistent, (3,), (f(9, 10), f(10, 7), f(9, 7), 4, 4, 4, 2), "a b", "c", "c"),
    Run(key_gradients, (3, 1, 2), (q, k, v, f(*q.shape), f(2, len(q)), f(2, len(q)), starts, f(*k.shape), f(*v.shape),
                                   0.25, 4, 4, 16), "v grad delta", "dk dv"),
    Run(query_gradients, (3, 2, 2), (q, k, v, f(*q.shape), f(2, len(q)), f(2, len(q)), starts, f(*q.shape), 0.25, 4, 4,
                                     16), "v grad delta", "dq"),
)


def name(run: Run) -> str:
    return run.kernel.__name__


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_an_example_has_a_gradient(run: Run) -> None:
    """Steps are wide, as float32 rounds: the bound is that of the differences, not of the gradients."""
    names = [p.name for p in run.kernel.specialiser.params]
    gradcheck(run.kernel, run.grid, dict(zip(names, run.arguments, strict=True)), run.wrt.split(), run.outputs.split(),
              tolerance=2e-3, step=2.0**-8, stored_once=run.stored_once.split())


def test_products_of_a_list() -> None:
    """A while loop hands tiles of all products to the blocks: lists have lists of gradients."""
    left, right = [f(5, 6), f(3, 6)], [f(6, 7), f(6, 4)]
    out, left_grad, right_grad = [f(5, 7), f(3, 4)], [f(5, 6) * 0, f(3, 6) * 0], [f(6, 7) * 0, f(6, 4) * 0]
    cotangents = [f(5, 7), f(3, 4)]
    backward = tw.grad(grouped_matmul, wrt=("left", "right"), outputs="out", stored_once="out")
    backward[2](left, right, out, 4, 4, 4, cotangents, left_grad, right_grad)
    for a, b, g, a_grad, b_grad in zip(left, right, cotangents, left_grad, right_grad, strict=True):
        np.testing.assert_allclose(a_grad, g @ b.T, atol=1e-5)
        np.testing.assert_allclose(b_grad, a.T @ g, atol=1e-5)


def test_parts_of_a_product() -> None:
    """outs[p] is part (1 + p) % 2 of the rows."""
    a, b, outs, a_grad, b_grad = f(8, 6), f(6, 7), [f(4, 7), f(4, 7)], f(8, 6) * 0, f(6, 7) * 0
    cotangents = [f(4, 7), f(4, 7)]
    backward = tw.grad(multiply_parts, wrt=("a", "b"), outputs="outs", stored_once="outs")
    backward[3](a, b, outs, 1, 4, 4, 4, cotangents, a_grad, b_grad)
    g = np.concatenate(cotangents[::-1])
    np.testing.assert_allclose(a_grad, g @ b.T, atol=1e-5)
    np.testing.assert_allclose(b_grad, a.T @ g, atol=1e-5)


WRITES = "this reads an array that the kernel also writes"
REFUSED = (
    (Run(axpy, (), (2.0, f(5), f(5), 4), "x", "y"), WRITES),
    (Run(add_up, (), (f(9, 7), f(2, 9, 7), 4, 4), "others", "c"), WRITES),
    (Run(add_rms_norm, (), (f(3, 7), f(3, 7), f(7), f(3, 7), 1e-3, 8), "residual"), WRITES),
    (Run(rotate, (), (f(1, 2, 3, 8), f(3, 4), f(3, 4), 2, 4), "cos", "q"), WRITES),
    (Run(scaled_gemm, (), (0.5, f(7, 9), f(9, 6), 0.5, f(7, 6), "C", "C", 4, 4, 4), "a b", "c"), WRITES),
    (Run(choose, (), (f(3, 7), np.zeros(6, np.int32), f(3, 2), 2, 2, 8), "score", "share"), "the bits of a float"),
    (Run(layer_norm_backward, (), (f(5, 7), f(5, 7), f(7), f(5), f(5), f(5, 7), f(2, 7), f(2, 7), i(0, 0), 8, 2),
         "grad", "dx"), "would not find the value again"),
    (Run(split_k_locked, (), (f(7, 9), f(9, 6), f(7, 6), np.zeros((2, 2), np.int32), 4, 4), "a b", "c"),
     "would not find the value again"),
)


@pytest.mark.parametrize("run, reason", REFUSED, ids=[name(run) for run, _ in REFUSED])
def test_an_example_without_a_gradient(run: Run, reason: str) -> None:
    names = [p.name for p in run.kernel.specialiser.params]
    given = dict(zip(names, run.arguments, strict=True))
    outputs, wrt = run.outputs.split(), run.wrt.split()
    backward = tw.grad(run.kernel, wrt=tuple(wrt), outputs=tuple(outputs), stored_once=tuple(outputs))

    def fresh(value: Any) -> Any:
        return [a.copy() for a in value] if isinstance(value, list) else value.copy()

    with pytest.raises(tw.TileUnsupportedFeatureError, match=reason):
        backward.ir(*run.arguments, *(fresh(given[n]) for n in (*outputs, *wrt)))


def test_a_product_of_quantised_weights() -> None:
    """In float16, beside its formula: differences of values would be those of their rounding."""
    x, scale, g = (random.standard_normal(shape).astype(np.float16) for shape in ((5, 8), (6, 2), (5, 6)))
    weight = random.integers(-9, 9, (6, 8)).astype(np.int8)
    x_grad, scale_grad = np.zeros((5, 8), np.float32), np.zeros((6, 2), np.float32)
    backward = tw.grad(quantised_linear, wrt=("x", "scale"), outputs="out")
    backward[2, 2](x, weight, scale, np.zeros_like(g), 4, 4, 4, g, x_grad, scale_grad)
    x, scale, g, w = (a.astype(np.float64) for a in (x, scale, g, weight))
    np.testing.assert_allclose(x_grad, g @ (w * np.repeat(scale, 4, axis=1)), rtol=2e-2, atol=2e-2)
    want = ((g.T @ x) * w).reshape(6, 2, 4).sum(axis=2)
    np.testing.assert_allclose(scale_grad, want, rtol=2e-2, atol=2e-2)


NO_GRADIENT = {
    "in place: the array whose gradient is asked for is the output": (factor, solve, update, scan_sums, descend),
    "integers or bools come in or go out": (
        generation, histogram, count, place, mandelbrot, decode_bytes, meet),
}
"""Kernels that are not differentiable, by the reason."""


def place_of(kernel: Any) -> str:
    """The file and the name of a kernel; other tests may have loaded its module anew."""
    code = kernel.specialiser.source.function.__code__
    return f"{Path(code.co_filename).stem}.{code.co_name}"


def test_each_kernel_of_the_gallery_has_a_gradient_or_a_reason() -> None:
    found = {place_of(value) for path in sorted(EXAMPLES.glob("[a-z]*.py"))
             for value in vars(importlib.import_module(path.stem)).values()
             if isinstance(value, tw.tile_kernel) and not hasattr(value, "roles")}
    listed = [*(run.kernel for run in RUNS), *(run.kernel for run, _ in REFUSED), grouped_matmul, multiply_parts,
              quantised_linear, *(kernel for kernels in NO_GRADIENT.values() for kernel in kernels)]
    places = [place_of(kernel) for kernel in listed]
    assert sorted(found - set(places)) == []
    assert len(set(places)) == len(places), "a kernel stands in two lists"


@pytest.mark.parametrize("kernel", NO_GRADIENT["in place: the array whose gradient is asked for is the output"])
def test_kernels_in_place_have_no_gradient(kernel: tw.tile_kernel) -> None:
    array = kernel.specialiser.params[0].name
    with pytest.raises(ValueError, match="an array that is read and overwritten has no gradient"):
        tw.grad(kernel, wrt=array, outputs=array)
