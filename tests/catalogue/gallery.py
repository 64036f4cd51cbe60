"""The examples made of matrix products, each at a tiny ragged shape."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from attention import attention, inputs, reference
from attention_backward import gradients, key_gradients, query_gradients, row_products
from batched_matmul import linear_gelu
from catalogue.case import Case
from convolution import convolve
from fft import as_pair, fft64
from grouped_matmul import grouped_matmul
from int8_weights import quantised_linear
from layer_norm_backward import layer_norm_backward, sum_parts
from mixture_of_experts import add_choices, expert_layer, gate, sorted_slots
from persistent_matmul import persistent_matmul
from split_k_atomics import split_k_atomic, split_k_locked

UNORDERED = frozenset({"unordered"})
F16, F32, BF16 = np.float16, np.float32, ml_dtypes.bfloat16
LENGTHS, HEADS, KEY_HEADS, DIM = (21, 1, 37), 2, 1, 16
SCALE = 1 / math.sqrt(DIM)


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(a.astype(np.float64) @ b.astype(np.float64))


def random(rng: np.random.Generator, *shape: int, dtype: Any = F16) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def case(name: str, kernel: Any, grid: tuple[int, ...], make: Any, outputs: tuple[int, ...], want: Any,
         relative: float, absolute: float) -> Case:
    return Case(f"gallery-{name}", kernel, grid, make, outputs, want,
                lambda right: relative * np.abs(right) + absolute, tags=UNORDERED)


def attention_case() -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        q, k, v, starts = inputs(LENGTHS, HEADS, KEY_HEADS, DIM, rng)
        return q, k, v, starts, np.zeros_like(q), np.zeros((HEADS, len(q)), F32), SCALE, 32, 16, DIM

    def want(q: Any, k: Any, v: Any, starts: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return reference(q, k, v, starts, SCALE)

    return case("attention", attention, (2, HEADS, len(LENGTHS)), make, (4, 5), want, 2.0**-11, 2.0**-9)


def saved(rng: np.random.Generator) -> tuple[Any, ...]:
    """q, k, v, grad, lse, delta, starts: what the backward kernels are given."""
    q, k, v, starts = inputs(LENGTHS, HEADS, KEY_HEADS, DIM, rng)
    grad = random(rng, *q.shape)
    out, lse = reference(q, k, v, starts, SCALE)
    return q, k, v, grad, lse.astype(F32), np.einsum("thd,thd->ht", out, grad.astype(np.float64)).astype(F32), starts


def attention_backward_cases() -> Iterator[Case]:
    def products(rng: np.random.Generator) -> tuple[Any, ...]:
        q, _, _, grad, *_ = saved(rng)
        return q, grad, np.zeros((HEADS, len(q)), F32), 32, DIM

    def want_products(out: Any, grad: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (np.einsum("thd,thd->ht", out.astype(np.float64), grad.astype(np.float64)),)

    def for_keys(rng: np.random.Generator) -> tuple[Any, ...]:
        given = saved(rng)
        return *given, np.zeros_like(given[1]), np.zeros_like(given[2]), SCALE, 32, 16, DIM

    def for_queries(rng: np.random.Generator) -> tuple[Any, ...]:
        given = saved(rng)
        return *given, np.zeros_like(given[0]), SCALE, 32, 16, DIM

    def want(q: Any, k: Any, v: Any, grad: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return gradients(q, k, v, grad, rest[2], SCALE)

    yield case("attention-row-products", row_products, (2, HEADS), products, (2,), want_products, 0, 1e-5)
    yield case("attention-key-gradients", key_gradients, (3, KEY_HEADS, len(LENGTHS)), for_keys, (7, 8),
               lambda *a: want(*a)[1:], 2.0**-11, 2.0**-7)
    yield case("attention-query-gradients", query_gradients, (2, HEADS, len(LENGTHS)), for_queries, (7,),
               lambda *a: want(*a)[:1], 2.0**-11, 2.0**-7)


def product_cases() -> Iterator[Case]:
    m, n, k = 37, 35, 50

    def want(a: Any, b: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, b),)

    def persistent(rng: np.random.Generator) -> tuple[Any, ...]:
        return random(rng, m, k, dtype=BF16), random(rng, k, n, dtype=BF16), np.zeros((m, n), BF16), 16, 16, 16

    yield case("persistent-matmul", persistent_matmul, (4,), persistent, (2,), want, 1.01 * 2.0**-8, 1e-4)

    def atomic(rng: np.random.Generator) -> tuple[Any, ...]:
        return random(rng, m, k), random(rng, k, n), np.zeros((m, n), F32), 32, 16

    def locked(rng: np.random.Generator) -> tuple[Any, ...]:
        return random(rng, m, k), random(rng, k, n), np.zeros((m, n), F32), np.zeros((2, 2), np.int32), 32, 16

    yield case("split-k-atomic", split_k_atomic, (2, 2, 3), atomic, (2,), want, 0, 1e-4)
    yield case("split-k-locked", split_k_locked, (2, 2, 3), locked, (2, 3),
               lambda *a: (*want(*a), np.zeros((2, 2), np.int32)), 0, 1e-4)

    sizes = ((37, 20, 33), (1, 1, 1), (16, 50, 5))

    def grouped(rng: np.random.Generator) -> tuple[Any, ...]:
        return ([random(rng, m, k) for m, n, k in sizes], [random(rng, k, n) for m, n, k in sizes],
                [np.zeros((m, n), F16) for m, n, k in sizes], 16, 32, 16)

    yield case("grouped-matmul", grouped_matmul, (3,), grouped, (2,),
               lambda left, right, *rest: tuple(map(exact, left, right)), 1.01 * 2.0**-11, 1e-4)

    def batched(rng: np.random.Generator) -> tuple[Any, ...]:
        return (random(rng, 2, 20, 24), random(rng, 2, 17, 24), random(rng, 17), np.zeros((2, 20, 17), F16), 16, 16,
                16)

    def want_gelu(a: Any, b: Any, bias: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        x = exact(a, b.transpose(0, 2, 1)) + bias
        return (0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),)

    yield case("batched-gelu", linear_gelu, (2, 2, 2), batched, (3,), want_gelu, 2.0**-11, 1e-4)

    def quantised(rng: np.random.Generator) -> tuple[Any, ...]:
        return (random(rng, 20, 48), rng.integers(-127, 128, (19, 48)).astype(np.int8),
                rng.uniform(0.004, 0.008, (19, 3)).astype(F16), np.zeros((20, 19), F16), 16, 16, 16)

    yield case("int8-weights", quantised_linear, (2, 2), quantised, (3,),
               lambda x, w, s, *rest: (exact(x, (w * np.repeat(s.astype(np.float64), 16, axis=1)).T),), 2.0**-11, 1e-4)


def expert_cases() -> Iterator[Case]:
    chosen = np.array([[0, 1], [1, 2], [2, 0], [1, 0], [1, 2], [0, 1], [1, 2], [1, 0], [1, 2]])

    def layer(rng: np.random.Generator) -> tuple[Any, ...]:
        rows, experts = sorted_slots(chosen, 3, 16)
        assert len(experts) == 3
        return (random(rng, 9, 20), random(rng, 3, 20, 21), rows, experts, rng.random(18, F32),
                np.zeros((18, 21), F32), 2, 16, 16, 16)

    def want_layer(x: Any, w: Any, rows: Any, experts: Any, share: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (np.stack([share[s] * exact(x[s // 2], w[chosen[s // 2, s % 2]]) for s in range(18)]),)

    yield case("expert-layer", expert_layer, (3, 2), layer, (5,), want_layer, 0, 1e-4)

    def want_gate(up: Any, hidden: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        a, b = np.split(up.astype(np.float64), 2, axis=1)
        return (a / (1 + np.exp(-a)) * b,)

    yield case("gate", gate, (2, 2), lambda rng: (random(rng, 18, 42), np.zeros((18, 21), F16), 16, 16), (1,),
               want_gate, 2.0**-11, 1e-6)
    yield case("add-choices", add_choices, (2, 2), lambda rng: (random(rng, 18, 21), np.zeros((9, 21), F32), 2, 8, 16),
               (1,), lambda parts, *rest: (parts.astype(np.float64).reshape(9, 2, 21).sum(1),), 0, 1e-6)


def layer_norm_cases() -> Iterator[Case]:
    m, n, parts = 7, 21, 2

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x = random(rng, m, n, dtype=F32)
        mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + F32(1e-5))
        return (random(rng, m, n, dtype=F32), x, random(rng, n, dtype=F32), mean, rstd, np.zeros((m, n), F32),
                np.zeros((parts, n), F32), np.zeros((parts, n), F32), np.zeros(parts, np.int32), 32, 2)

    def want(grad: Any, x: Any, w: Any, mean: Any, rstd: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        normal = (x.astype(np.float64) - mean[:, None]) * rstd[:, None]
        scaled = grad.astype(np.float64) * w
        inner = scaled.mean(axis=1, keepdims=True) + normal * (scaled * normal).mean(axis=1, keepdims=True)
        # Blocks do two rows each, and take the parts in turn.
        part = np.arange(m) // 2 % parts
        sums = [np.stack([t[part == p].sum(axis=0) for p in range(parts)]) for t in (grad * normal, grad)]
        return (scaled - inner) * rstd[:, None], *sums, np.zeros(parts, np.int32)

    yield case("layer-norm-backward", layer_norm_backward, (4,), make, (5, 6, 7, 8), want, 0, 1e-5)
    yield case("sum-parts", sum_parts, (2,), lambda rng: (random(rng, 3, n, dtype=F32), np.zeros(n, F32), 16, 4), (1,),
               lambda p, *rest: (p.sum(axis=0, dtype=np.float64),), 0, 1e-6)


def convolution_case() -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return random(rng, 2, 5, 6, 3), random(rng, 3, 3, 3, 10), np.zeros((2, 3, 3, 10), F16), 2, 1, 16, 16, 16

    def want(image: Any, weight: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        padded = np.pad(image.astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::2, ::2]
        return (np.einsum("nyxcij,ijcf->nyxf", windows, weight.astype(np.float64)),)

    return case("convolution", convolve, (2, 1), make, (2,), want, 2.0**-11, 1e-4)


def fourier_case() -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        power = np.outer(np.arange(8), np.arange(8))
        matrices = (as_pair(np.exp(-2j * np.pi * power / n)) for n in (8, 64))
        return random(rng, 2, 5, 64, dtype=F32), *matrices, np.zeros((2, 5, 64), F32), 4

    def want(x: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        z = np.fft.fft(x[0].astype(np.float64) + 1j * x[1])
        return (np.stack([z.real, z.imag]),)

    return case("fourier", fft64, (2,), make, (3,), want, 0, 2e-5)


def cases() -> Iterator[Case]:
    yield attention_case()
    yield from attention_backward_cases()
    yield from product_cases()
    yield from expert_cases()
    yield from layer_norm_cases()
    yield convolution_case()
    yield fourier_case()
