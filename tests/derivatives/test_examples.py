"""The gradients of the examples' kernels, as they are, in float32: which have one, and which are refused, and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from attention import attention, inputs
from attention_backward import row_products
from batched_matmul import linear_gelu
from black_scholes import black_scholes
from blas import axpy, gemm, gemv
from convolution import convolve
from cross_entropy import cross_entropy
from dropout import dropout
from embedding import embed
from fft import fft64
from fused_linear import linear_relu
from fused_relu import relu_scale_add
from gather_scatter import gather_rows, scatter_rows
from grouped_matmul import grouped_matmul
from heat import heat_step
from layer_norm import layer_norm
from mixture_of_experts import add_choices, gate
from n_body import accelerate
from online_softmax import online_softmax
from persistent_matmul import persistent_matmul
from prefix_sum import chunk_sums, scan_chunks
from rms_norm import add_rms_norm
from rotary_embedding import rotate
from segmented_sum import segmented_sum
from sin_affine import sin_affine
from softmax import softmax
from sort import sort_rows
from sparse import csr_times_vector
from split_k_atomics import split_k_atomic, split_k_locked
from split_k_matmul import add_parts, partial_products
from sum_axis import sum_middle
from support.gradcheck import gradcheck
from top_k import top_k
from transpose import transpose
from tuned_matmul import in_bands, plain
from vector_add import vector_add

import tilewright as tw
from tilewright.tileir.ops.atomics import AtomicRmw

random = np.random.default_rng(21)


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


ATOMIC = {
    "attention": "q k v", "linear_gelu": "a b bias", "gemv": "x", "gemm": "a b", "convolve": "image weight",
    "embed": "table", "fft64": "matrix twiddle", "linear_relu": "x w bias", "gather_rows": "table", "heat_step": "old",
    "layer_norm": "weight bias", "accelerate": "position mass", "persistent_matmul": "a b", "segmented_sum": "x",
    "sin_affine": "a b", "csr_times_vector": "values x", "split_k_atomic": "a b", "partial_products": "a b",
    "plain": "a b", "in_bands": "a b",
}
"""The gradients of whose elements several blocks have a share, or of which only data say who has."""


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_atomic_additions_only_where_blocks_share_elements(run: Run) -> None:
    names = [p.name for p in run.kernel.specialiser.params]
    given, wrt, outputs = dict(zip(names, run.arguments, strict=True)), run.wrt.split(), run.outputs.split()
    backward = tw.grad(run.kernel, wrt=tuple(wrt), outputs=tuple(outputs), stored_once=tuple(run.stored_once.split()))
    function = backward.lower(*run.arguments, *(given[n].copy() for n in (*outputs, *wrt))).tile_ir()
    written = [op.array for op in function.walk() if isinstance(op, AtomicRmw)]
    while any(array.op for array in written):
        written = [array.op.operands[0] if array.op else array for array in written]  # of slices, what they are of
    assert {array.hint for array in written} == {f"{n}_grad" for n in ATOMIC.get(name(run), "").split()}


WRITES = "this reads an array that the kernel also writes"
REFUSED = (
    (Run(axpy, (), (2.0, f(5), f(5), 4), "x", "y"), WRITES),
    (Run(add_rms_norm, (), (f(3, 7), f(3, 7), f(7), f(3, 7), 1e-3, 8), "residual"), WRITES),
    (Run(rotate, (), (f(1, 2, 3, 8), f(3, 4), f(3, 4), 2, 4), "cos", "q"), WRITES),
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
