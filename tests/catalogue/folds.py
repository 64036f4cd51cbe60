"""Scans and reductions by functions: axes, dtypes, directions, several operands, order, captured scalars."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case
from catalogue.memory import values

import tilewright as tw

SHAPE = (8, 4, 16)
DTYPES = (np.int8, np.int32, np.int64, np.uint16, np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def running(op: Any, axis: int, reverse: bool) -> Any:
    @tw.tile_kernel
    def kernel(x, out):
        tw.store(out, (tw.bid(0), 0, 0), op(tw.load(x, (tw.bid(0), 0, 0), SHAPE), axis, reverse=reverse))

    return kernel


@tw.tile_kernel
def long_sum(x, out, n: tw.Constant[int], reverse: tw.Constant[bool]):
    tw.store(out, (tw.bid(0),), tw.cumsum(tw.load(x, (tw.bid(0),), (n,)), reverse=reverse))


@tw.tile_kernel
def wide_sum(x, out, tm: tw.Constant[int], tn: tw.Constant[int], axis: tw.Constant[int]):
    tw.store(out, (tw.bid(0), 0), tw.cumsum(tw.load(x, (tw.bid(0), 0), (tm, tn)), axis))


def compose(a0, b0, a1, b1):
    # x -> a1 * (a0 * x + b0) + b1: associative, does not commute.
    return a1 * a0, a1 * b0 + b1


@tw.tile_kernel
def affine(a, b, at_end, so_far, n: tw.Constant[int]):
    i = tw.bid(0)
    both = tw.load(a, (i, 0), (1, n)), tw.load(b, (i, 0), (1, n))
    p, q = tw.reduce(both, 1, compose, (1, 0), keepdims=True)
    tw.store(at_end, (i, 0), p * 3 + q)
    p, q = tw.scan(both, 1, compose, (1, 0))
    tw.store(so_far, (i, 0), p * 3 + q)


@tw.tile_kernel
def affine_backwards(a, b, so_far, n: tw.Constant[int]):
    i = tw.bid(0)
    p, q = tw.scan((tw.load(a, (i, 0), (1, n)), tw.load(b, (i, 0), (1, n))), 1, compose, (1, 0), reverse=True)
    tw.store(so_far, (i, 0), p * 3 + q)


@tw.tile_kernel
def best(x, value, place, n: tw.Constant[int]):
    # The largest element and its place, the last of several.
    i = tw.bid(0)

    def later(a, ai, b, bi):
        take = b >= a
        return tw.where(take, b, a), tw.where(take, bi, ai)

    v, p = tw.reduce((tw.load(x, (i, 0), (4, n)), tw.arange(n, dtype=tw.int32)[None, :]), 1, later, (0, 0))
    tw.store(value, (i,), v)
    tw.store(place, (i,), p)


@tw.tile_kernel
def any_and_all(x, some, every, parity):
    m = tw.load(x, (tw.bid(0), 0), (4, 64)) > 0
    tw.store(some, (tw.bid(0),), tw.reduce(m, 1, operator.or_, False))
    tw.store(every, (tw.bid(0),), tw.reduce(m, 1, operator.and_, True))
    tw.store(parity, (tw.bid(0), 0), tw.scan(m, 1, operator.xor, False))


@tw.tile_kernel
def captured(x, out, shift):
    # The function reads a scalar that differs from block to block.
    limit = tw.bid(0) + shift
    t = tw.load(x, (tw.bid(0), 0), (1, 128))
    tw.store(out, (tw.bid(0), 0), tw.scan(t, 1, lambda a, b: tw.minimum(a + b, limit), 0))


def running_case(name: str, dtype: Any, axis: int, reverse: bool) -> Case:
    integer = np.dtype(dtype).kind in "iu"
    ufunc = np.add if name == "cumsum" else np.multiply

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        n = 3 * int(np.prod(SHAPE))
        x = rng.integers(0, 5, n) if integer else 1 + rng.standard_normal(n) / 8 if name == "cumprod" \
            else rng.standard_normal(n)
        x = np.asarray(x).astype(dtype).reshape(3 * SHAPE[0], *SHAPE[1:])
        return x, np.zeros_like(x)

    def reference(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
        wide = x if integer else x.astype(np.float64)
        blocks = wide.reshape(3, *SHAPE)
        turn = (lambda a: np.flip(a, axis + 1)) if reverse else (lambda a: a)
        return (turn(ufunc.accumulate(turn(blocks), axis + 1, dtype=wide.dtype)).reshape(x.shape),)

    def bound(want: np.ndarray) -> Any:
        # 16 elements at most, each step rounded: sums of |x| up to 40, products up to 8.
        return 16 * 40 * float(ml_dtypes.finfo(dtype).eps)

    label = f"{name}-{np.dtype(dtype).name}-{axis}{'-reverse' if reverse else ''}"
    return Case(label, KERNELS[name, axis, reverse], (3,), make, (1,), reference, None if integer else bound)


KERNELS = {(name, axis, reverse): running(getattr(tw, name), axis, reverse)
           for name in ("cumsum", "cumprod") for axis in (0, 1, 2) for reverse in (False, True)}


def long_case(n: int, reverse: bool) -> Case:
    def reference(x: np.ndarray, out: np.ndarray, n: int, reverse: bool) -> tuple[np.ndarray, ...]:
        rows = x.reshape(2, n)
        rows = rows[:, ::-1].cumsum(1)[:, ::-1] if reverse else rows.cumsum(1)
        return (rows.reshape(-1).astype(np.int32),)

    return Case(f"cumsum-{n}{'-reverse' if reverse else ''}", long_sum, (2,),
                lambda rng: (rng.integers(-9, 9, 2 * n).astype(np.int32), np.zeros(2 * n, np.int32), n, reverse), (1,),
                reference)


def wide_case(tm: int, tn: int, axis: int) -> Case:
    def reference(x: np.ndarray, out: np.ndarray, *rest: int) -> tuple[np.ndarray, ...]:
        return (x.reshape(2, tm, tn).cumsum(axis + 1).reshape(2 * tm, tn).astype(np.int32),)

    return Case(f"cumsum-{tm}x{tn}-{axis}", wide_sum, (2,),
                lambda rng: (rng.integers(-9, 9, (2 * tm, tn)).astype(np.int32), np.zeros((2 * tm, tn), np.int32),
                             tm, tn, axis), (1,), reference)


def affine_reference(a: np.ndarray, b: np.ndarray, reverse: bool) -> np.ndarray:
    out = np.zeros_like(a)
    order = range(a.shape[1] - 1, -1, -1) if reverse else range(a.shape[1])
    for row in range(len(a)):
        x = a.dtype.type(3)
        with np.errstate(over="ignore"):
            for k in order:
                x = a[row, k] * x + b[row, k]
                out[row, k] = x
    return out


def affine_inputs(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.integers(-9, 9, (3, n)).astype(np.int32), rng.integers(-9, 9, (3, n)).astype(np.int32)


def captured_reference(x: np.ndarray, out: np.ndarray, shift: int) -> tuple[np.ndarray, ...]:
    for row in range(len(x)):
        total = None
        for k in range(x.shape[1]):
            total = x[row, k] if total is None else min(total + x[row, k], row + shift)
            out[row, k] = total
    return (out,)


def best_reference(x: np.ndarray, value: np.ndarray, place: np.ndarray, n: int) -> tuple[np.ndarray, ...]:
    return x.max(1), (n - 1 - x[:, ::-1].argmax(1)).astype(np.int32)


def truth_reference(x: np.ndarray, some: Any, every: Any, parity: Any) -> tuple[np.ndarray, ...]:
    m = x > 0
    return np.asarray(m.any(1)), np.asarray(m.all(1)), np.bitwise_xor.accumulate(m, 1)


def cases() -> Iterator[Case]:
    for dtype in DTYPES:
        for axis in (0, 1, 2):
            yield running_case("cumsum", dtype, axis, axis == 1)
        yield running_case("cumprod", dtype, 2, dtype is np.float32)
    for n in (1, 2, 32, 128, 1024, 4096):
        yield long_case(n, False)
    yield long_case(256, True)
    for tm, tn, axis in ((64, 64, 0), (64, 64, 1), (2, 512, 1), (256, 4, 0), (16, 256, 1)):
        yield wide_case(tm, tn, axis)
    for n in (8, 64, 256):
        yield Case(f"affine-{n}", affine, (3,),
                   lambda rng, n=n: (*affine_inputs(rng, n), np.zeros((3, 1), np.int32), np.zeros((3, n), np.int32), n),
                   (2, 3), lambda a, b, e, s, n: (affine_reference(a, b, False)[:, -1:], affine_reference(a, b, False)))
    yield Case("affine-backwards", affine_backwards, (3,),
               lambda rng: (*affine_inputs(rng, 128), np.zeros((3, 128), np.int32), 128), (2,),
               lambda a, b, s, n: (affine_reference(a, b, True),))
    yield Case("best", best, (3,),
               lambda rng: (rng.integers(0, 20, (12, 128)).astype(np.float32), np.zeros(12, np.float32),
                            np.zeros(12, np.int32), 128), (1, 2), best_reference)
    yield Case("any-and-all", any_and_all, (2,),
               lambda rng: (np.concatenate([values(rng, (6, 64), np.float32), np.ones((2, 64), np.float32)]),
                            np.zeros(8, np.bool_), np.zeros(8, np.bool_), np.zeros((8, 64), np.bool_)), (1, 2, 3),
               truth_reference)
    yield Case("captured-scalar", captured, (4,),
               lambda rng: (rng.integers(0, 5, (4, 128)).astype(np.int32), np.zeros((4, 128), np.int32), 90), (1,),
               captured_reference)
