"""Streams of elements: arithmetic, functions, casts, in the dtypes people use."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

import tilewright as tw
from benchmarks.interp_cases.case import Case, normal, positive, whole

N, TILE = 1 << 20, 1024
BF16, F8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


@tw.tile_kernel
def add(x, y, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, TILE) + tw.load(y, i, TILE))


@tw.tile_kernel
def integers(x, y, out):
    i = tw.bid(0)
    s, t = tw.load(x, i, TILE), tw.load(y, i, TILE)
    tw.store(out, i, (s * 3 + t) ^ (t >> 2))


@tw.tile_kernel
def chain(x, y, out):
    i = tw.bid(0)
    t, s = tw.load(x, i, TILE), tw.load(y, i, TILE)
    for _ in tw.static_iter(range(8)):
        t = t * s + 0.25
    tw.store(out, i, t)


def chain_plain(x: Any, y: Any) -> Any:
    t = x
    for _ in range(8):
        t = t * y + np.float32(0.25)
    return t


@tw.tile_kernel
def five_points(x, out):
    i, j = tw.bid(0), tw.bid(1)
    rows = i * 32 + tw.arange(32, dtype=tw.int32)[:, None]
    columns = j * 128 + tw.arange(128, dtype=tw.int32)[None, :]
    around = (tw.gather(x, (rows - 1, columns)) + tw.gather(x, (rows + 1, columns))
              + tw.gather(x, (rows, columns - 1)) + tw.gather(x, (rows, columns + 1)))
    tw.scatter(out, (rows, columns), around * 0.25 - tw.gather(x, (rows, columns)))


def five_points_plain(x: Any) -> Any:
    p = np.pad(x, 1)
    return (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) * np.float32(0.25) - x


@tw.tile_kernel
def three_points(x, out):
    i = tw.bid(0)
    middle = tw.load(x, i, TILE)
    at = i * TILE + tw.arange(TILE, dtype=tw.int32)
    tw.store(out, i, tw.gather(x, at - 1) - middle * 2.0 + tw.gather(x, at + 1))


def three_points_plain(x: Any) -> Any:
    p = np.pad(x, 1)
    return p[:-2] - np.float32(2) * x + p[2:]


@tw.tile_kernel
def exponential(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.exp(tw.load(x, i, TILE)))


@tw.tile_kernel
def tangent(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.tanh(tw.load(x, i, TILE)))


@tw.tile_kernel
def wave(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.sin(tw.load(x, i, TILE)))


@tw.tile_kernel
def gelu(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, TILE)
    tw.store(out, i, 0.5 * t * (1.0 + tw.tanh(0.7978845608 * (t + 0.044715 * t * t * t))))


def gelu_plain(x: Any) -> Any:
    h = np.float32
    return h(0.5) * x * (h(1) + np.tanh(h(0.7978845608) * (x + h(0.044715) * x * x * x)))


@tw.tile_kernel
def silu_times(x, y, out):
    i = tw.bid(0)
    t = tw.astype(tw.load(x, i, TILE), tw.float32)
    gate = t / (1.0 + tw.exp(-t))
    tw.store(out, i, tw.astype(gate * tw.astype(tw.load(y, i, TILE), tw.float32), tw.float16))


def silu_times_plain(x: Any, y: Any) -> Any:
    t = x.astype(np.float32)
    return (t / (np.float32(1) + np.exp(-t)) * y.astype(np.float32)).astype(np.float16)


@tw.tile_kernel
def black_scholes(price, strike, years, out):
    i = tw.bid(0)
    s, k, t = tw.load(price, i, TILE), tw.load(strike, i, TILE), tw.load(years, i, TILE)
    root = 0.3 * tw.sqrt(t)
    d1 = (tw.log(s / k) + (0.02 + 0.045) * t) / root
    tw.store(out, i, s * normal_cdf(d1) - k * tw.exp(-0.02 * t) * normal_cdf(d1 - root))


def normal_cdf(d):
    k = 1.0 / (1.0 + 0.2316419 * tw.abs(d))
    poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804 * tw.exp(-0.5 * d * d) * poly
    return tw.where(d > 0.0, 1.0 - tail, tail)


def _cdf_plain(d: Any) -> Any:
    h = np.float32
    k = h(1) / (h(1) + h(0.2316419) * np.abs(d))
    poly = k * (h(0.31938153) + k * (h(-0.356563782) + k * (h(1.781477937) + k * (h(-1.821255978)
                                                                                  + k * h(1.330274429)))))
    tail = h(0.3989422804) * np.exp(h(-0.5) * d * d) * poly
    return np.where(d > 0, h(1) - tail, tail)


def black_scholes_plain(s: Any, k: Any, t: Any) -> Any:
    h = np.float32
    root = h(0.3) * np.sqrt(t)
    d1 = (np.log(s / k) + h(0.065) * t) / root
    return s * _cdf_plain(d1) - k * np.exp(h(-0.02) * t) * _cdf_plain(d1 - root)


@tw.tile_kernel
def choose(x, y, out):
    i = tw.bid(0)
    s, t = tw.load(x, i, TILE), tw.load(y, i, TILE)
    tw.store(out, i, tw.where(s > t, s, -t))


@tw.tile_kernel
def clamp(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.minimum(tw.maximum(tw.load(x, i, TILE), -1.0), 1.0))


@tw.tile_kernel
def convert(x, out, dtype: tw.Constant[Any]):
    i = tw.bid(0)
    tw.store(out, i, tw.astype(tw.load(x, i, TILE), dtype))


@tw.tile_kernel
def mandelbrot(re, im, out):
    i = tw.bid(0)
    a, b = tw.load(re, i, TILE), tw.load(im, i, TILE)
    x, y, steps = a, b, tw.zeros((TILE,), tw.int32)
    for _ in range(20):
        x, y = x * x - y * y + a, 2.0 * x * y + b
        steps += tw.where(x * x + y * y < 4.0, 1, 0)
    tw.store(out, i, steps)


def mandelbrot_plain(a: Any, b: Any) -> Any:
    x, y, steps = a, b, np.zeros(a.shape, np.int32)
    with np.errstate(all="ignore"):
        for _ in range(20):
            x, y = x * x - y * y + a, np.float32(2) * x * y + b
            steps += x * x + y * y < 4
    return steps


def _case(name: str, kernel: Any, plain: Callable[..., Any], inputs: tuple[Any, ...], out: Any = None,
          close: float = 1e-5, extra: tuple[Any, ...] = (), grid: Any = N // TILE) -> Case:
    out = np.zeros_like(inputs[0]) if out is None else out
    return Case(name, lambda: kernel[grid](*inputs, out, *extra), out, lambda: plain(*inputs), close)


def _add(name: str, dtype: Any, close: float, n: int = N) -> Case:
    x, y = normal(n, dtype=dtype), normal(n, dtype=dtype, seed=1)
    other = np.zeros_like(x)
    return _case(f"add {name}", add, lambda a, b: np.add(a, b, out=other), (x, y), None, close)


def _unary(name: str, kernel: Any, plain: Callable[..., Any], dtype: Any, close: float) -> Case:
    return _case(name, kernel, plain, (normal(N, dtype=dtype),), None, close)


def _cast(name: str, source: Any, target: Any, dtype: Any, scale: float = 1.0) -> Case:
    x = (normal(N) * scale).astype(source)
    return _case(f"cast {name}", convert, lambda v: v.astype(target), (x,), np.zeros(N, target), 1e-5, (dtype,))


def _options() -> Case:
    inputs = positive(N), positive(N, seed=1), positive(N, seed=2)
    return _case("Black-Scholes f32", black_scholes, black_scholes_plain, inputs, None, 1e-4)


CASES: tuple[Callable[[], Case], ...] = (
    partial(_add, "f32", np.float32, 0.0),
    partial(_add, "f32, an edge", np.float32, 0.0, N - 100),
    partial(_add, "f64", np.float64, 0.0),
    partial(_add, "f16", np.float16, 1e-3),
    partial(_add, "bf16", BF16, 1e-2),
    lambda: _case("integers i32", integers, lambda a, b: (a * 3 + b) ^ (b >> 2), (whole(1000, N), whole(999, N))),
    lambda: _case("fma chain f32", chain, chain_plain, (normal(N), positive(N) * np.float32(0.4))),
    lambda: _case("stencil of 3 points f32", three_points, three_points_plain, (normal(N),)),
    lambda: _case("stencil of 5 points f32", five_points, five_points_plain, (normal(1024, 1024),), grid=(32, 8)),
    partial(_unary, "exp f32", exponential, np.exp, np.float32, 1e-6),
    partial(_unary, "exp f16", exponential, np.exp, np.float16, 2e-3),
    partial(_unary, "exp bf16", exponential, np.exp, BF16, 1e-2),
    partial(_unary, "tanh f16", tangent, np.tanh, np.float16, 2e-3),
    partial(_unary, "sin f32", wave, np.sin, np.float32, 1e-6),
    partial(_unary, "gelu f32", gelu, gelu_plain, np.float32, 1e-5),
    lambda: _case("silu * y f16", silu_times, silu_times_plain,
                  (normal(N, dtype=np.float16), normal(N, dtype=np.float16, seed=1)), None, 1e-3),
    _options,
    lambda: _case("where f32", choose, lambda a, b: np.where(a > b, a, -b), (normal(N), normal(N, seed=1))),
    lambda: _case("clamp f32", clamp, lambda a: np.minimum(np.maximum(a, np.float32(-1)), np.float32(1)),
                  (normal(N),)),
    partial(_cast, "f32 to f16", np.float32, np.float16, tw.float16),
    partial(_cast, "f16 to f32", np.float16, np.float32, tw.float32),
    partial(_cast, "f32 to bf16", np.float32, BF16, tw.bfloat16),
    partial(_cast, "f32 to f8e4m3", np.float32, F8, tw.float8_e4m3fn),
    partial(_cast, "f32 to i32", np.float32, np.int32, tw.int32, 1000.0),
    lambda: _case("Mandelbrot, 20 steps f32", mandelbrot, mandelbrot_plain,
                  (normal(N // 4), normal(N // 4, seed=1)), np.zeros(N // 4, np.int32), 0.01, (), N // 4 // TILE),
)
