"""Matrix products: every pair of operand and accumulator dtypes, tile sizes, ragged edges, batches, chains, fusion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Bound, Case

import tilewright as tw

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
ZERO = tw.PaddingMode.ZERO
# BLAS sums in an order that depends on the shape of what it is given.
UNORDERED = frozenset({"unordered"})


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), c.dtype)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def product_tf32(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO).astype(tw.tfloat32)
        tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.tfloat32)
        acc = tw.mma(ta, tb, acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def turned(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """a is stored [K, M], b [N, K]."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 0, (tk, tm))):
        ta = tw.load(a, (i, k), (tm, tk), order="F", padding_mode=ZERO)
        tb = tw.load(b, (j, k), (tn, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.permute(tb, (1, 0)), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def at_sign(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    left = tw.load(a, (0, 0), (tm, tk), padding_mode=ZERO)
    tw.store(c, (0, 0), left @ tw.load(b, (0, 0), (tk, tn), padding_mode=ZERO))


@tw.tile_kernel
def batched(a, b, c, tb: tw.Constant[int], tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    n, i, j = tw.bid(0), tw.bid(1), tw.bid(2)
    acc = tw.zeros((tb, tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 2, (tb, tm, tk))):
        ta = tw.load(a, (n, i, k), (tb, tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(c, (n, i, j), acc)


@tw.tile_kernel
def chained(a, b, c, d, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """relu(a @ b) @ c, block by block of b's columns."""
    i = tw.bid(0)
    ta = tw.load(a, (i, 0), (tm, tk), padding_mode=ZERO)
    out = tw.zeros((tm, tk), tw.float32)
    for j in range(tw.num_tiles(b, 1, (tk, tn))):
        tb = tw.load(b, (0, j), (tk, tn), padding_mode=ZERO)
        inner = tw.mma(ta, tb, tw.zeros((tm, tn), tw.float32))
        hidden = tw.maximum(inner, 0.0).astype(a.dtype)
        out = tw.mma(hidden, tw.load(c, (j, 0), (tn, tk), padding_mode=ZERO), out)
    tw.store(d, (i, 0), out)


@tw.tile_kernel
def epilogue(a, b, bias, out, total, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(ta, tw.load(b, (k, j), (tk, tn), padding_mode=ZERO), acc)
    y = tw.maximum(acc + tw.load(bias, (j,), (tn,), padding_mode=ZERO), 0.0)
    tw.store(total, (i, j), tw.sum(y, axis=1, keepdims=True))
    tw.store(out, (i, j), y.astype(out.dtype))


def operand(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def rounded(x: np.ndarray, tf32: bool) -> np.ndarray:
    """The operand as the product sees it, in float64 or int64."""
    if x.dtype.kind in "iu":
        return x.astype(np.int64)
    if tf32:
        bits = x.view(np.uint32)
        bits = bits + np.uint32(0x0FFF) + ((bits >> np.uint32(13)) & np.uint32(1))
        x = (bits & np.uint32(0xFFFFE000)).view(np.float32)
    return x.astype(np.float64)


def within(size: np.ndarray, terms: int, dtype: Any) -> Bound:
    """terms * eps * sum|a||b|."""
    eps = float(ml_dtypes.finfo(dtype).eps)
    return lambda want: terms * eps * size


def product_case(
    name: str, kernel: Any, a: Any, b: Any, acc: Any, shape: tuple[int, int, int], tile: tuple[int, int, int],
    tf32: bool = False, turn: bool = False,
) -> Case:
    (m, n, k), (tm, tn, _) = shape, tile

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        left, right = operand(rng, (m, k), a), operand(rng, (k, n), b)
        if turn:
            left, right = np.ascontiguousarray(left.T), np.ascontiguousarray(right.T)
        return left, right, np.zeros((m, n), acc), *tile

    def factors(args: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        left, right = (rounded(x, tf32) for x in args[:2])
        return (left.T, right.T) if turn else (left, right)

    def reference(*args: Any) -> tuple[np.ndarray, ...]:
        left, right = factors(args)
        exact = left @ right
        return (exact.astype(np.int32) if exact.dtype.kind == "i" else exact,)

    bound: Bound | None = None
    if np.dtype(acc).kind not in "iu":
        # The inputs of seed 0 are those of every run.
        left, right = factors(make(np.random.default_rng([0, *name.encode()])))
        bound = within(np.abs(left) @ np.abs(right), k + 1, acc)
    grid = (-(-m // tm), -(-n // tn))
    return Case(name, kernel, grid, make, (2,), reference, bound, tags=UNORDERED)


# (a, b, accumulator) of every pair that the language allows.
PAIRS = (
    (np.float16, np.float16, np.float16), (np.float16, np.float16, np.float32), (BF16, BF16, np.float32),
    (np.float32, np.float32, np.float32), (np.float64, np.float64, np.float64),
    (E4M3, E4M3, np.float32), (E5M2, E5M2, np.float32), (E4M3, E4M3, np.float16),
    (np.int8, np.int8, np.int32), (np.uint8, np.uint8, np.int32), (np.int8, np.uint8, np.int32),
    (np.uint8, np.int8, np.int32),
)
TILES = ((16, 8, 16), (32, 32, 32), (64, 64, 32), (128, 128, 64), (4, 4, 4), (1, 64, 32), (16, 128, 8))


def title(kind: str, *parts: Any) -> str:
    return "-".join([kind, *(p if isinstance(p, str) else "x".join(map(str, p)) if isinstance(p, tuple)
                             else np.dtype(p).name for p in parts)])


def batched_case() -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (3, 40, 48), np.float16), operand(rng, (48, 24), np.float16), \
            np.zeros((3, 40, 24), np.float32), 2, 32, 16, 16

    def reference(a: np.ndarray, b: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        return (a.astype(np.float64) @ b.astype(np.float64),)

    return Case("batched-float16", batched, (2, 2, 2), make, (2,), reference, lambda want: 48 * 2.0**-23 * 48 * 4,
                tags=UNORDERED)


def chained_case(dtype: Any) -> Case:
    m, n, k = 64, 96, 32

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (m, k), dtype), operand(rng, (k, n), dtype), operand(rng, (n, k), dtype), \
            np.zeros((m, k), np.float32), 32, 32, k

    def reference(a: np.ndarray, b: np.ndarray, c: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        hidden = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
        return (hidden @ c.astype(np.float64),)

    # Each hidden value is rounded to the operands' format once, and is at most about 4 sqrt(k).
    eps = float(ml_dtypes.finfo(dtype).eps)
    return Case(title("chained", dtype), chained, (2,), make, (3,), reference, lambda want: eps * n * 4 * np.sqrt(k),
                tags=UNORDERED)


def epilogue_case() -> Case:
    m, n, k, tn = 50, 70, 40, 32
    eps = float(ml_dtypes.finfo(BF16).eps)

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return operand(rng, (m, k), BF16), operand(rng, (k, n), BF16), operand(rng, (n,), np.float32), \
            np.zeros((m, n), BF16), np.zeros((m, -(-n // tn)), np.float32), 32, tn, 16

    def reference(a: np.ndarray, b: np.ndarray, bias: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        y = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + bias, 0)
        return y, np.stack([y[:, s : s + tn].sum(1) for s in range(0, n, tn)], 1)

    return Case("matmul-bias-relu-sum", epilogue, (2, 3), make, (3, 4), reference,
                lambda want: eps * np.abs(want) + 1e-3, tags=UNORDERED)


def cases() -> Iterator[Case]:
    for a, b, acc in PAIRS:
        yield product_case(title("product", a, b, acc, (32, 32, 32)), product, a, b, acc, (40, 56, 72), (32, 32, 32))
    for tile in TILES:
        m, n, k = (2 * t - 3 if t > 4 else t + 1 for t in tile)
        for dtype in (BF16, np.float32) if tile != (128, 128, 64) else (BF16,):
            yield product_case(title("tile", dtype, tile), product, dtype, dtype, np.float32, (m, n, k), tile)
    # The instructions with half the depth.
    yield product_case("shallow-int8", product, np.int8, np.int8, np.int32, (40, 24, 48), (32, 16, 16))
    yield product_case("shallow-float16", product, np.float16, np.float16, np.float16, (40, 24, 24), (32, 16, 8))
    yield product_case("shallow-tf32", product_tf32, np.float32, np.float32, np.float32, (40, 24, 12), (32, 16, 4),
                       tf32=True)
    # Rows of 16 bytes and more, so that the copies may be asynchronous.
    for dtype in (np.float16, np.float32):
        yield product_case(title("aligned", dtype), product, dtype, dtype, np.float32, (64, 64, 128), (64, 64, 32))
    yield product_case("tf32", product_tf32, np.float32, np.float32, np.float32, (48, 40, 56), (32, 32, 16), tf32=True)
    for dtype in (BF16, np.float32):
        yield product_case(title("turned", dtype), turned, dtype, dtype, np.float32, (72, 40, 104), (32, 32, 32),
                         turn=True)
    for dtype in (np.float16, np.float32):
        yield product_case(title("at", dtype), at_sign, dtype, dtype, dtype, (30, 28, 32), (32, 32, 32))
    yield batched_case()
    yield chained_case(np.float16)
    yield chained_case(np.float32)
    yield epilogue_case()
