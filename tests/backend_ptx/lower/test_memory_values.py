"""Loads, stores, gathers and scatters in the simulator give the interpreter's bits: edges, strides, facts, paddings."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.interp_cases import full_grid

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate_function
from tilewright.interp import compile_function
from tilewright.interp.formats import array_dtype
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, arrays, control, memory, shape
from tilewright.tileir.plan import Switches
from tilewright.tileir.types import ArrayType, TileType

Make = Callable[[Builder, list[Value]], None]


def kernel(types: Sequence[ArrayType | TileType], make: Make) -> Function:
    body = Block()
    params = [body.add_param(t, f"p{i}") for i, t in enumerate(types)]
    b = Builder(body)
    make(b, params)
    b.emit(control.Return())
    return Function("k", body)


def unknown(array: np.ndarray, dtype: dt.DType) -> ArrayType:
    """The type with nothing known."""
    return ArrayType(dtype, (None,) * array.ndim, (None,) * array.ndim, disjoint=True)


def known(array: np.ndarray, dtype: dt.DType) -> ArrayType:
    """The type with what a launch finds out: unit strides, divisors, alignment, smallness."""
    item = array.itemsize
    strides = tuple(s // item for s in array.strides)
    address = array.__array_interface__["data"][0]
    return ArrayType(
        dtype, (None,) * array.ndim, tuple(1 if s == 1 else None for s in strides),
        tuple(_power(n) for n in array.shape), tuple(_power(s) for s in strides),
        max(item, min(16, address & -address)), True, True)


def exact(array: np.ndarray, dtype: dt.DType) -> ArrayType:
    """The type with every extent and stride a constant."""
    strides = tuple(s // array.itemsize for s in array.strides)
    return ArrayType(dtype, array.shape, strides, align=known(array, dtype).align, disjoint=True, small=True)


def _power(n: int) -> int:
    return min(16, n & -n) if n else 16


def aligned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """A fresh array at an address that is a multiple of 256."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 256, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + size].view(dtype).reshape(shape)


def filled(shape: tuple[int, ...], dtype: Any, seed: int = 1) -> np.ndarray:
    out = aligned(shape, dtype)
    rng = np.random.default_rng(seed)
    out[...] = rng.integers(0, 2 if np.dtype(dtype) == np.bool_ else 100, shape).astype(dtype)
    return out


def check(function: Function, grid: tuple[int, ...], args: list[Any], outputs: Sequence[int], **how: Any) -> None:
    """Run both executors on copies of the outputs and compare them byte by byte."""
    blocks = full_grid(grid)
    wanted = [_like(a) if i in outputs else a for i, a in enumerate(args)]
    got = [_like(a) if i in outputs else a for i, a in enumerate(args)]
    compile_function(function).run(blocks, wanted)
    simulate_function(function, blocks, got, "sm_90a", **how)
    for i in outputs:
        assert got[i].tobytes() == wanted[i].tobytes(), f"output {i}: {got[i]} for {wanted[i]}"


def _like(array: np.ndarray) -> np.ndarray:
    """A copy with the same strides and alignment."""
    base = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    copy = aligned((base.nbytes + 256,), np.uint8)
    offset = array.ctypes.data - base.ctypes.data
    start = (base.ctypes.data - copy.ctypes.data) % 256
    copy[start : start + base.nbytes] = base.view(np.uint8).reshape(-1)
    return np.ndarray(array.shape, array.dtype, copy, start + offset, array.strides)


def copy_tiles(tile: tuple[int, ...], order: tuple[int, ...] | None = None, steps: tuple[int, ...] | None = None,
               shift: int = 0, padding: PaddingMode = PaddingMode.ZERO) -> Make:
    """Copy tile (bid0 + shift, bid1, ...) of p0 to the place of tile (bid0, bid1, ...) of p1."""
    rank = len(tile)
    order = order or tuple(range(rank))

    def make(b: Builder, params: list[Value]) -> None:
        place = [b.value(arrays.BlockId(axis=k)) for k in range(min(rank, 3))]
        index = list(place)
        if shift:
            number = b.value(arith.Constant(value=shift, type=TileType(dt.int32)))
            index[0] = b.value(arith.Add(lhs=place[0], rhs=number))
        x = b.value(memory.Load(array=params[0], index=tuple(index), shape=tile, steps=steps or tile, order=order,
                                padding=padding))
        b.emit(memory.Store(array=params[1], index=tuple(place), value=x, steps=tile, order=tuple(range(rank))))

    return make


DTYPES = [
    (dt.bool_, np.bool_), (dt.int8, np.int8), (dt.uint16, np.uint16), (dt.float16, np.float16),
    (dt.bfloat16, ml_dtypes.bfloat16), (dt.float32, np.float32), (dt.float64, np.float64),
    (dt.float8_e5m2, ml_dtypes.float8_e5m2),
]


@pytest.mark.parametrize("facts", [unknown, known, exact])
@pytest.mark.parametrize("n", [0, 1, 255, 256, 257, 512, 600, 1009])
def test_copy_of_any_length(n: int, facts: Callable[..., ArrayType]) -> None:
    x, y = filled((n,), np.float32), aligned((n,), np.float32)
    check(kernel([facts(x, dt.float32), facts(y, dt.float32)], copy_tiles((256,))), (5,), [x, y], [1])


@pytest.mark.parametrize("facts", [unknown, known])
@pytest.mark.parametrize(("dtype", "memory_type"), DTYPES, ids=[str(d) for d, _ in DTYPES])
def test_every_element_size(dtype: dt.DType, memory_type: Any, facts: Callable[..., ArrayType]) -> None:
    for n in (700, 704):
        x, y = filled((n,), memory_type), aligned((n,), memory_type)
        check(kernel([facts(x, dtype), facts(y, dtype)], copy_tiles((512,))), (2,), [x, y], [1])


STRIDED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "contiguous": lambda a: a, "transposed": lambda a: a.T, "every second row": lambda a: a[::2],
    "every third column": lambda a: a[:, ::3], "reversed": lambda a: a[::-1, ::-1], "window": lambda a: a[3:, 5:50],
    "aligned window": lambda a: a[2:40, 16:48], "repeated row": lambda a: np.broadcast_to(a[4], a.shape),
    "one element": lambda a: np.broadcast_to(a[1, 1], a.shape),
}


@pytest.mark.parametrize("facts", [unknown, known, exact])
@pytest.mark.parametrize("view", STRIDED, ids=list(STRIDED))
def test_any_strides(view: str, facts: Callable[..., ArrayType]) -> None:
    x = STRIDED[view](filled((48, 64), np.float32))
    y = aligned(x.shape, np.float32)
    grid = (-(-x.shape[0] // 16), -(-x.shape[1] // 32))
    check(kernel([facts(x, dt.float32), facts(y, dt.float32)], copy_tiles((16, 32))), grid, [x, y], [1])


@pytest.mark.parametrize("view", ["transposed", "every second row", "window", "reversed"])
def test_store_into_strides(view: str) -> None:
    y = STRIDED[view](aligned((48, 64), np.float32))
    x = filled(y.shape, np.float32)
    grid = (-(-x.shape[0] // 16), -(-x.shape[1] // 32))
    check(kernel([known(x, dt.float32), known(y, dt.float32)], copy_tiles((16, 32))), grid, [x, y], [1])


@pytest.mark.parametrize("facts", [unknown, known])
@pytest.mark.parametrize("shape", [(37, 64), (64, 37), (33, 48), (1, 5), (0, 7)])
def test_order(shape: tuple[int, int], facts: Callable[..., ArrayType]) -> None:
    x = filled(shape, np.float32)
    y = aligned(shape[::-1], np.float32)
    grid = (-(-shape[1] // 16), -(-shape[0] // 32))
    make = copy_tiles((16, 32), order=(1, 0))
    check(kernel([facts(x, dt.float32), facts(y, dt.float32)], make), (max(1, grid[0]), max(1, grid[1])), [x, y], [1])


@pytest.mark.parametrize("padding", list(PaddingMode), ids=str)
@pytest.mark.parametrize(("dtype", "memory_type"), DTYPES, ids=[str(d) for d, _ in DTYPES])
@pytest.mark.parametrize("shift", [-1, 1])
def test_padding(padding: PaddingMode, dtype: dt.DType, memory_type: Any, shift: int) -> None:
    for n in (60, 64, 61):
        x, y = filled((n,), memory_type), aligned((n,), memory_type)
        make = copy_tiles((32,), shift=shift, padding=padding)
        check(kernel([known(x, dtype), known(y, dtype)], make), (2,), [x, y], [1])


@pytest.mark.parametrize("steps", [(8,), (5,), (64,), (1,)])
def test_overlapping_and_spread_tiles(steps: tuple[int]) -> None:
    x, y = filled((150,), np.float32), aligned((160,), np.float32)
    make = copy_tiles((32,), steps=steps)
    check(kernel([known(x, dt.float32), known(y, dt.float32)], make), (5,), [x, y], [1])


def test_rank_0_and_single_elements() -> None:
    x, y = filled((), np.float32), aligned((), np.float32)
    check(kernel([known(x, dt.float32), known(y, dt.float32)], copy_tiles(())), (1,), [x, y], [1])
    x, y = filled((3, 5), np.float32), aligned((3, 5), np.float32)
    check(kernel([known(x, dt.float32), known(y, dt.float32)], copy_tiles((1, 1))), (3, 5), [x, y], [1])


def test_rank_3() -> None:
    x, y = filled((3, 10, 33), np.int16), aligned((3, 10, 33), np.int16)
    check(kernel([known(x, dt.int16), known(y, dt.int16)], copy_tiles((1, 4, 16))), (3, 3, 3), [x, y], [1])


def indices(b: Builder, n: int, scale: int, offset: int, dtype: dt.DType) -> Value:
    """scale * i + offset for i in 0..n-1."""
    i = b.value(shape.Iota(size=n, dtype=dtype))

    def number(value: int) -> Value:
        one = b.value(arith.Constant(value=value, type=TileType(dtype)))
        return b.value(shape.Broadcast(src=one, shape=(n,)))

    return b.value(arith.Add(lhs=b.value(arith.Mul(lhs=i, rhs=number(scale))), rhs=number(offset)))


@pytest.mark.parametrize("facts", [unknown, known])
@pytest.mark.parametrize("index", [dt.int32, dt.int64, dt.int16])
@pytest.mark.parametrize("masked", [False, True])
def test_gather_and_scatter(index: dt.DType, masked: bool, facts: Callable[..., ArrayType]) -> None:
    def make(b: Builder, params: list[Value]) -> None:
        rows, columns = indices(b, 64, 1, -3, index), indices(b, 64, -2, 70, index)
        mask = None
        if masked:
            zero = b.value(shape.Broadcast(src=b.value(arith.Constant(value=0, type=TileType(index))), shape=(64,)))
            three = b.value(shape.Broadcast(src=b.value(arith.Constant(value=3, type=TileType(index))), shape=(64,)))
            mask = b.value(arith.Ne(lhs=b.value(arith.Mod(lhs=rows, rhs=three)), rhs=zero))
        padding = b.value(arith.Constant(value=-7.0, type=TileType(dt.float32, (64,))))
        x = b.value(memory.Gather(array=params[0], indices=(rows, columns), mask=mask, padding=padding, shape=(64,)))
        b.emit(memory.Scatter(array=params[1], indices=(columns, rows), value=x, mask=mask, shape=(64,)))

    x, y = filled((50, 60), np.float32), aligned((60, 50), np.float32)
    check(kernel([facts(x, dt.float32), facts(y, dt.float32)], make), (1,), [x, y], [1])


def test_gather_of_scalars_and_bools() -> None:
    def make(b: Builder, params: list[Value]) -> None:
        i = b.value(arrays.BlockId(axis=0))
        padding = b.value(arith.Constant(value=True, type=TileType(dt.bool_)))
        x = b.value(memory.Gather(array=params[0], indices=(i,), mask=None, padding=padding, shape=()))
        b.emit(memory.Scatter(array=params[1], indices=(i,), value=x, mask=None, shape=()))

    x, y = filled((5,), np.bool_), aligned((7,), np.bool_)
    check(kernel([known(x, dt.bool_), known(y, dt.bool_)], make), (9,), [x, y], [1])


def test_slices() -> None:
    """A view that starts in the middle, with a length of its own."""
    def make(b: Builder, params: list[Value]) -> None:
        start = b.value(arith.Constant(value=5, type=TileType(dt.int32)))
        stop = b.value(arith.Constant(value=23, type=TileType(dt.int32)))
        full = params[0].type
        view = ArrayType(full.dtype, (None, None), full.strides, small=True)
        part = b.value(arrays.SliceArray(array=params[0], start=start, stop=stop, axis=0, type=view))
        zero = b.value(arith.Constant(value=0, type=TileType(dt.int32)))
        x = b.value(memory.Load(array=part, index=(zero, zero), shape=(32, 32), steps=(32, 32), order=(0, 1),
                                padding=PaddingMode.NAN))
        b.emit(memory.Store(array=params[1], index=(zero, zero), value=x, steps=(32, 32), order=(0, 1)))

    x, y = filled((40, 32), np.float32), aligned((32, 32), np.float32)
    check(kernel([known(x, dt.float32), known(y, dt.float32)], make), (1,), [x, y], [1])


@tw.tile_kernel
def rows_from(x, out, first: int):
    i = first + tw.num_blocks(0) - 1 - tw.bid(0)
    tw.store(out, tw.bid(0), tw.load(x, i, 128, padding_mode=tw.PaddingMode.ZERO))


@pytest.mark.parametrize("first", [-(1 << 31), -(1 << 24), -3, -1, 0, 1, 1 << 24, (1 << 31) - 8])
def test_tiles_far_outside(first: int) -> None:
    """A first element that 32 bits do not hold is outside all the same."""
    x = np.arange(1, 301, dtype=np.float32)
    got, want = np.full((2, 512), -1, np.float32)
    rows_from.simulate((4,), x, got, first, target="sm_90a")
    rows_from.interpret((4,), x, want, first)
    np.testing.assert_array_equal(got, want)


@tw.tile_kernel
def backwards(x, out):
    tw.store(out, tw.bid(0), tw.load(x, tw.num_blocks(0) - 1 - tw.bid(0), 128, padding_mode=tw.PaddingMode.ZERO))


def test_first_elements_of_blocks_are_one_number() -> None:
    """Edges take the first element of a tile, which 32 bits hold, from its address."""
    ptx = backwards.ptx(*[tw.spec("f32[5000]")] * 2, target="sm_90a")
    assert "st.global" in ptx and not re.search(r"mul.wide.*, 128;", ptx)


@pytest.mark.parametrize("linear", [False, True])
def test_grid(linear: bool) -> None:
    """Block numbers and grid sizes along three axes, also where the hardware's grid is one long row."""
    def make(b: Builder, params: list[Value]) -> None:
        place = tuple(b.value(arrays.BlockId(axis=k)) for k in range(3))
        number = place[0]
        for k in (1, 2):
            count = b.value(arrays.NumBlocks(axis=k))
            number = b.value(arith.Add(lhs=b.value(arith.Mul(lhs=number, rhs=count)), rhs=place[k]))
        b.emit(memory.Store(array=params[0], index=place, value=b.value(shape.Reshape(src=number, shape=(1, 1, 1))),
                            steps=(1, 1, 1), order=(0, 1, 2)))

    y = aligned((3, 4, 5), np.int32)
    function = kernel([known(y, dt.int32)], make)
    function.switches = Switches(linear_grid=linear)
    check(function, (3, 4, 5), [y], [0])


def test_written_arrays_are_not_read_through_the_read_only_path() -> None:
    from tilewright.backend_ptx.simulator.entry import lower_function
    from tilewright.backend_ptx.targets import get_target

    def make(b: Builder, params: list[Value]) -> None:
        zero = b.value(arith.Constant(value=0, type=TileType(dt.int32)))
        for array in params:
            x = b.value(memory.Load(array=array, index=(zero,), shape=(128,), steps=(128,), order=(0,)))
        b.emit(memory.Store(array=params[0], index=(zero,), value=x, steps=(128,), order=(0,)))

    x = filled((128,), np.float32)
    text = lower_function(kernel([known(x, dt.float32)] * 2, make), get_target("sm_90a")).llvm_text
    assert text.count("ld.global.nc.") == 1
    header = next(line for line in text.splitlines() if line.startswith("define"))
    assert header.count("noalias readonly") == 1


def test_wide_accesses() -> None:
    """16 bytes an access where facts allow it, on both sides of a vector of bytes and of doubles."""
    from tilewright.backend_ptx.simulator.entry import lower_function
    from tilewright.backend_ptx.targets import get_target

    for dtype in (dt.int8, dt.float16, dt.float32, dt.float64):
        x = aligned((4096,), array_dtype(dtype))
        text = lower_function(kernel([known(x, dtype)] * 2, copy_tiles((2048,))), get_target("sm_90a")).llvm_text
        wide = "v2.b64" if dtype is dt.float64 else "v4.b32"
        accesses = [line for line in text.splitlines() if "ld.global" in line or "st.global" in line]
        assert accesses and all(wide in line for line in accesses)


def test_offsets_beyond_32_bits() -> None:
    """Rows that lie 4 GiB apart: neither the origin nor an offset inside a tile fits 32 bits."""
    row = (1 << 32) + 64
    flat = np.zeros(row + 64, np.uint8)  # pages that are never touched cost nothing
    x = np.lib.stride_tricks.as_strided(flat, (2, 64), (row, 1))
    for i in range(2):
        x[i] = 50 * i + np.arange(64) % 50
    y = aligned((2, 64), np.uint8)
    for tile in ((1, 64), (2, 32), (1, 16)):
        y[...] = 0
        types = [ArrayType(dt.uint8, (None, None), (None, 1), stride_div=(64, 1), align=16, index=dt.int64),
                 known(y, dt.uint8)]
        grid = (2 // tile[0], 64 // tile[1], 1)
        simulate_function(kernel(types, copy_tiles(tile)), grid, [x, y], "sm_90a", races=False)
        assert np.array_equal(x, y)


def test_line_numbers() -> None:
    """The option line_info puts the places of ops into PTX, in a form that optimised code may have."""
    from support.lowering_kernels import assemble, ptx_of

    from tilewright.tileir.diagnostics import Span

    x = filled((128,), np.float32)
    function = kernel([known(x, dt.float32)] * 2, copy_tiles((128,)))
    function.span = Span("/home/user/kernels.py", 10, 0, 14, 0, "k")
    for line, op in enumerate(function.body.ops, 11):
        op.span = Span("/home/user/kernels.py", line, 4, line, 20, "k")
    assert ".loc" not in ptx_of(function, "sm_80")
    function.switches = Switches(line_info=True)
    ptx = ptx_of(function, "sm_80")
    assert "kernels.py" in ptx and ".loc\t1 12 5" in ptx and "debug" not in ptx.partition(".target")[2].splitlines()[0]
    assemble(ptx, "sm_80")
