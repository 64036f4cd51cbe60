"""Element-wise kernels: every operator and function over its dtypes, at boundary sizes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Bound, Case, ulps

import tilewright as tw

TILE = 64
SIZES = (2 * TILE, 1, TILE - 1, TILE, TILE + 1, 131)
INTS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def binary(op: Callable[..., Any]) -> Any:
    @tw.tile_kernel
    def kernel(x, y, out, tile: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(out, (i,), op(tw.load(x, (i,), (tile,)), tw.load(y, (i,), (tile,))))

    return kernel


def unary(op: Callable[..., Any]) -> Any:
    @tw.tile_kernel
    def kernel(x, out, tile: tw.Constant[int]):
        i = tw.bid(0)
        tw.store(out, (i,), op(tw.load(x, (i,), (tile,))))

    return kernel


def numbers(rng: np.random.Generator, n: int, dtype: Any) -> np.ndarray:
    """Values of all magnitudes with special ones sprinkled in."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.integers(0, 2, n).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True)
        special = np.array([info.min, info.max, 0, 1], dtype)
    else:
        with np.errstate(over="ignore"):
            values = (rng.standard_normal(n) * np.exp2(rng.integers(-12, 12, n))).astype(dtype)
        special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], dtype)
    where = rng.integers(0, max(n, 1), min(n // 8, 12))
    values[where] = special[rng.integers(0, len(special), len(where))]
    return values


def in_float32(f: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """16-bit floats compute in float32 and round once: exact for + - * / and sqrt, as 24 >= 2 * 11 + 2."""

    def rounded(*args: np.ndarray) -> np.ndarray:
        dtype = args[0].dtype
        if dtype in (np.float16, ml_dtypes.bfloat16):
            with np.errstate(over="ignore"):
                return f(*(a.astype(np.float32) for a in args)).astype(dtype)
        return f(*args)

    return rounded


def quiet(f: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*args)

    return run


def make_binary_case(
    name: str, op: Any, ref: Any, dtype: Any, n: int, out_dtype: Any = None, adjust: Any = None
) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x, y = numbers(rng, n, dtype), numbers(rng, n, dtype)
        if adjust:
            x, y = adjust(x, y)
        return x, y, np.zeros(n, out_dtype or dtype), TILE

    def reference(x: np.ndarray, y: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        return (np.asarray(quiet(ref)(x, y)).astype(out.dtype),)

    title = f"{name}-{np.dtype(dtype).name}-{n}"
    return Case(title, KERNELS[name], (max(1, -(-n // TILE)),), make, (2,), reference)


def nonzero(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divisors away from 0 and from -1: division by zero and the overflow of min / -1 are unspecified."""
    return x, np.where((y == 0) | (y == -1) if y.dtype.kind == "i" else y == 0, 3, y).astype(y.dtype)


def small_shift(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return x, (y % np.array(8 * x.dtype.itemsize, x.dtype)).astype(x.dtype)


def ignore_nan(pick: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """min and max that skip NaNs and order -0.0 below 0.0."""

    def f(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = pick(x, y)
        if x.dtype.kind in "iu":
            return out
        negative = np.signbit(x) | np.signbit(y) if pick is np.minimum else np.signbit(x) & np.signbit(y)
        zero = np.where(negative, np.array(-0.0, x.dtype), np.array(0.0, x.dtype))
        out = np.where((x == 0) & (y == 0), zero, out)
        return np.where(np.isnan(x), y, np.where(np.isnan(y), x, out))

    return f


# name -> (operator in the kernel, NumPy reference, dtypes, dtype of the result, adjustment of the inputs)
BINARY: dict[str, tuple[Any, Any, tuple[Any, ...], Any, Any]] = {
    "add": (operator.add, in_float32(np.add), INTS + FLOATS, None, None),
    "sub": (operator.sub, in_float32(np.subtract), INTS + FLOATS, None, None),
    "mul": (operator.mul, in_float32(np.multiply), INTS + FLOATS, None, None),
    "truediv": (operator.truediv, in_float32(np.divide), FLOATS, None, None),
    "floordiv": (operator.floordiv, np.floor_divide, INTS, None, nonzero),
    "mod": (operator.mod, np.remainder, INTS, None, nonzero),
    "minimum": (tw.minimum, in_float32(ignore_nan(np.minimum)), INTS + FLOATS, None, None),
    "maximum": (tw.maximum, in_float32(ignore_nan(np.maximum)), INTS + FLOATS, None, None),
    "bitwise_and": (operator.and_, np.bitwise_and, (*INTS, np.bool_), None, None),
    "bitwise_or": (operator.or_, np.bitwise_or, (*INTS, np.bool_), None, None),
    "bitwise_xor": (operator.xor, np.bitwise_xor, (*INTS, np.bool_), None, None),
    "bitwise_lshift": (operator.lshift, np.left_shift, INTS, None, small_shift),
    "bitwise_rshift": (operator.rshift, np.right_shift, INTS, None, small_shift),
    "equal": (operator.eq, np.equal, (*INTS, *FLOATS, np.bool_), np.bool_, None),
    "not_equal": (operator.ne, np.not_equal, INTS + FLOATS, np.bool_, None),
    "less": (operator.lt, np.less, INTS + FLOATS, np.bool_, None),
    "less_equal": (operator.le, np.less_equal, INTS + FLOATS, np.bool_, None),
    "greater": (operator.gt, np.greater, INTS + FLOATS, np.bool_, None),
    "greater_equal": (operator.ge, np.greater_equal, INTS + FLOATS, np.bool_, None),
}

# name -> (function in the kernel, reference in higher precision, normal numbers to its domain, ulps allowed)
FUNCTIONS: dict[str, tuple[Any, Any, Any, float]] = {
    "exp": (tw.exp, np.exp, lambda v: v % 80, 2),
    "exp2": (tw.exp2, np.exp2, lambda v: v % 100, 2),
    "log": (tw.log, np.log, np.abs, 2),
    "log2": (tw.log2, np.log2, np.abs, 2),
    "sqrt": (tw.sqrt, np.sqrt, np.abs, 0),
    "rsqrt": (tw.rsqrt, lambda v: 1 / np.sqrt(v), np.abs, 2),
    "sin": (tw.sin, np.sin, lambda v: v, 2),
    "cos": (tw.cos, np.cos, lambda v: v, 2),
    "tan": (tw.tan, np.tan, lambda v: v, 4),
    "sinh": (tw.sinh, np.sinh, lambda v: v % 60 - 30, 4),
    "cosh": (tw.cosh, np.cosh, lambda v: v % 60 - 30, 4),
    "tanh": (tw.tanh, np.tanh, lambda v: v, 2),
    "floor": (tw.floor, np.floor, lambda v: v, 0),
    "ceil": (tw.ceil, np.ceil, lambda v: v, 0),
    "trunc": (tw.trunc, np.trunc, lambda v: v, 0),
    "stop_gradient": (tw.stop_gradient, np.positive, lambda v: v, 0),
    "negative": (tw.negative, np.negative, lambda v: v, 0),
    "abs": (tw.abs, np.abs, lambda v: v, 0),
}

KERNELS = {name: binary(row[0]) for name, row in BINARY.items()}
KERNELS |= {name: unary(row[0]) for name, row in FUNCTIONS.items()}


def function_case(name: str, dtype: Any, n: int) -> Case:
    _, ref, domain, count = FUNCTIONS[name]

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            x = domain(numbers(rng, n, dtype).astype(np.float64)).astype(dtype)
        return x, np.zeros(n, dtype), TILE

    def reference(x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        wide = np.longdouble if np.dtype(dtype) == np.float64 else np.float64
        with np.errstate(all="ignore"):
            return (ref(x.astype(wide)).astype(dtype),)

    bound: Bound | None = ulps(count, dtype) if count else None
    grid = (max(1, -(-n // TILE)),)
    return Case(f"{name}-{np.dtype(dtype).name}-{n}", KERNELS[name], grid, make, (1,), reference, bound)


def cases() -> Iterator[Case]:
    """One ragged size for every (name, dtype), every boundary size for add."""
    for name, (op, ref, dtypes, out, adjust) in BINARY.items():
        for dtype in dtypes:
            for n in SIZES if name == "add" and dtype in (np.int8, np.float32) else (131,):
                yield make_binary_case(name, op, ref, dtype, n, out, adjust)
    for name in FUNCTIONS:
        for dtype in FLOATS:
            yield function_case(name, dtype, 131)
