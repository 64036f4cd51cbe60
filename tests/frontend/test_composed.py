"""Functions made of other ops: insert and extract, astile, packing, scaled products, matmul of any rank."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from support.frontend import result, value

import tilewright as ct


def test_insert_and_extract() -> None:
    def compute(i):
        t = ct.arange(16, dtype=ct.int32).reshape((4, 4))
        part = t.extract((i, 0), (2, 2))
        return ct.insert(t, (0, i), part * 100)

    got = result(compute, 1, shape=(4, 4), dtype=np.int32)
    want = np.arange(16).reshape(4, 4)
    want[0:2, 2:4] = want[2:4, 0:2].copy() * 100
    assert (got == want).all()


def test_astile() -> None:
    got = result(lambda n: ct.astile(((1, n), (n * 2, 4.5)), dtype=ct.float32), 3, shape=(2, 2), dtype=np.float32)
    assert got.tolist() == [[1, 3], [6, 4.5]]


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float32", "float64", "bfloat16"])
def test_packing(dtype: str) -> None:
    numpy = np.dtype(getattr(ml_dtypes, dtype, None) or dtype)

    @ct.tile_kernel
    def kernel(x, packed, back):
        t = ct.load(x, (0,), (8,))
        raw = ct.pack_to_bytes(t)
        ct.store(packed, (0,), raw)
        ct.store(back, (0,), ct.unpack_from_bytes(raw, x.dtype))

    x = np.array([0, 1, -2, 3, 100, -100, 7, 0.5]).astype(numpy) if dtype != "uint16" else np.arange(8).astype(numpy)
    packed, back = np.zeros(8 * numpy.itemsize, np.uint8), np.zeros(8, numpy)
    kernel[(1,)](x, packed, back)
    assert packed.tobytes() == x.tobytes() and back.tobytes() == x.tobytes()


def test_four_bit_packing() -> None:
    @ct.tile_kernel
    def kernel(raw, values, back):
        t = ct.unpack_from_bytes(ct.load(raw, (0,), (8,)), ct.float4_e2m1fn)
        ct.store(values, (0,), t.astype(ct.float32))
        ct.store(back, (0,), ct.pack_to_bytes(t))

    codes = np.arange(16, dtype=np.uint8)
    raw = codes[::2] | codes[1::2] << 4
    values, back = np.zeros(16, np.float32), np.zeros(8, np.uint8)
    kernel[(1,)](raw, values, back)
    assert values.tolist() == codes.view(ml_dtypes.float4_e2m1fn).astype(np.float32).tolist()
    assert (back == raw).all()


def test_scaled_product() -> None:
    @ct.tile_kernel
    def kernel(x, xs, y, ys, out):
        a = ct.load(x, (0, 0), (4, 64)).astype(ct.float8_e4m3fn)
        b = ct.load(y, (0, 0), (64, 8)).astype(ct.float8_e4m3fn)
        sa = ct.load(xs, (0, 0), (4, 2)).astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ)
        sb = ct.load(ys, (0, 0), (2, 8)).astype(ct.float8_e8m0fnu, rounding_mode=ct.RoundingMode.RZ)
        ct.store(out, (0, 0), ct.mma_scaled(a, sa, b, sb, ct.zeros((4, 8), ct.float32)))

    rng = np.random.default_rng(0)
    x, y = rng.integers(-3, 4, (4, 64)).astype(np.float32), rng.integers(-3, 4, (64, 8)).astype(np.float32)
    xs, ys = 2.0 ** rng.integers(-2, 3, (4, 2)), 2.0 ** rng.integers(-2, 3, (2, 8))
    out = np.zeros((4, 8), np.float32)
    kernel[(1,)](x, xs.astype(np.float32), y, ys.astype(np.float32), out)
    assert (out == (x * np.repeat(xs, 32, 1)) @ (y * np.repeat(ys, 32, 0))).all()


def test_matmul_ranks() -> None:
    def compute():
        a = ct.arange(8, dtype=ct.float32).reshape((2, 4))
        v = ct.arange(4, dtype=ct.float32)
        batch = ct.arange(16, dtype=ct.float32).reshape((2, 4, 2))
        return ct.sum(a @ v) * 1000000 + (v @ v) * 1000 + ct.sum(a @ batch)

    a, v = np.arange(8.0).reshape(2, 4), np.arange(4.0)
    want = (a @ v).sum() * 1e6 + (v @ v) * 1000 + (a @ np.arange(16.0).reshape(2, 4, 2)).sum()
    assert math.isclose(value(compute), want, rel_tol=1e-6)
