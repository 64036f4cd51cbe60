"""Loads, stores, gathers and scatters at every kind of place, against element-by-element loops; chunked and single."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.interp_cases import array_type, assert_same, compile_function, dtype_of, samples

from tilewright.interp import ExecutionOptions
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, arrays, control, memory, shape
from tilewright.tileir.types import ArrayType, TileType

pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
I32 = TileType(dt.int32)
PADDINGS = {PaddingMode.UNDETERMINED: 0.0, PaddingMode.ZERO: 0.0, PaddingMode.NEG_ZERO: -0.0, PaddingMode.NAN: np.nan,
            PaddingMode.POS_INF: np.inf, PaddingMode.NEG_INF: -np.inf}
EXTENTS = st.sampled_from([0, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17])
COEFFICIENTS = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(-3, 3))


def number(build: Builder, value: int) -> Value:
    return build.value(arith.Constant(value=value, type=I32))


def affine(build: Builder, coefficients: tuple[int, int, int]) -> Value:
    """a * block_id(0) + b * block_id(1) + c; plain block ids and constants where the coefficients allow."""
    a, b, c = coefficients
    parts = []
    for axis, k in ((0, a), (1, b)):
        if k:
            block = build.value(arrays.BlockId(axis=axis))
            parts.append(block if k == 1 else build.value(arith.Mul(lhs=block, rhs=number(build, k))))
    if c or not parts:
        parts.append(number(build, c))
    total = parts[0]
    for part in parts[1:]:
        total = build.value(arith.Add(lhs=total, rhs=part))
    return total


def block_number(build: Builder) -> Value:
    """block_id(0) + num_blocks(0) * block_id(1)."""
    x, y, n = (build.value(op) for op in (arrays.BlockId(axis=0), arrays.BlockId(axis=1), arrays.NumBlocks(axis=0)))
    return build.value(arith.Add(lhs=x, rhs=build.value(arith.Mul(lhs=y, rhs=n))))


def dump(build: Builder, out: Value, tile: Value) -> None:
    """Store a tile at row block_number of `out`, whose other axes are the tile's."""
    dims = (1, *tile.type.shape)
    row = build.value(shape.Reshape(src=tile, shape=dims))
    zero = number(build, 0)
    index = (block_number(build), *[zero] * len(tile.type.shape))
    build.emit(memory.Store(array=out, index=index, value=row, steps=dims, order=tuple(range(len(dims)))))


@st.composite
def strided_arrays(draw: Any, rank: int) -> np.ndarray:
    """An array of any layout: permuted, reversed, stepped, offset."""
    extents = [draw(EXTENTS) for _ in range(rank)]
    steps = [draw(st.sampled_from([1, 1, 2, 3])) for _ in range(rank)]
    order = draw(st.permutations(range(rank)))
    dtype = draw(st.sampled_from([dt.float32, dt.float16, dt.bfloat16, dt.int64, dt.uint8, dt.bool_, dt.float8_e5m2]))
    big = [n * s + draw(st.integers(0, 2)) for n, s in zip(extents, steps, strict=True)]
    data = samples(dtype, int(np.prod(big)) + 20, 0)[: int(np.prod(big))]
    storage = data.reshape([big[k] for k in order]).transpose(np.argsort(order))
    view = storage[tuple(slice(b - n * s, None, s) for b, n, s in zip(big, extents, steps, strict=True))]
    view = view[tuple(slice(0, n) for n in extents)]
    return view[tuple(slice(None, None, -1 if draw(st.booleans()) else 1) for _ in range(rank))]


def padding(dtype: dt.DType, mode: PaddingMode, np_dtype: Any) -> Any:
    value = PADDINGS[mode]
    if dtype.is_float:
        with np.errstate(all="ignore"):
            return np.array(value).astype(np_dtype)
    return np.zeros((), np_dtype)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), rank=st.integers(1, 3), grid=st.tuples(st.integers(1, 9), st.integers(1, 3)))
def test_loads(data: Any, rank: int, grid: tuple[int, int]) -> None:
    source = data.draw(strided_arrays(rank))
    tile = tuple(data.draw(st.sampled_from([1, 2, 4])) for _ in range(rank))
    steps = data.draw(st.sampled_from([tile, tuple(t + 1 for t in tile), (1,) * rank]))
    order = tuple(data.draw(st.permutations(range(rank))))
    places = [data.draw(COEFFICIENTS) for _ in range(rank)]
    mode = data.draw(st.sampled_from(list(PADDINGS)))
    dtype = dtype_of(source)

    params = [Value(array_type(dtype, rank)), Value(array_type(dtype, rank + 1))]
    build = Builder(Block(params))
    index = tuple(affine(build, p) for p in places)
    loaded = memory.Load(array=params[0], index=index, shape=tile, steps=steps, order=order, padding=mode)
    dump(build, params[1], build.value(loaded))
    build.emit(control.Return())
    program = compile_function(Function("loads", build.block))

    blocks = grid[0] * grid[1]
    want = np.empty((blocks, *tile), source.dtype)
    seen = source.transpose(order)
    for x, y in itertools.product(range(grid[0]), range(grid[1])):
        for e in np.ndindex(*tile):
            at = tuple((a * x + b * y + c) * s + k for (a, b, c), s, k in zip(places, steps, e, strict=True))
            inside = all(0 <= i < n for i, n in zip(at, seen.shape, strict=True))
            want[(x + grid[0] * y, *e)] = seen[at] if inside else padding(dtype, mode, source.dtype)
    for how in ("chunked", "single"):
        out = np.zeros_like(want)
        program.run((*grid, 1), [source, out], ExecutionOptions(mode=how))
        assert_same(out, want)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), rank=st.integers(1, 3))
def test_stores(data: Any, rank: int) -> None:
    target = data.draw(strided_arrays(rank))
    tile = tuple(data.draw(st.sampled_from([1, 2, 4])) for _ in range(rank))
    order = tuple(data.draw(st.permutations(range(rank))))
    shift = [data.draw(st.integers(-2, 2)) for _ in range(rank)]
    x, y, z = (data.draw(st.integers(1, 6)) if k < rank else 1 for k in range(3))
    grid = (x, y, z)
    dtype = dtype_of(target)

    params = [Value(array_type(dtype, rank)), Value(array_type(dtype, rank))]
    build = Builder(Block(params))
    index = []
    for axis in range(rank):
        block = build.value(arrays.BlockId(axis=axis))
        index.append(build.value(arith.Add(lhs=block, rhs=number(build, shift[axis]))))
    blocks = tuple(build.value(arrays.BlockId(axis=axis)) for axis in range(rank))
    value = build.value(memory.Load(array=params[1], index=blocks, shape=tile, steps=tile,
                                    order=tuple(range(rank))))
    build.emit(memory.Store(array=params[0], index=tuple(index), value=value, steps=tile, order=order))
    build.emit(control.Return())
    program = compile_function(Function("stores", build.block))

    count = [g * t for g, t in zip(grid, tile, strict=False)]
    values = samples(dtype, int(np.prod(count)) + 20, 5)[: int(np.prod(count))].reshape(count)
    want = target.copy()
    seen = want.transpose(order)
    for e in np.ndindex(*count):
        at = tuple(i + s * t for i, s, t in zip(e, shift, tile, strict=True))
        if all(0 <= i < n for i, n in zip(at, seen.shape, strict=True)):
            seen[at] = values[e]
    original = target.copy()
    for how in ("chunked", "single"):
        target[...] = original
        program.run(grid, [target, values], ExecutionOptions(mode=how))
        assert_same(target, want)


@settings(max_examples=120, deadline=None)
@given(data=st.data(), rank=st.integers(1, 2), blocks=st.integers(1, 9), masked=st.booleans())
def test_gathers_and_scatters(data: Any, rank: int, blocks: int, masked: bool) -> None:
    source = data.draw(strided_arrays(rank))
    dtype = dtype_of(source)
    index_dtype = data.draw(st.sampled_from([dt.int32, dt.int64, dt.int8, dt.uint32, dt.uint64]))
    low = 0 if not index_dtype.is_signed else -3
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    tile = 8
    # A scatter whose targets are all different: each index of the first axis at most once.
    first = rng.permutation(np.arange(low, low + blocks * tile))
    indices = [first, *(rng.integers(low, 20, blocks * tile) for _ in range(rank - 1))]
    indices = [i.astype(index_dtype.name).reshape(blocks, tile) for i in indices]
    mask = rng.integers(0, 2, (blocks, tile)).astype(bool)
    fill = samples(dtype, blocks * tile + 20, 3)[: blocks * tile].reshape(blocks, tile)

    row = array_type(index_dtype, 2)
    data_params = [Value(array_type(dtype, rank)), Value(array_type(dtype, rank)), Value(array_type(dtype, 2)),
                   Value(array_type(dt.bool_, 2)), Value(array_type(dtype, 2))]
    params = [*data_params, *(Value(row) for _ in range(rank))]
    build = Builder(Block(params))
    here = (build.value(arrays.BlockId(axis=0)), number(build, 0))

    def tile_of(param: Value) -> Value:
        loaded = build.value(memory.Load(array=param, index=here, shape=(1, tile), steps=(1, tile), order=(0, 1)))
        return build.value(shape.Reshape(src=loaded, shape=(tile,)))

    places = tuple(tile_of(p) for p in params[5:])
    keep = tile_of(params[3]) if masked else None
    pad = tile_of(params[4])
    gathered = memory.Gather(array=params[0], indices=places, mask=keep, padding=pad, shape=(tile,))
    dump(build, params[2], build.value(gathered))
    build.emit(memory.Scatter(array=params[1], indices=places, value=pad, mask=keep, shape=(tile,)))
    build.emit(control.Return())
    program = compile_function(Function("points", build.block))

    want_out, want_target = np.zeros((blocks, tile), source.dtype), source.copy()
    for e in np.ndindex(blocks, tile):
        at = tuple(int(i[e]) for i in indices)
        ok = all(0 <= i < n for i, n in zip(at, source.shape, strict=True)) and (mask[e] or not masked)
        want_out[e] = source[at] if ok else fill[e]
        if ok:
            want_target[at] = fill[e]
    for how in ("chunked", "single"):
        out, target = np.zeros_like(want_out), source.copy()
        program.run((blocks, 1, 1), [source, target, out, mask, fill, *indices], ExecutionOptions(mode=how))
        assert_same(out, want_out)
        assert_same(target, want_target)


def ragged(build: Builder, params: list[Value]) -> None:
    """Sum the tiles of a slice bounds[b]:bounds[b+1] of a row, whose length differs by block, into out[b]."""
    data, bounds, out = params
    block = build.value(arrays.BlockId(axis=0))
    after = build.value(arith.Add(lhs=block, rhs=number(build, 1)))
    ends = []
    for at in (block, after):
        one = build.value(memory.Load(array=bounds, index=(at,), shape=(1,), steps=(1,), order=(0,)))
        ends.append(build.value(shape.Reshape(src=one, shape=())))
    view = build.value(arrays.SliceArray(array=data, start=ends[0], stop=ends[1], axis=0, type=data.type))
    length = build.value(arrays.Extent(array=view, axis=0))
    tiles = build.value(arith.CeilDiv(lhs=length, rhs=number(build, 4)))
    zero = build.value(arith.Constant(value=0, type=TileType(dt.int32, (4,))))
    with build.into([I32, TileType(dt.int32, (4,))]) as body:
        k, total = body.params
        tile = build.value(memory.Load(array=view, index=(k,), shape=(4,), steps=(4,), order=(0,)))
        build.emit(control.Yield(values=(build.value(arith.Add(lhs=total, rhs=tile)),)))
    loop = control.For(lower=number(build, 0), upper=tiles, step=number(build, 1), init=(zero,), loop=body)
    dump(build, out, build.value(loop))
    build.emit(control.Return())


@pytest.mark.parametrize("lengths", [[3, 1, 4, 1, 5, 9, 2, 6], [0, 0, 7], [4, 4, 4], [1], [0]])
def test_slices_whose_length_differs_by_block(lengths: list[int]) -> None:
    params = [Value(array_type(dt.int32)), Value(array_type(dt.int32)), Value(array_type(dt.int32, 2))]
    build = Builder(Block(params))
    ragged(build, params)
    program = compile_function(Function("ragged", build.block))
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    data = np.arange(100, 100 + bounds[-1], dtype=np.int32)
    want = np.zeros((len(lengths), 4), np.int32)
    for b, n in enumerate(lengths):
        for e in range(n):
            want[b, e % 4] += data[bounds[b] + e]
    for how in ("chunked", "single"):
        out = np.zeros_like(want)
        program.run((len(lengths), 1, 1), [data, bounds, out], ExecutionOptions(mode=how))
        assert_same(out, want)


def test_list_items_chosen_by_block() -> None:
    from tilewright.tileir.types import ListType

    params = [Value(ListType(array_type(dt.float32))), Value(array_type(dt.float32, 2)), Value(array_type(dt.int32, 2))]
    build = Builder(Block(params))
    item = build.value(arrays.ListItem(list=params[0], index=block_number(build)))
    dump(build, params[1], build.value(memory.Load(array=item, index=(number(build, 0),), shape=(4,), steps=(4,),
                                                   order=(0,))))
    extent = build.value(arrays.Extent(array=item, axis=0))
    length = build.value(arrays.ListLength(list=params[0]))
    both = build.value(arith.Add(lhs=extent, rhs=build.value(arith.Mul(lhs=length, rhs=number(build, 100)))))
    dump(build, params[2], build.value(shape.Reshape(src=both, shape=(1,))))
    build.emit(control.Return())
    program = compile_function(Function("items", build.block))
    items = [np.arange(n, dtype=np.float32) + 10 * n for n in (1, 2, 3, 4, 5)]
    items.append(items[4][::-1])
    want = np.array([[*x[:4], *[0] * (4 - len(x[:4]))] for x in items], np.float32)
    for how in ("chunked", "single"):
        out, sizes = np.zeros((6, 4), np.float32), np.zeros((6, 1), np.int32)
        program.run((3, 2, 1), [items, out, sizes], ExecutionOptions(mode=how))
        assert_same(out, want)
        assert sizes[:, 0].tolist() == [600 + len(x) for x in items]


def test_poison_shows_undetermined_padding() -> None:
    params = [Value(array_type(dt.float32)), Value(array_type(dt.float32, 2))]
    build = Builder(Block(params))
    block = build.value(arrays.BlockId(axis=0))
    tile = memory.Load(array=params[0], index=(block,), shape=(4,), steps=(4,), order=(0,))
    dump(build, params[1], build.value(tile))
    build.emit(control.Return())
    program = compile_function(Function("poison", build.block))
    out = np.zeros((2, 4), np.float32)
    program.run((2, 1, 1), [np.ones(5, np.float32), out], ExecutionOptions(poison=True))
    assert out[0].tolist() == [1, 1, 1, 1] and out[1, 0] == 1 and np.isnan(out[1, 1:]).all()


def test_read_only_input_and_scalar_array() -> None:
    params = [Value(ArrayType(dt.float32, (), ())), Value(array_type(dt.float32, 1))]
    build = Builder(Block(params))
    value = build.value(memory.Load(array=params[0], index=(), shape=(), steps=(), order=()))
    tile = build.value(shape.Broadcast(src=value, shape=(4,)))
    build.emit(memory.Store(array=params[1], index=(build.value(arrays.BlockId(axis=0)),), value=tile, steps=(4,),
                            order=(0,)))
    build.emit(control.Return())
    source, out = np.array(2.5, np.float32), np.zeros(11, np.float32)
    source.flags.writeable = False
    compile_function(Function("scalar", build.block)).run((3, 1, 1), [source, out])
    assert (out == 2.5).all()
