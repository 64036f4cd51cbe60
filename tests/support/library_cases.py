"""One list of calls of the library's functions, each with what its result may differ by from the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tilewright.kernels as tk

Make = Callable[..., np.ndarray]
# Units in the last place of the result, in relation to its largest element. Numbers such as eps are float32 in kernels,
# those of float64 as well.
ROUNDING = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-27}
# What results are differences of, at least: a loss near 0 is one of logits, and off by their rounding.
LEAST = {"cross_entropy": 1.0, "linear_cross_entropy": 1.0}


def maker(dtype: Any, seed: int = 0) -> Make:
    """Normal numbers of a shape in a dtype."""
    rng = np.random.default_rng(seed)
    return lambda *shape: rng.standard_normal(shape).astype(dtype)


def ints(high: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + high).integers(0, high, shape).astype(np.int32)


Case = tuple[str, tuple[Any, ...]]


def rows(x: Make) -> Iterator[Case]:
    for shape, axis in (((3, 5), -1), ((2, 7, 5), 1), ((4, 3), 0), ((2, 3, 70), 2), ((1,), 0), ((0, 4), 1)):
        yield "softmax", (x(*shape), axis)
        yield "softmax_backward", (x(*shape), np.abs(x(*shape)), axis)
    for shape in ((3, 5), (2, 3, 64), (7,), (300, 3), (0, 4)):
        n = shape[-1]
        yield "rms_norm", (x(*shape), x(n))
        yield "add_rms_norm", (x(*shape), x(*shape), x(n), 1e-5)
        yield "layer_norm", (x(*shape), x(n), x(n))
        yield "norm_backward", (x(*shape), x(*shape), x(n), 1e-5, False)
        yield "norm_backward", (x(*shape), x(*shape), x(n), 1e-5, True, x(*shape))
    yield "rms_norm", (x(3, 5),)
    yield "layer_norm", (x(3, 5),)
    yield "layer_norm", (x(3, 5), None, x(5))
    yield "norm_backward", (x(4, 6), x(4, 6))
    yield "norm_backward", (x(70, 9000), x(70, 9000), x(9000), 1e-5, True)
    yield "group_norm", (x(1, 2, 20000), 1, x(2), x(2))  # more than a block holds
    for shape, groups in (((2, 6, 5), 2), ((3, 8), 2), ((1, 5, 3, 4), 1), ((2, 3, 130), 3)):
        yield "group_norm", (x(*shape), groups, x(shape[1]), x(shape[1]))
        yield "group_norm_backward", (x(*shape), x(*shape), groups, x(shape[1]))
    for m, n, smoothing in ((4, 7, 0.0), (3, 33, 0.1), (1, 1, 0.0)):
        labels = ints(n, m)
        labels[1:2] = -100
        yield "cross_entropy", (x(m, n), labels, smoothing)
        yield "linear_cross_entropy", (x(m, 6), x(n, 6), labels, smoothing)
        yield "linear_cross_entropy_backward", (x(m), x(m, 6), x(n, 6), labels, smoothing)
        yield "cross_entropy_backward", (x(m), x(m, n), labels, smoothing)


def elements(x: Make) -> Iterator[Case]:
    for name in ("silu", "gelu", "gelu_tanh", "relu"):
        yield "gated", (x(3, 7), x(3, 7), name)
        yield "gated_backward", (x(3, 7), x(3, 7), x(3, 7), name)
    both = x(2, 5, 12)
    yield "gated", (both[..., :6], both[..., 6:])
    for shape in ((1, 2, 5, 8), (2, 1, 3, 6)):
        cos, sin = x(shape[2], shape[3] // 2), x(shape[2], shape[3] // 2)
        yield "rotary", (x(*shape), cos, sin)
        yield "rotary", (x(*shape), cos, sin, True)
    yield "rotary", (x(2, 5, 3, 4).transpose(0, 2, 1, 3), x(5, 2), x(5, 2))


def reductions(x: Make) -> Iterator[Case]:
    for shape, axis in (((5,), None), ((3, 4), (1,)), ((3, 4, 5), (0, 2)), ((2, 3, 4), (1,)), ((), None),
                        ((2, 3, 4), (-1, 1)), ((3, 0), (1,))):
        yield "reduce", (x(*shape), "sum", axis)
        yield "reduce_backward", (np.ones_like(x(*shape).sum(axis=axis, keepdims=True)), x(*shape), "sum", axis)
    yield "reduce", (x(50000), "sum")
    yield "reduce", (x(600, 300), "sum", (1,))  # two rows in a block
    yield "reduce", (x(1100, 3), "max", (1,))
    yield "reduce", (x(600, 150), "sum", (0,))  # in parts
    for op in ("mean", "prod", "max", "min"):
        yield "reduce", (x(3, 4, 5), op, (1,), True)
        yield "reduce", (x(9, 3), op)
    yield "reduce_backward", (x(3, 1), x(3, 4), "mean", (1,))
    for shape, axis in (((7,), 0), ((3, 5), -1), ((2, 5, 3), 1), ((3000,), 0)):
        yield "cumsum", (x(*shape), axis)
        yield "cumsum", (x(*shape), axis, True)
    yield "cumsum", (ints(9, 4, 5), 0)
    for op in ("sum", "prod"):
        yield "segmented_reduce", (x(9, 3), np.array([0, 4, 4, 9], np.int32), op)
    yield "segmented_reduce", (x(5000), np.array([0, 3000, 5000], np.int64), "max")
    yield "segmented_sort", (x(9), np.array([0, 4, 4, 9], np.int32))
    yield "segmented_sort", (x(40), np.array([0, 3, 40], np.int64), 37, True)
    yield "segmented_sort", (ints(9, 6), np.array([0, 2, 6], np.int32), 5)
    yield "segmented_reduce", (ints(9, 6, 2, 3), np.array([1, 2, 5], np.int32), "min")


def matrices(x: Make) -> Iterator[Case]:
    for m, n, k in ((5, 7, 9), (33, 20, 70), (1, 1, 1), (4, 3, 0)):
        yield "matmul", (x(m, k), x(k, n))
        yield "matmul", (x(k, m).T, x(n, k).T, x(m, n), 0.5, -2.0)
    yield "matmul", (x(3, 4, 5), x(3, 5, 6), x(3, 4, 6), 1.0, 1.0)
    yield "linear", (x(2, 3, 9), x(5, 9), x(5), x(2, 3, 5), "gelu", 0.25, 7)
    yield "linear", (x(6, 9), x(5, 9))
    yield "linear_backward", (x(2, 3, 5), x(2, 3, 9), x(5, 9))
    yield "linear_backward", (x(6, 5), x(6, 9), x(5, 9), x(5), "silu", 0.25, 7)
    for shape in ((7,), (2, 3), (0,)):
        tokens = ints(13, *shape) - 2
        yield "embedding", (x(10, 5), tokens)
        for deterministic in (False, True):
            yield "embedding_backward", (x(*shape, 5), tokens, 10, deterministic)


def attentions(x: Make) -> Iterator[Case]:
    shapes = (((1, 2, 5, 8), (1, 1, 5, 8)), ((2, 2, 37, 16), (2, 2, 50, 16)), ((1, 1, 40, 6), (1, 1, 33, 6)))
    for (many, few), options in zip(shapes * 2, OPTIONS, strict=True):
        q, k, v = x(*many), x(*few), x(*few)
        yield "attention", (q, k, v, *options)
        yield from gradient_of_attention(x, q, k, v, *options)
    starts = np.array([0, 20, 20, 61], np.int32)
    q, k, v = x(61, 4, 8), x(61, 2, 8), x(61, 2, 8)
    for options in ((True, 0, 0.0, -0.5, starts, 41), (False, 7, 2.0, None, starts, 41)):
        yield "attention", (q, k, v, *options)
        yield from gradient_of_attention(x, q, k, v, *options)
    pages, lengths = ints(6, 3, 2), np.array([32, 0, 19], np.int32)
    yield "decode_attention", (x(3, 4, 8), x(6, 16, 2, 8), x(6, 16, 2, 8), pages, lengths)
    yield "decode_attention", (x(3, 4, 8), x(6, 16, 2, 8), x(6, 16, 2, 8), pages, lengths, 0.0, -0.4)
    yield "decode_attention", (x(3, 4, 8), x(6, 16, 2, 8), x(6, 16, 2, 8), ints(6, 3, 1), lengths // 2)
    many = x(80, 32, 1, 16)
    yield "decode_attention", (x(1, 3, 16), many, many, ints(80, 1, 80), ints(80, 1) + 2400, 2.0)


# causal, window, cap, scale
OPTIONS = ((True, 0, 0.0, None), (True, 9, 0.0, None), (True, 0, 1.5, 0.3), (False, 0, 0.0, None),
           (False, 12, 2.0, None), (False, 0, 0.0, -0.1))


def gradient_of_attention(x: Make, q: Any, k: Any, v: Any, *options: Any) -> Iterator[Case]:
    """The gradient of a call, of what the call returned."""
    out, lse = tk.attention.reference(q, k, v, *options)
    lse_grad = None if np.isinf(lse).any() else x(*lse.shape).astype(np.float32)
    kind = np.float64 if q.dtype == np.float64 else np.float32
    yield "attention_backward", (x(*q.shape), lse_grad, q, k, v, out.astype(q.dtype), lse.astype(kind), *options)


def few_bits(x: Make) -> Iterator[Case]:
    for kind, (n, k, group) in zip(("int8", "int4", "fp8"), ((5, 64, 32), (20, 32, 16), (3, 128, 64)), strict=True):
        weight = x(n, k)
        weight[0] = 0
        yield "quantise", (weight, kind, group)
        codes, scales = tk.quantise.reference(weight, kind, group)
        yield "dequantise", (codes, scales, kind)
        yield "quantised_linear", (x(2, 3, k), codes, scales, kind, x(n))
        yield "quantised_linear", (x(40, k), codes, scales, kind)


def experts(x: Make) -> Iterator[Case]:
    for tokens, count, choices, tile in ((50, 5, 2, 16), (7, 3, 1, 16), (90, 8, 4, 32)):
        scores = x(tokens, count)
        yield "route", (scores, choices)
        chosen, shares = tk.route.reference(scores, choices)
        yield "sort_by_expert", (chosen, count, tile)
        rows, owners = tk.sort_by_expert.reference(chosen, count, tile)
        slots, shares = tokens * choices, shares.astype(np.float32)
        yield "expert_linear", (x(tokens, 20), x(count, 9, 20), rows, owners, slots, choices, shares)
        yield "expert_linear", (x(slots, 9), x(count, 20, 9), rows, owners, slots)
        yield "add_choices", (x(tokens, choices, 20),)


def samples(x: Make) -> Iterator[Case]:
    yield "sample", (x(40, 30), 11)
    for shape, options in (((9, 100), (0.7, 5)), ((9, 100), (1.3, 0, 0.6)), ((2, 5000), (1.0, 50, 0.9))):
        yield "sample", (x(*shape), 11, *options)


def spectra(x: Make) -> Iterator[Case]:
    for shape in ((1, 2), (3, 1, 2), (2, 3, 16, 2), (0, 8, 2), (3, 64, 2)):
        yield "fft", (x(*shape),)
    yield "fft", (x(5, 128, 2), True)
    yield "fft", (x(2, 4, 2), True, "forward")
    yield "fft", (x(32, 2, 3).transpose(2, 0, 1), False, "ortho")
    for m, n, norm in ((3, 2, "backward"), (5, 64, "ortho"), (2, 4, "forward"), (0, 8, "backward")):
        yield "rfft", (x(m, n), norm, True)
        yield "irfft_backward", (x(m, n), norm, True)
        for function in ("irfft", "rfft_backward"):
            yield function, (x(2, m, n // 2 + 1, 2)[1], norm)


def keys(x: Make) -> Iterator[Case]:
    """Runs of one, of some and of all; of more than a tile of a block."""
    for n, k in ((7, ()), (300, ()), (0, ()), (2500, ()), (40, (3,)), (600, (2, 5))):
        values = (x(n, *k) * 4).round() / 4
        for op, runs in (("sum", n // 3 + 1), ("max", 2), ("min", 1), ("prod", 9)):
            values = np.sign(values) if op == "prod" else values
            yield "reduce_by_key", (np.sort(ints(runs, n)) - 1, values, op)
    yield "reduce_by_key", (ints(3, 50).astype(np.int64), ints(9, 50))
    yield "reduce_by_key", (x(50).round(), x(50))


GROUPS = (rows, elements, reductions, matrices, attentions, few_bits, experts, samples, spectra, keys)


def compare(name: str, args: tuple[Any, ...], got: Any, dtype: Any) -> None:
    """Compare what a function gave with its reference: shapes, infinities, and numbers within some roundings."""
    want = tk.DECLARED[name].reference(*args)
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    shapes = [getattr(a, "shape", a) for a in args]
    assert len(got) == len(want)
    for mine, right in zip(got, want, strict=True):
        assert mine.shape == np.shape(right), (name, shapes, mine.shape)
        rounding = max(ROUNDING[np.dtype(dtype).name], ROUNDING.get(mine.dtype.name, 0.0))
        mine, right = mine.astype(np.float64), right.astype(np.float64)
        finite = np.isfinite(right)
        assert np.array_equal(mine[~finite], right[~finite]), (name, shapes)
        largest = np.abs(right[finite]).max(initial=LEAST.get(name, 1e-3))
        far = np.abs(mine[finite] - right[finite]).max(initial=0) / largest
        assert far <= 40 * rounding, (name, shapes, far)


def check(name: str, args: tuple[Any, ...], dtype: Any) -> None:
    """Compare what a function gives with its reference."""
    compare(name, args, tk.DECLARED[name](*args), dtype)
