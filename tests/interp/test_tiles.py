"""Reductions, shape changes and matrix products of tiles, chunked and single, against NumPy and exact sums."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interp_cases import array_dtype, array_type, assert_same, compile_function, samples, wrap

from tilewright.interp import ExecutionOptions
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.ops import arith, arrays, control, matmul, memory, reduce, shape
from tilewright.tileir.types import TileType

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning",
                                        "ignore:overflow encountered:RuntimeWarning")
FLOATS = [dt.float16, dt.bfloat16, dt.float32, dt.float64]


def on_tiles(make: Any, inputs: list[np.ndarray], kinds: list[dt.DType], shared: tuple[int, ...] = ()) -> np.ndarray:
    """make(build, *tiles) for every block: input [blocks, *shape] gives tiles of `shape`, result [blocks, *shape].

    Inputs whose position is in `shared` are the same tile for all blocks ([1, *shape])."""
    params = [Value(array_type(k, x.ndim)) for k, x in zip(kinds, inputs, strict=True)]
    build = Builder(Block(params))
    block = build.value(arrays.BlockId(axis=0))
    zero = build.value(arith.Constant(value=0, type=TileType(dt.int32)))
    tiles = []
    for i, (param, x) in enumerate(zip(params, inputs, strict=True)):
        dims = (1, *x.shape[1:])
        row = zero if i in shared else block
        op = memory.Load(array=param, index=(row, *[zero] * (x.ndim - 1)), shape=dims, steps=dims,
                         order=tuple(range(x.ndim)))
        tiles.append(build.value(shape.Reshape(src=build.value(op), shape=x.shape[1:])))
    result = make(build, *tiles)
    kind, dims = result.type.dtype, (1, *result.type.shape)
    out = build.block.add_param(array_type(kind, len(dims)))
    row = build.value(shape.Reshape(src=result, shape=dims))
    build.emit(memory.Store(array=out, index=(block, *[zero] * (len(dims) - 1)), value=row, steps=dims,
                            order=tuple(range(len(dims)))))
    build.emit(control.Return())
    program = compile_function(Function("tiles", build.block))
    count = max(len(x) for x in inputs)
    results = []
    for how in ("chunked", "single"):
        array = np.zeros((count, *dims[1:]), array_dtype(kind))
        program.run((count, 1, 1), [*inputs, array], ExecutionOptions(mode=how))
        results.append(array)
    if not isinstance(result.op, matmul.Mma):  # BLAS may sum in another order for one tile than for many
        assert_same(*results)
    return results[0]


# --- reductions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("dtype", [dt.int8, dt.int32, dt.uint16, dt.uint64])
@pytest.mark.parametrize("op", [reduce.ReduceSum, reduce.ReduceProd, reduce.ReduceMax, reduce.ReduceMin])
def test_integer_reductions_wrap(op: Any, dtype: Any, axes: tuple[int, ...]) -> None:
    x = samples(dtype, 5 * 4 * 8 * 2, 1).reshape(5, 4, 8, 2)
    got = on_tiles(lambda b, t: b.value(op(src=t, axes=axes)), [x], [dtype])
    wide = x.astype(object)
    for axis in sorted(axes, reverse=True):
        fold = {reduce.ReduceSum: np.add, reduce.ReduceProd: np.multiply, reduce.ReduceMax: np.maximum,
                reduce.ReduceMin: np.minimum}[op]
        wide = fold.reduce(wide, axis=axis + 1)
    want = np.array([wrap(v, dtype) for v in wide.ravel()], x.dtype).reshape(wide.shape)
    assert_same(got, want)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [1, 2, 64, 1024])
def test_sums_keep_their_bound(dtype: Any, length: int) -> None:
    x = (np.random.default_rng(2).standard_normal((6, length)) * 100).astype(array_dtype(dtype))
    got = on_tiles(lambda b, t: b.value(reduce.ReduceSum(src=t, axes=(0,))), [x], [dtype])
    inner = 2.0**-24 if dtype is not dt.float64 else 2.0**-53
    last = float(ml_dtypes.finfo(x.dtype).eps) / 2
    for row, g in zip(x, got.ravel().astype(np.float64), strict=True):
        terms = [Fraction(float(v)) for v in row]
        exact = sum(terms, Fraction())
        bound = length * inner * sum(map(abs, terms)) + Fraction(last) * abs(exact) * 2
        assert abs(Fraction(float(g)) - exact) <= bound


@pytest.mark.parametrize("propagate", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_extremes_and_their_places(dtype: Any, propagate: bool) -> None:
    rng = np.random.default_rng(3)
    pool = np.array([0.0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 2.5, 2.5])
    x = rng.choice(pool, (200, 8)).astype(array_dtype(dtype))
    x[0], x[1, :], x[2] = np.nan, [np.nan, np.nan, -np.inf, -np.inf, np.nan, -np.inf, -np.inf, np.nan], -0.0
    x[3] = [np.nan, np.inf] * 4
    for value_op, place_op, best in ((reduce.ReduceMax, reduce.ArgMax, max), (reduce.ReduceMin, reduce.ArgMin, min)):
        value = on_tiles(lambda b, t, op=value_op: b.value(op(src=t, axes=(0,), propagate_nan=propagate)), [x], [dtype])
        place = on_tiles(lambda b, t, op=place_op: b.value(op(src=t, axis=0, propagate_nan=propagate)), [x], [dtype])
        rows = x.astype(np.float64).tolist()
        for row, v, p in zip(rows, value.ravel().tolist(), place.ravel().tolist(), strict=True):
            numbers = [e for e in row if not math.isnan(e)]
            if not numbers or (propagate and len(numbers) < len(row)):
                assert math.isnan(v)
                assert p == next(i for i, e in enumerate(row) if math.isnan(e)) * propagate
                continue
            want = best(numbers, key=lambda e: (e, math.copysign(1, e)))
            assert v == want and math.copysign(1, v) == math.copysign(1, want)
            assert p == next(i for i, e in enumerate(row) if e == want)


@pytest.mark.parametrize("dtype", [dt.int32, dt.uint8])
def test_places_of_integer_extremes(dtype: Any) -> None:
    x = (samples(dtype, 96, 4) % 4).reshape(3, 4, 8)
    for op, find in ((reduce.ArgMax, np.argmax), (reduce.ArgMin, np.argmin)):
        for axis in (0, 1):
            got = on_tiles(lambda b, t, op=op, axis=axis: b.value(op(src=t, axis=axis)), [x], [dtype])
            assert_same(got, find(x, axis=axis + 1).astype(np.int32))


# --- shapes ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(data=st.data(), blocks=st.integers(1, 4), uniform=st.booleans())
def test_shape_changes(data: Any, blocks: int, uniform: bool) -> None:
    dims = tuple(data.draw(st.lists(st.sampled_from([1, 2, 4]), min_size=1, max_size=3)))
    x = np.arange(blocks * math.prod(dims), dtype=np.int32).reshape(blocks, *dims)
    x = x[:1] if uniform else x
    y = -x
    shared = (0, 1) if uniform else ()
    axes = tuple(data.draw(st.permutations(range(len(dims)))))
    wide = tuple(8 if n == 1 else n for n in dims)
    axis = data.draw(st.integers(0, len(dims) - 1))

    def apply(make: Any, *inputs: np.ndarray) -> np.ndarray:
        return on_tiles(make, list(inputs), [dt.int32] * len(inputs), shared)

    assert_same(apply(lambda b, t: b.value(shape.Permute(src=t, axes=axes)), x), x.transpose(0, *(a + 1 for a in axes)))
    assert_same(apply(lambda b, t: b.value(shape.Broadcast(src=t, shape=wide)), x), np.broadcast_to(x, (len(x), *wide)))
    flat = (math.prod(dims),)
    assert_same(apply(lambda b, t: b.value(shape.Reshape(src=t, shape=flat)), x), x.reshape(len(x), *flat))
    joined = apply(lambda b, p, q: b.value(shape.Cat(lhs=p, rhs=q, axis=axis)), x, y)
    assert_same(joined, np.concatenate([x, y], axis + 1))
    if not uniform:
        got = on_tiles(lambda b, p, q: b.value(shape.Cat(lhs=p, rhs=q, axis=axis)), [x, y[:1]], [dt.int32] * 2, (1,))
        assert_same(got, np.concatenate([x, np.broadcast_to(y[:1], x.shape)], axis + 1))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), by_block=st.booleans(), uniform=st.booleans())
def test_extract(data: Any, by_block: bool, uniform: bool) -> None:
    dims = tuple(data.draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3)))
    part = tuple(data.draw(st.sampled_from([m for m in (1, 2, 4, 8) if m <= n])) for n in dims)
    blocks = 6
    x = np.arange(blocks * math.prod(dims), dtype=np.int32).reshape(blocks, *dims)
    x = x[:1] if uniform else x
    counts = [n // m for n, m in zip(dims, part, strict=True)]
    fixed = [data.draw(st.integers(0, c - 1)) for c in counts]

    def make(b: Builder, tile: Value) -> Value:
        block = b.value(arrays.BlockId(axis=0))
        index = []
        for c, f in zip(counts, fixed, strict=True):
            number = b.value(arith.Constant(value=c if by_block else f, type=TileType(dt.int32)))
            index.append(b.value(arith.Mod(lhs=block, rhs=number)) if by_block else number)
        return b.value(shape.Extract(src=tile, index=tuple(index), shape=part))

    rows = blocks if not uniform or by_block else 1
    if uniform and by_block:
        x = np.repeat(x, blocks, 0)
    got = on_tiles(make, [x], [dt.int32])
    want = []
    for i in range(rows):
        at = [i % c if by_block else f for c, f in zip(counts, fixed, strict=True)]
        want.append(x[i][tuple(slice(a * m, (a + 1) * m) for a, m in zip(at, part, strict=True))])
    assert_same(got, np.stack(want))


def test_iota_wraps() -> None:
    for dtype in (dt.int8, dt.uint8, dt.int64):
        none = np.zeros((1, 1), np.int32)
        got = on_tiles(lambda b, t, dtype=dtype: b.value(shape.Iota(size=512, dtype=dtype)), [none], [dt.int32])
        assert got[0].tolist() == [wrap(i, dtype) for i in range(512)]


# --- matrix products -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [(), (0,), (1,), (0, 1), (2,)])
@pytest.mark.parametrize("a_kind, acc_kind", [(a, c) for a, cs in matmul.ACCUMULATORS.items() for c in cs
                                              if a is not dt.tfloat32])
def test_mma(a_kind: Any, acc_kind: Any, shared: tuple[int, ...]) -> None:
    rng = np.random.default_rng(5)
    m, k, n, blocks = 4, 32, 8, 5

    def operand(dtype: dt.DType, rows: int, columns: int, position: int) -> np.ndarray:
        size = (1 if position in shared else blocks, rows, columns)
        if dtype.is_int:
            return rng.integers(*dtype.int_range, size, endpoint=True).astype(array_dtype(dtype))
        return rng.standard_normal(size).astype(np.float32).astype(array_dtype(dtype))

    a, b, c = operand(a_kind, m, k, 0), operand(a_kind, k, n, 1), operand(acc_kind, m, n, 2)
    if 0 in shared and 1 in shared and 2 not in shared and len(c) != blocks:
        return
    got = on_tiles(lambda build, x, y, z: build.value(matmul.Mma(a=x, b=y, acc=z)), [a, b, c],
                   [a_kind, a_kind, acc_kind], shared)
    if acc_kind is dt.int32:
        want = np.matmul(a.astype(np.int64), b.astype(np.int64)) + c.astype(np.int64)
        assert_same(got, ((want + 2**31) % 2**32 - 2**31).astype(np.int32))
        return
    wide = [v.astype(np.float64) for v in (a, b, c)]
    exact = np.matmul(wide[0], wide[1]) + wide[2]
    inner = 2.0**-53 if acc_kind is dt.float64 else 2.0**-24
    bound = (k + 1) * inner * (np.matmul(abs(wide[0]), abs(wide[1])) + abs(wide[2])) + np.abs(exact) * float(
        ml_dtypes.finfo(got.dtype).eps) + 1e-30
    assert (np.abs(got.astype(np.float64) - exact) <= bound).all()


def test_mma_with_batches_and_mixed_bytes() -> None:
    rng = np.random.default_rng(6)
    a = rng.integers(-128, 128, (3, 2, 4, 1024)).astype(np.int8)
    b = rng.integers(0, 256, (3, 2, 1024, 4)).astype(np.uint8)
    c = np.zeros((3, 2, 4, 4), np.int32)
    got = on_tiles(lambda build, x, y, z: build.value(matmul.Mma(a=x, b=y, acc=z)), [a, b, c],
                   [dt.int8, dt.uint8, dt.int32])
    assert_same(got, np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(np.int32))
