"""Helpers of the interpreter's tests: build one-op kernels, run them in each mode, compare bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.formats import array_dtype
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arrays, control, memory
from tilewright.tileir.types import ArrayType

TILE = 128


def full_grid(grid: Sequence[int]) -> tuple[int, int, int]:
    """A grid with all its axes."""
    x, y, z = (*grid, 1, 1)[:3]
    return x, y, z


def array_type(dtype: dt.DType, rank: int = 1) -> ArrayType:
    return ArrayType(dtype, (None,) * rank, (None,) * rank)


def dtype_of(array: np.ndarray) -> dt.DType:
    """The element type that a NumPy array holds."""
    return next(d for d in dt.ALL if d is not dt.tfloat32 and array_dtype(d) == array.dtype)


def elementwise(make: Callable[..., Op], inputs: Sequence[dt.DType], output: dt.DType) -> Function:
    """A kernel that loads tiles, applies one op, and stores its result."""
    params = [Value(array_type(d), f"x{i}") for i, d in enumerate(inputs)]
    out = Value(array_type(output), "out")
    body = Block([*params, out])
    build = Builder(body)
    block = build.value(arrays.BlockId(axis=0))
    loads = [memory.Load(array=p, index=(block,), shape=(TILE,), steps=(TILE,), order=(0,)) for p in params]
    tiles = [build.value(load) for load in loads]
    result = build.value(make(*tiles))
    build.emit(memory.Store(array=out, index=(block,), value=result, steps=(TILE,), order=(0,)))
    build.emit(control.Return())
    return Function("kernel", body)


def apply(make: Callable[..., Op], *inputs: np.ndarray, output: dt.DType | None = None, single: bool = False) -> Any:
    """The op applied to flat arrays through the interpreter."""
    kinds = [dtype_of(x) for x in inputs]
    out_dtype = output or kinds[0]
    n = len(inputs[0])
    out = np.zeros(n, array_dtype(out_dtype))
    program = compile_function(elementwise(make, kinds, out_dtype))
    program.run((max(1, -(-n // TILE)), 1, 1), [*inputs, out], ExecutionOptions(mode="single" if single else "chunked"))
    return out


def bits(a: np.ndarray) -> np.ndarray:
    """Elements as unsigned integers, every NaN as one pattern."""
    a = np.ascontiguousarray(a)
    raw = a.view(f"u{a.dtype.itemsize}").copy()
    if a.dtype.kind not in "iub":
        raw[np.isnan(a.astype(np.float64))] = np.iinfo(raw.dtype).max
    return raw


def assert_same(got: Any, want: Any, *context: np.ndarray) -> None:
    """Equal dtypes and bits, NaNs in the same places; shows the first difference with its inputs."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, want.dtype, got.shape, want.shape)
    wrong = np.argwhere(bits(got) != bits(want))
    if len(wrong):
        at = tuple(wrong[0])
        raise AssertionError(f"{len(wrong)} differ, first at {at}: {got[at]!r} for {want[at]!r}, "
                             f"inputs {[c[at] for c in context]}")


def samples(dtype: dt.DType, n: int, seed: int) -> np.ndarray:
    """Random bit patterns of a dtype (every kind of value), edge values in front."""
    rng = np.random.default_rng(seed)
    memory_dtype = array_dtype(dtype)
    if dtype.is_bool:
        return rng.integers(0, 2, n).astype(np.bool_)
    edges: list[int] | list[float]
    if dtype.is_int:
        low, high = dtype.int_range
        edges = [low, low + 1, 0, 1, 2, high - 1, high] + ([-1, -2] if low else [])
        out = rng.integers(low, high, n, dtype=memory_dtype, endpoint=True)
        small = rng.integers(-9 if low else 0, 10, n).astype(memory_dtype)
        out = np.where(rng.random(n) < 0.4, small, out)
    else:
        raw = rng.integers(0, 1 << min(dtype.bitwidth, 63), n, dtype=np.uint64)
        if dtype.bitwidth == 64:
            raw = raw | (rng.integers(0, 2, n, dtype=np.uint64) << np.uint64(63))
        out = raw.astype(f"u{memory_dtype.itemsize}").view(memory_dtype)
        with np.errstate(all="ignore"):
            normal = (rng.standard_normal(n) * 4).astype(np.float32).astype(memory_dtype)
            edges = [0.0, -0.0, 1.0, -1.0, 1.5, -2.5, 3.0]
            if dtype.has_inf:
                edges += [float("inf"), float("-inf"), float("nan"), float(ml_dtypes.finfo(memory_dtype).max),
                          float(ml_dtypes.finfo(memory_dtype).smallest_subnormal),
                          float(ml_dtypes.finfo(memory_dtype).smallest_normal)]
        out = np.where(rng.random(n) < 0.5, normal, out)
    with np.errstate(all="ignore"):
        front = np.array(edges, np.float64).astype(memory_dtype) if dtype.is_float else np.array(edges, memory_dtype)
    out[: len(front)] = front[: len(out)]
    return rng.permutation(out)


def round_exact(x: Fraction, dtype: dt.DType, mode: RoundingMode) -> float:
    """A nonzero exact value rounded to a float format, from the definition of the format alone."""
    bias = (1 << (dtype.exponent - 1)) - 1
    magnitude = abs(x)
    e = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** e:
        e -= 1
    quantum = Fraction(2) ** (max(e, 1 - bias) - dtype.mantissa)
    n, rest = divmod(magnitude, quantum)
    up = {
        RoundingMode.RN: 2 * rest > quantum or (2 * rest == quantum and n % 2 == 1),
        RoundingMode.RZ: False, RoundingMode.RM: rest > 0 and x < 0, RoundingMode.RP: rest > 0 and x > 0,
        RoundingMode.RA: 2 * rest >= quantum,
    }[mode]
    value = (n + up) * quantum
    largest = (2 - Fraction(1, 1 << dtype.mantissa)) * Fraction(2) ** bias
    if value > largest:
        toward = mode is RoundingMode.RZ or (mode is RoundingMode.RM and x > 0) or (mode is RoundingMode.RP and x < 0)
        value = largest if toward else math.inf
    return -float(value) if x < 0 else float(value)


def wrap(value: int, dtype: dt.DType) -> int:
    """An exact integer in the range of a dtype, modulo 2**width."""
    low, _ = dtype.int_range
    return (value - low) % (1 << dtype.bitwidth) + low
