"""Gathers and scatters that move vectors: the interpreter's bits whatever cuts them, as wide as facts allow."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

BF16 = ml_dtypes.bfloat16
Array = np.ndarray[Any, Any]


def aligned(shape: tuple[int, ...], dtype: Any, offset: int = 0) -> Array:
    """A fresh array at an address that is a multiple of 256, or `offset` elements behind."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 512, np.uint8)
    start = -raw.ctypes.data % 256 + offset * np.dtype(dtype).itemsize
    return raw[start : start + size].view(dtype).reshape(shape)


def filled(shape: tuple[int, ...], dtype: Any, offset: int = 0) -> Array:
    out = aligned(shape, dtype, offset)
    out[...] = np.random.default_rng(7).integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
    return out


def accesses(kernel: Any, args: tuple[Any, ...], target: str = "sm_90a") -> list[str]:
    """The predicated loads and stores of the generated text, by their width."""
    text = kernel.lower(*args, target=target).lowered.llvm_text
    return re.findall(r"[ls][dt]\.global\.?(?:nc)?\.((?:v\d\.)?b\d+)", text)


def check(kernel: Any, grid: tuple[int, ...], args: tuple[Any, ...], out: int, **how: Any) -> Array:
    """The simulator's result, after comparing it with the interpreter's."""
    wanted, got = list(args), list(args)
    wanted[out], got[out] = args[out].copy(), args[out]
    kernel.interpret(grid, *wanted)
    simulate(kernel, grid, got, "sm_90a", **how)
    assert got[out].tobytes() == wanted[out].tobytes()
    return got[out]


@tw.tile_kernel
def rows_of(table, rows, out, tr: tw.Constant[int], tc: tw.Constant[int], shift: tw.Constant[int]):
    """out[i] = table[rows[i]], columns moved by `shift`."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(rows, (i,), (tr,), padding_mode=tw.PaddingMode.ZERO)[:, None]
    column = j * tc + shift + tw.arange(tc, dtype=tw.int32)[None, :]
    tw.store(out, (i, j), tw.gather(table, (row, column), padding_value=1))


@tw.tile_kernel
def rows_to(x, rows, table, tr: tw.Constant[int], tc: tw.Constant[int], shift: tw.Constant[int]):
    """table[rows[i]] = x[i], columns moved by `shift`."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(rows, (i,), (tr,), padding_mode=tw.PaddingMode.ZERO)[:, None]
    column = j * tc + shift + tw.arange(tc, dtype=tw.int32)[None, :]
    tw.scatter(table, (row, column), tw.load(x, (i, j), (tr, tc)))


DTYPES = [np.bool_, np.int8, np.float16, BF16, np.float32, np.int64, ml_dtypes.float8_e5m2]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("columns", [64, 72, 61])
@pytest.mark.parametrize("shift", [0, -3, 16, -32])
def test_rows(dtype: Any, columns: int, shift: int) -> None:
    """Whole vectors, edges that cut none, edges and starts that cut some; rows before and behind the table."""
    table, rows = filled((40, columns), dtype), np.array([0, 3, -1, 39, 40, 7, 7, 2**31 - 1] * 2, np.int32)
    out = aligned((16, columns), dtype)
    check(rows_of, (2, 3), (table, rows, out, 8, 32, shift), 2)
    apart = np.array([0, 3, -1, 39, 40, 7, 8, 2**31 - 1, *range(10, 18)], np.int32)
    check(rows_to, (2, 3), (filled((16, columns), dtype), apart, aligned((40, columns), dtype), 8, 32, shift), 2)


def test_widths() -> None:
    """16 bytes where base, strides and starts allow it, less where one of them does not."""
    def widths(columns: int, shift: int, offset: int = 0, dtype: Any = BF16) -> set[str]:
        table, rows = filled((64, columns), dtype, offset), np.zeros(64, np.int32)
        found = accesses(rows_of, (table, rows, aligned((64, columns), dtype), 64, 64, shift))
        return set(found) - {"b32"}  # the numbers of rows

    assert widths(128, 0) == widths(128, 8) == widths(128, 0, dtype=np.float32) == {"v4.b32"}
    assert widths(128, 0, dtype=np.float64) == {"v2.b64"}
    assert widths(128, 4) == {"v2.b32"}
    assert "v4.b32" not in widths(128, 1) | widths(128, 0, offset=4) | widths(132, 0) | widths(127, 0)


def test_scatters_are_as_wide() -> None:
    table, rows = filled((64, 128), BF16), np.zeros(64, np.int32)
    args = (aligned((64, 128), BF16), rows, table, 64, 64, 0)
    assert accesses(rows_to, args).count("v4.b32") >= 4 and "b16" not in accesses(rows_to, args)


@tw.tile_kernel
def masked(x, out, n: int, low: int, tile: tw.Constant[int]):
    place = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32)
    kept = (place < n) & (place >= low)
    value = tw.gather(x, place, mask=kept, padding_value=-1, check_bounds=False)
    tw.scatter(out, place, value + 1, mask=kept | (place < 3))


@pytest.mark.parametrize(("n", "low"), [(256, 0), (250, 0), (193, 65), (64, 5), (0, 0)])
def test_masks(n: int, low: int) -> None:
    """A mask may fall anywhere: then a thread whose vectors it cuts goes element by element."""
    x, out = filled((256,), np.float32), aligned((256,), np.float32)
    check(masked, (2,), (x, out, n, low, 128), 1)
    assert "v4.b32" in accesses(masked, (x, out, n, low, 128))


@tw.tile_kernel
def flat_to_pairs(x, out, width: tw.Constant[int], tile: tw.Constant[int]):
    """A flat number taken apart into rows and columns, and the columns of a transposed array."""
    place = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32)
    tw.scatter(out, (place % width, place // width), tw.gather(x, (place // width, place % width)))


@pytest.mark.parametrize(("width", "wide"), [(32, True), (64, True), (48, True), (30, False)])
def test_divided_numbers(width: int, wide: bool) -> None:
    x = filled((64, width), np.float32)
    out = aligned((64, width), np.float32).T
    check(flat_to_pairs, (2,), (x, out, width, 1024), 1)
    assert set(accesses(flat_to_pairs, (x, out, width, 1024))) == {"v4.b32" if wide else "b32"}


@tw.tile_kernel
def first_axis(x, columns, out, tr: tw.Constant[int], tc: tw.Constant[int]):
    """Columns of an array whose rows lie apart: the dense axis of memory is the first of the tile."""
    row = tw.arange(tr, dtype=tw.int64)[:, None]
    column = tw.load(columns, (0,), (tc,))[None, :]
    tw.store(out, (0, 0), tw.gather(x, (row, column)))


def test_columns_of_a_transposed_array() -> None:
    x = filled((50, 64), np.float16).T
    columns = np.array([1, 49, 50, 3, 4, -9, 0, 0] * 4, np.int64)
    args = (x, columns, aligned((64, 32), np.float16), 64, 32)
    got = check(first_axis, (1,), args, 2)
    assert np.array_equal(got[:, 0], x[:, 1]) and not got[:, 2].any() and not got[:, 5].any()
    assert accesses(first_axis, args).count("v4.b32") >= 2


@tw.tile_kernel
def carried(x, out, tile: tw.Constant[int]):
    """An index that each round moves on."""
    place = tw.arange(tile, dtype=tw.int32)
    total = tw.zeros((tile,), tw.float32)
    for _ in range(tw.cdiv(x.shape[0], tile)):
        total += tw.gather(x, place)
        place += tile
    tw.scatter(out, tw.arange(tile, dtype=tw.int32), total)


def test_carried_index() -> None:
    x, out = filled((2512,), np.float32), aligned((1024,), np.float32)
    check(carried, (1,), (x, out, 1024), 1)
    assert set(accesses(carried, (x, out, 1024))) == {"v4.b32"}
