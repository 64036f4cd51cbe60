"""Loads and stores: padding modes, orders, strides, ranks, conversions; gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case

import tilewright as tw

DTYPES = (
    np.bool_,
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint32,
    np.float16,
    ml_dtypes.bfloat16,
    np.float32,
    np.float64,
)


@tw.tile_kernel
def copy1(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i,), tw.load(x, (i,), (tile,)))


@tw.tile_kernel
def copy2(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn)))


@tw.tile_kernel
def copy3(x, out, a: tw.Constant[int], b: tw.Constant[int], c: tw.Constant[int]):
    i, j, k = tw.bid(0), tw.bid(1), tw.bid(2)
    tw.store(out, (i, j, k), tw.load(x, (i, j, k), (a, b, c)))


@tw.tile_kernel
def copy4(x, out, a: tw.Constant[int], b: tw.Constant[int]):
    i = tw.bid(0)
    for j in range(tw.num_tiles(x, 1, (1, a, 1, b))):
        for k in range(x.shape[2]):
            for m in range(tw.num_tiles(x, 3, (1, a, 1, b))):
                tw.store(out, (i, j, k, m), tw.load(x, (i, j, k, m), (1, a, 1, b)))


@tw.tile_kernel
def copy0(x, out):
    tw.store(out, (), tw.load(x, (), ()))


@tw.tile_kernel
def turned(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn), order="F"))


@tw.tile_kernel
def turned_store(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn)), order=(1, 0))


@tw.tile_kernel
def unbounded(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i,), tw.load(x, (i,), (tile,), check_bounds=False), check_bounds=False)


@tw.tile_kernel
def shifted(x, out, tile: tw.Constant[int]):
    # Both neighbours of a tile; at the ends there is one.
    i = tw.bid(0)
    both = tw.zeros((tile,), x.dtype)
    if i > 0:
        both += tw.load(x, (i - 1,), (tile,), padding_mode=tw.PaddingMode.ZERO)
    if i + 1 < tw.num_tiles(x, 0, (tile,)):
        both += tw.load(x, (i + 1,), (tile,), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (i,), both)


@tw.tile_kernel
def gather2(table, rows, columns, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    r, c = tw.load(rows, (i,), (tile,)), tw.load(columns, (i,), (tile,))
    tw.store(out, (i,), tw.gather(table, (r, c), mask=r != 2, padding_value=7))


@tw.tile_kernel
def scatter1(x, at, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    place = i * tile + tw.arange(tile, dtype=tw.int32)
    where = tw.gather(at, place, padding_value=-1)
    tw.scatter(out, where, tw.gather(x, place), mask=where != 3)


@tw.tile_kernel
def in_place(x, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(x, (i,), tw.load(x, (i,), (tile,)) * 2)
    tw.store(x, (i,), tw.load(x, (i,), (tile,)) + 1)


@tw.tile_kernel
def cast_to(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, (i,), tw.load(x, (i,), (tile,)).astype(out.dtype))


def padded(mode: Any) -> Any:
    @tw.tile_kernel
    def kernel(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
        i, j = tw.bid(0), tw.bid(1)
        tw.store(out, (i, j), tw.load(x, (i, j), (tm, tn), padding_mode=mode))

    return kernel


PADDINGS = {mode: padded(mode) for mode in tw.PaddingMode if mode is not tw.PaddingMode.UNDETERMINED}
PADDING_VALUES = {"zero": 0.0, "neg_zero": -0.0, "nan": np.nan, "pos_inf": np.inf, "neg_inf": -np.inf}


def values(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return np.asarray(100 * rng.standard_normal(shape)).astype(dtype)


def copy_case(
    name: str,
    kernel: Any,
    grid: tuple[int, ...],
    shape: tuple[int, ...],
    tile: tuple[int, ...],
    dtype: Any,
    view: Callable[[np.ndarray], np.ndarray] = lambda a: a,
    turn: bool = False,
) -> Case:
    """out = x through views of both; `view` keeps the number of elements' shape decided by x."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x = view(np.asarray(values(rng, shape, dtype)))  # NumPy makes scalars of shape ()
        out = np.zeros(x.T.shape if turn else x.shape, dtype)
        return (x, out, *tile)

    def reference(x: np.ndarray, out: np.ndarray, *rest: int) -> tuple[np.ndarray, ...]:
        return ((x.T if turn else x).copy(),)

    return Case(f"{name}-{np.dtype(dtype).name}", kernel, grid, make, (1,), reference)


def padding_case(mode: Any, dtype: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return values(rng, (5, 27), dtype), np.ones((8, 32), dtype), 8, 32

    def reference(x: np.ndarray, out: np.ndarray, tm: int, tn: int) -> tuple[np.ndarray, ...]:
        want = np.full(out.shape, PADDING_VALUES[mode.value]).astype(out.dtype)
        want[:5, :27] = x
        return (want,)

    return Case(f"padding-{mode.value}-{np.dtype(dtype).name}", PADDINGS[mode], (1, 1), make, (1,), reference)


def cast_case(src: Any, dst: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        x = values(rng, (70,), src)
        if np.dtype(src).kind not in "iub":
            x[:6] = np.array(
                [0.5, -1.5, 1e30 if src in (np.float32, np.float64) else 300, np.nan, np.inf, -np.inf], src
            )
        return x, np.zeros(70, dst), 32

    def reference(x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            if out.dtype.kind in "iu" and x.dtype.kind not in "iub":  # saturate, NaN to 0
                info, wide = (
                    np.iinfo(out.dtype),
                    np.trunc(np.nan_to_num(x.astype(np.float64), posinf=1e300, neginf=-1e300)),
                )
                exact = [min(max(int(v), info.min), info.max) for v in wide]
                return (np.array(exact, out.dtype),)
            return (x.astype(out.dtype),)

    return Case(f"cast-{np.dtype(src).name}-{np.dtype(dst).name}", cast_to, (3,), make, (1,), reference)


def gather_case(index: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        rows = rng.integers(0 if np.dtype(index).kind == "u" else -3, 12, 75).astype(index)
        columns = rng.integers(0, 20, 75).astype(index)
        return values(rng, (9, 17), np.float32), rows, columns, np.zeros(75, np.float32), 32

    def reference(
        table: np.ndarray, r: np.ndarray, c: np.ndarray, out: np.ndarray, tile: int
    ) -> tuple[np.ndarray, ...]:
        ok = (r >= 0) & (r < 9) & (c >= 0) & (c < 17) & (r != 2)
        return (np.where(ok, table[np.where(ok, r, 0), np.where(ok, c, 0)], np.float32(7)),)

    return Case(f"gather2-{np.dtype(index).name}", gather2, (3,), make, (3,), reference)


def scatter_case() -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        at = rng.permutation(90)[:75].astype(np.int32) - 5  # some below 0; out has 80 places
        return values(rng, (75,), np.int16), at, np.zeros(80, np.int16), 16

    def reference(x: np.ndarray, at: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        want, ok = out.copy(), (at >= 0) & (at < 80) & (at != 3)
        want[at[ok]] = x[ok]
        return (want,)

    return Case("scatter1", scatter1, (5,), make, (2,), reference)


def one_output(
    name: str, kernel: Any, grid: tuple[int, ...], make: Any, output: int, reference: Any, **more: Any
) -> Case:
    return Case(name, kernel, grid, make, (output,), lambda *a: (reference(*a),), **more)


def shifted_reference(x: np.ndarray, out: np.ndarray, tile: int) -> np.ndarray:
    z = np.concatenate([np.zeros(tile, x.dtype), x, np.zeros(tile, x.dtype)])
    return z[: len(x)] + z[2 * tile :]


def cases() -> Iterator[Case]:
    for dtype in DTYPES:
        yield copy_case("copy1", copy1, (5,), (131,), (32,), dtype)
        yield copy_case("copy2", copy2, (3, 3), (37, 45), (16, 16), dtype)
    for n in (64, 1, 31, 32, 33):
        yield copy_case(f"copy1-{n}", copy1, (-(-n // 32),), (n,), (32,), np.float32)
    yield copy_case("copy0", copy0, (1,), (), (), np.float32)
    yield copy_case("copy3", copy3, (2, 3, 2), (3, 10, 33), (2, 4, 32), np.float32)
    yield copy_case("copy4", copy4, (3,), (3, 5, 2, 18), (4, 8), np.float16)
    yield copy_case("copy2-transposed-view", copy2, (3, 3), (45, 37), (16, 16), np.float32, lambda a: a.T)
    yield copy_case("copy2-strided-view", copy2, (3, 3), (74, 135), (16, 16), np.int16, lambda a: a[::2, ::3])
    yield copy_case("copy2-offset-view", copy2, (3, 3), (40, 48), (16, 16), np.float32, lambda a: a[3:, 3:])
    yield copy_case("copy2-reversed-view", copy2, (3, 3), (37, 45), (16, 16), np.float32, lambda a: a[::-1, ::-1])
    yield copy_case(
        "copy2-broadcast-view", copy2, (3, 3), (1, 45), (16, 16), np.float32, lambda a: np.broadcast_to(a, (37, 45))
    )
    yield copy_case("copy2-wide", copy2, (2, 1), (64, 128), (32, 128), ml_dtypes.bfloat16)
    yield copy_case("order-F", turned, (3, 3), (37, 45), (16, 16), np.float32, turn=True)
    yield copy_case("store-order", turned_store, (3, 3), (37, 45), (16, 16), np.float32, turn=True)
    yield copy_case("unbounded", unbounded, (4,), (128,), (32,), np.float32)
    for mode in PADDINGS:
        for dtype in (np.float32, np.float16, ml_dtypes.bfloat16, np.float64):
            yield padding_case(mode, dtype)
    yield padding_case(tw.PaddingMode.ZERO, np.int32)
    for src in (
        np.bool_,
        np.int8,
        np.uint16,
        np.int32,
        np.int64,
        np.float16,
        ml_dtypes.bfloat16,
        np.float32,
        np.float64,
    ):
        for dst in (
            np.bool_,
            np.int8,
            np.uint16,
            np.int32,
            np.uint64,
            np.float16,
            ml_dtypes.bfloat16,
            np.float32,
            np.float64,
        ):
            yield cast_case(src, dst)
    for index in (np.int32, np.int64, np.uint8):
        yield gather_case(index)
    yield scatter_case()
    yield one_output(
        "shifted",
        shifted,
        (5,),
        lambda rng: (values(rng, (131,), np.int32), np.zeros(131, np.int32), 32),
        1,
        shifted_reference,
    )
    yield one_output(
        "in_place", in_place, (5,), lambda rng: (values(rng, (131,), np.int32), 32), 0, lambda x, tile: x * 2 + 1
    )
