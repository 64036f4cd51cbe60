"""Reductions over every axis and dtype, with NaNs and ties, and shape changes around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case
from catalogue.elementwise import numbers
from catalogue.memory import values

import tilewright as tw

SHAPE = (8, 4, 16)
AXES: tuple[Any, ...] = (None, 0, 1, 2, -1, (0, 2), (1, 2), (0, 1, 2))
DTYPES = (np.int8, np.int32, np.int64, np.uint16, np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def kernel_for(op: Callable[..., Any], axis: Any, keepdims: bool, rank: int) -> Any:
    zeros = (0,) * rank

    @tw.tile_kernel
    def kernel(x, out):
        t = op(tw.load(x, (tw.bid(0), 0, 0), SHAPE), axis=axis, keepdims=keepdims)
        tw.store(out, (tw.bid(0),) + zeros, t.reshape((1,) + t.shape))

    return kernel


def extreme(pick: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """min or max that skips NaNs; only NaNs give NaN."""

    def f(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
        if x.dtype.kind in "iu":
            return pick(x, axis=axis, keepdims=keepdims)
        wide = x.astype(np.float64)
        worst = -np.inf if pick is np.max else np.inf
        out = pick(np.where(np.isnan(wide), worst, wide), axis=axis, keepdims=keepdims)
        return np.where(np.isnan(wide).all(axis=axis, keepdims=keepdims), np.nan, out)

    return f


def arg_extreme(pick: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def f(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
        if x.dtype.kind not in "iu":
            x = np.where(np.isnan(x.astype(np.float64)), -np.inf if pick is np.argmax else np.inf, x.astype(np.float64))
        return pick(x, axis=axis, keepdims=keepdims)

    return f


def wrapping(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def run(x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
        return f(x, axis=axis, keepdims=keepdims, dtype=x.dtype if x.dtype.kind in "iu" else np.float64)

    return run


# name -> (function, reference, is the result an index, is it exact)
OPS: dict[str, tuple[Any, Any, bool, bool]] = {
    "sum": (tw.sum, wrapping(np.sum), False, False),
    "prod": (tw.prod, wrapping(np.prod), False, False),
    "max": (tw.max, extreme(np.max), False, True),
    "min": (tw.min, extreme(np.min), False, True),
    "argmax": (tw.argmax, arg_extreme(np.argmax), True, True),
    "argmin": (tw.argmin, arg_extreme(np.argmin), True, True),
}


def reduction_case(name: str, dtype: Any, axis: Any, keepdims: bool) -> Case:
    op, ref, is_index, exact = OPS[name]
    integer = np.dtype(dtype).kind in "iu"
    sample = ref(np.zeros(SHAPE, np.float32), axis, keepdims)

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        n = 3 * int(np.prod(SHAPE))
        if exact or integer:
            x = numbers(rng, n, dtype)
        elif name == "prod":
            x = np.exp2(rng.uniform(-0.05, 0.05, n)).astype(dtype)
        else:
            x = values(rng, (n,), dtype)
        x = x.reshape(3 * SHAPE[0], *SHAPE[1:])
        return x, np.zeros((3, *sample.shape), np.int32 if is_index else dtype)

    def reference(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            parts = [ref(t, axis, keepdims) for t in x.reshape(3, *SHAPE)]
            return (np.stack(parts).astype(out.dtype if exact or integer else np.float64),)

    bound = None
    if not (exact or integer):
        eps, count = float(ml_dtypes.finfo(dtype).eps), int(np.prod(SHAPE))
        # A sum of values of size about 100 in float32 (16-bit types: plus one rounding); a product near 1.
        inner = float(np.finfo(np.float32).eps) if np.dtype(dtype).itemsize == 2 else eps
        bound = lambda want: eps * np.abs(want) + inner * count * (count * 400 if name == "sum" else np.abs(want))  # noqa: E731
    kernel = kernel_for(op, axis, keepdims, len(sample.shape))
    title = f"{name}-{np.dtype(dtype).name}-axis{axis}{'-keep' if keepdims else ''}".replace(" ", "")
    return Case(title, kernel, (3,), make, (1,), reference, bound)


@tw.tile_kernel
def wide_row(x, total, largest, where, columns: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, columns), padding_mode=tw.PaddingMode.ZERO)
    tw.store(total, (i,), tw.sum(t, axis=1))
    tw.store(largest, (i,), tw.max(t, axis=1))
    tw.store(where, (i,), tw.argmax(t, axis=1))


def wide_row_case(columns: int) -> Case:
    n = columns - 3

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x = rng.integers(-1000, 1000, (3, n)).astype(np.int32)
        return x, np.zeros(3, np.int32), np.zeros(3, np.int32), np.zeros(3, np.int32), columns

    def reference(x: np.ndarray, *rest: Any) -> tuple[np.ndarray, ...]:
        return x.sum(1, dtype=np.int32), x.max(1), x.argmax(1).astype(np.int32)

    return Case(f"wide_row-{columns}", wide_row, (3,), make, (1, 2, 3), reference)


@tw.tile_kernel
def shapes(x, out):
    t = tw.load(x, (tw.bid(0), 0, 0), SHAPE)
    a = tw.reshape(t, (32, -1))
    b = tw.permute(tw.reshape(a, (4, 8, 16)), (2, 0, 1))
    c = tw.expand_dims(tw.sum(b, axis=0), 0)
    d = tw.broadcast_to(c, (16, 4, 8)) + b
    e = tw.transpose(d, 0, 2)
    tw.store(out, (tw.bid(0), 0, 0), tw.where(e > 0, e, -e)[..., None].reshape((8, 4, 16)))


def shapes_case(dtype: Any) -> Case:
    def reference(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
        parts = []
        for t in x.reshape(2, *SHAPE):
            b = t.reshape(4, 8, 16).transpose(2, 0, 1)
            e = (b.sum(0, dtype=x.dtype)[None] + b).transpose(2, 1, 0)
            parts.append(np.where(e > 0, e, -e))
        return (np.concatenate(parts),)

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x = rng.integers(-100, 100, (16, 4, 16)).astype(dtype)
        return x, np.zeros_like(x)

    return Case(f"shapes-{np.dtype(dtype).name}", shapes, (2,), make, (1,), reference)


def cases() -> Iterator[Case]:
    for name, (_, _, is_index, _) in OPS.items():
        for dtype in DTYPES:
            yield reduction_case(name, dtype, 2, False)
        for axis in AXES:
            if not (is_index and isinstance(axis, tuple)):
                yield reduction_case(name, np.float32, axis, True)
    for columns in (64, 1024, 4096):
        yield wide_row_case(columns)
    for dtype in (np.int8, np.int32, np.float32, np.float64):
        yield shapes_case(dtype)
