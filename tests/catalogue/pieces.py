"""Parts of tiles and bits of elements: extract, insert, cat, astile, bitcast, packing, advanced indexing, divmod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case
from catalogue.memory import values

import tilewright as tw

DTYPES = (np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16,
          ml_dtypes.bfloat16, np.float32, np.float64)
BITS = {8: (tw.int8, tw.uint8), 16: (tw.int16, tw.uint16, tw.float16, tw.bfloat16),
        32: (tw.int32, tw.uint32, tw.float32), 64: (tw.int64, tw.uint64, tw.float64)}
NUMPY = {tw.int8: np.int8, tw.uint8: np.uint8, tw.int16: np.int16, tw.uint16: np.uint16, tw.float16: np.float16,
         tw.bfloat16: ml_dtypes.bfloat16, tw.int32: np.int32, tw.uint32: np.uint32, tw.float32: np.float32,
         tw.int64: np.int64, tw.uint64: np.uint64, tw.float64: np.float64}


@tw.tile_kernel
def extracts(x, out, i, j):
    # A part at a constant place and one at a place known at run time.
    t = tw.load(x, (tw.bid(0), 0), (16, 64))
    tw.store(out, (tw.bid(0), 0, 0), t.extract((i, j), (4, 16)).reshape((1, 4, 16)))
    tw.store(out, (tw.bid(0), 1, 0), tw.extract(t, (1, 2), (4, 16)).reshape((1, 4, 16)))
    tw.store(out, (tw.bid(0), 2, 0), tw.full((1, 4, 16), t.extract((15, j), ()), x.dtype))


@tw.tile_kernel
def inserts(x, part, out, i, j):
    t, p = tw.load(x, (0, 0), (16, 32)), tw.load(part, (0, 0), (4, 8))
    tw.store(out, (0, 0), tw.insert(t, (i, j), p))
    tw.store(out, (1, 0), t.insert((3, 0), p))
    tw.store(out, (2, 0), tw.insert(t, (15, j), p.extract((0, 0), ())))


@tw.tile_kernel
def cats(x, y, out0, out1):
    a, b = tw.load(x, (tw.bid(0), 0), (8, 16)), tw.load(y, (tw.bid(0), 0), (8, 16))
    tw.store(out0, (tw.bid(0), 0), tw.cat((a, b), 0))
    tw.store(out1, (tw.bid(0), 0), tw.cat((b, tw.cat((a,), 0)), -1))


@tw.tile_kernel
def stacked(out, n, s: tw.Constant[float]):
    t = tw.astile(((n, n + 1, 2, 3), (4, 5, n * 2, 7)), dtype=tw.int32)
    tw.store(out, (0, 0), t)
    tw.store(out, (1, 0), tw.astile(((s, 1.5), (2.5, n)), dtype=tw.float32).astype(tw.int32))


def reinterpret(dtype: Any) -> Any:
    @tw.tile_kernel
    def kernel(x, out, tile: tw.Constant[int]):
        tw.store(out, (tw.bid(0),), tw.bitcast(tw.load(x, (tw.bid(0),), (tile,)), dtype))

    return kernel


@tw.tile_kernel
def packed(x, data, back, tile: tw.Constant[int], size: tw.Constant[int]):
    raw = tw.pack_to_bytes(tw.load(x, (tw.bid(0),), (tile,)))
    tw.store(data, (tw.bid(0),), raw)
    tw.store(back, (tw.bid(0),), tw.unpack_from_bytes(raw, x.dtype))


@tw.tile_kernel
def nibbles(x, data, back, tile: tw.Constant[int]):
    raw = tw.pack_to_bytes(tw.load(x, (0,), (tile,)).astype(tw.float4_e2m1fn))
    tw.store(data, (0,), raw)
    tw.store(back, (0,), tw.unpack_from_bytes(raw, tw.float4_e2m1fn).astype(tw.float32))


@tw.tile_kernel
def rows(x, at, out, start):
    r = tw.load(at, (tw.bid(0),), (16,))
    t = tw.load_advanced_indexing(x, (r, tw.Slice(start, 32)), padding_mode=tw.PaddingMode.NEG_INF)
    tw.store_advanced_indexing(out, (tw.Slice(tw.bid(0) * 16, 16), tw.arange(32, dtype=tw.int32) * 2), t)


@tw.tile_kernel
def quotients(x, y, q, r, tile: tw.Constant[int]):
    a, b = divmod(tw.load(x, (tw.bid(0),), (tile,)), tw.load(y, (tw.bid(0),), (tile,)))  # type: ignore[operator]  # known in kernels only
    tw.store(q, (tw.bid(0),), a)
    tw.store(r, (tw.bid(0),), b)


@tw.tile_kernel
def promised(x, out, step):
    first = tw.assume_divisible_by(step * tw.bid(0), 16)
    t = tw.gather(x, first + tw.arange(64, dtype=tw.int32))
    tw.store(out, (tw.bid(0),), t)


def rows_reference(x: np.ndarray, at: np.ndarray, out: np.ndarray, start: int) -> tuple[np.ndarray, ...]:
    full = np.full((len(at), 32), -np.inf, x.dtype)
    for k, r in enumerate(at):
        if 0 <= r < x.shape[0]:
            columns = np.arange(start, start + 32)
            ok = (columns >= 0) & (columns < x.shape[1])
            full[k, ok] = x[r, columns[ok]]
    inside = full[: out.shape[0]]
    out[:, 0 : out.shape[1] : 2] = inside[:, : (out.shape[1] + 1) // 2]
    return (out,)


def extract_case(dtype: Any) -> Case:
    def reference(x: np.ndarray, out: np.ndarray, i: int, j: int) -> tuple[np.ndarray, ...]:
        for b in range(2):
            t = x[16 * b : 16 * b + 16]
            out[b, :4] = t[4 * i : 4 * i + 4, 16 * j : 16 * j + 16]
            out[b, 4:8] = t[4:8, 32:48]
            out[b, 8:] = t[15, j]
        return (out,)

    return Case(f"extract-{np.dtype(dtype).name}", extracts, (2,),
                lambda rng: (values(rng, (32, 64), dtype), np.zeros((2, 12, 16), dtype), 2, 3), (1,), reference)


def insert_case(dtype: Any) -> Case:
    def reference(x: np.ndarray, part: np.ndarray, out: np.ndarray, i: int, j: int) -> tuple[np.ndarray, ...]:
        for k in range(3):
            out[16 * k : 16 * k + 16] = x
        out[4 * i : 4 * i + 4, 8 * j : 8 * j + 8] = part
        out[28:32, :8] = part
        out[47, j] = part[0, 0]
        return (out,)

    return Case(f"insert-{np.dtype(dtype).name}", inserts, (1,),
                lambda rng: (values(rng, (16, 32), dtype), values(rng, (4, 8), dtype), np.zeros((48, 32), dtype), 2, 1),
                (2,), reference)


def cat_case(dtype: Any) -> Case:
    def reference(x: Any, y: Any, out0: Any, out1: Any) -> tuple[np.ndarray, ...]:
        for b in range(3):
            a, c = x[8 * b : 8 * b + 8], y[8 * b : 8 * b + 8]
            out0[16 * b : 16 * b + 16] = np.concatenate([a, c], 0)
            out1[8 * b : 8 * b + 8] = np.concatenate([c, a], 1)
        return out0, out1

    return Case(f"cat-{np.dtype(dtype).name}", cats, (3,),
                lambda rng: (values(rng, (24, 16), dtype), values(rng, (24, 16), dtype), np.zeros((48, 16), dtype),
                             np.zeros((24, 32), dtype)), (2, 3), reference)


def bitcast_case(kernel: Any, source: Any, target: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        # Bits of ordinary numbers: a NaN's payload may change on its way through a register.
        x = rng.integers(1, 100, 100).astype(NUMPY[target]).view(NUMPY[source])
        return x, np.zeros(100, NUMPY[target]), 64

    return Case(f"bitcast-{source}-{target}", kernel, (2,), make, (1,),
                lambda x, out, tile: (x.view(out.dtype).copy(),))


def packed_case(dtype: Any) -> Case:
    size = np.dtype(dtype).itemsize

    def reference(x: Any, data: Any, back: Any, tile: int, size: int) -> tuple[np.ndarray, ...]:
        return x.view(np.uint8).copy(), x.copy()

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return values(rng, (128,), dtype), np.zeros(128 * size, np.uint8), np.zeros(128, dtype), 64, size

    return Case(f"packed-{np.dtype(dtype).name}", packed, (2,), make, (1, 2), reference)


def nibbles_reference(x: np.ndarray, data: np.ndarray, back: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
    small = x.astype(ml_dtypes.float4_e2m1fn)
    codes = small.view(np.uint8) & 15
    return (codes[0::2] | codes[1::2] << 4).astype(np.uint8), small.astype(np.float32)


def cases() -> Iterator[Case]:
    for dtype in DTYPES:
        yield extract_case(dtype)
        yield insert_case(dtype)
        yield cat_case(dtype)
    for group in BITS.values():
        for target in group:
            kernel = reinterpret(target)
            for source in group:
                if source is not target:
                    yield bitcast_case(kernel, source, target)
    for dtype in DTYPES[1:]:
        yield packed_case(dtype)
    yield Case("nibbles", nibbles, (1,),
               lambda rng: (rng.choice([0, 0.5, -1, 1.5, 2, -3, 4, 6, -0.5], 64).astype(np.float32),
                            np.zeros(32, np.uint8), np.zeros(64, np.float32), 64), (1, 2), nibbles_reference)
    yield Case("astile", stacked, (1,), lambda rng: (np.zeros((4, 4), np.int32), 9, 3.75), (0,),
               lambda out, n, s: (np.array([[9, 10, 2, 3], [4, 5, 18, 7], [3, 1, 0, 0], [2, 9, 0, 0]], np.int32),))
    for start in (5, -3, 20):
        yield Case(f"advanced-indexing-{start}", rows, (2,),
                   lambda rng, start=start: (values(rng, (20, 40), np.float32),
                                             rng.integers(-2, 22, 32).astype(np.int32),
                                             np.zeros((27, 61), np.float32), start), (2,), rows_reference)
    for dtype in (np.int8, np.int32, np.int64, np.uint16, np.uint32):
        low = 0 if np.dtype(dtype).kind == "u" else -50
        yield Case(f"divmod-{np.dtype(dtype).name}", quotients, (3,),
                   lambda rng, dtype=dtype, low=low: (
                       rng.integers(low, 100, 90).astype(dtype),
                       np.where(rng.random(90) < 0.5, 7, 3 if low == 0 else -3).astype(dtype),
                       np.zeros(90, dtype), np.zeros(90, dtype), 32), (2, 3),
                   lambda x, y, q, r, tile: (x // y, x % y))
    yield Case("assume-divisible", promised, (3,),
               lambda rng: (values(rng, (256,), np.float32), np.zeros(192, np.float32), 32), (1,),
               lambda x, out, step: (np.concatenate([x[step * b : step * b + 64] for b in range(3)]),))
