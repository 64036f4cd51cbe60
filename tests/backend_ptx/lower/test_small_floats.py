"""Eight- and four-bit floats without hardware: every code, and float32 values around every rounding boundary."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.simulator import simulate
from tilewright.interp import codes
from tilewright.tileir.enums import RoundingMode

RN, RZ, RP = RoundingMode.RN, RoundingMode.RZ, RoundingMode.RP
DTYPES = [(ct.float8_e8m0fnu, RZ), (ct.float8_e8m0fnu, RP), (ct.float8_e5m3fnu, RN), (ct.float4_e2m1fn, RN),
          (ct.float8_e4m3fn, RN), (ct.float8_e5m2, RN)]


def boundaries(dtype: Any) -> np.ndarray:
    """Values of the format, the middles between neighbours, and what lies just beside all of those."""
    table = codes.value_table(dtype)
    with np.errstate(all="ignore"):
        exact = np.unique(np.abs(table[np.isfinite(table)]))
        places = np.concatenate([exact, (exact[1:] + exact[:-1]) / 2, [0, 1e-45, 1e-40, 1.2e-38, 3e38, np.inf]])
        places = places.astype(np.float32)
        near = np.concatenate([places, np.nextafter(places, np.float32(np.inf)), np.nextafter(places, np.float32(0))])
    every = np.concatenate([near, -near, np.array([np.nan], np.float32)])
    return np.resize(every, -(-len(every) // 256) * 256)


@pytest.mark.parametrize("dtype,mode", DTYPES, ids=str)
def test_encoding(dtype: Any, mode: RoundingMode) -> None:
    @ct.tile_kernel
    def kernel(x, out):
        t = ct.load(x, (ct.bid(0),), (256,)).astype(dtype, rounding_mode=mode)
        ct.store(out, (ct.bid(0),), ct.astype(t, ct.float32))

    x = boundaries(dtype)
    out = np.zeros_like(x)
    simulate(kernel, (len(x) // 256,), (x, out), "sm_80")
    want = codes.decode(codes.encode(x, dtype, mode), dtype)
    wrong = ~((out.view(np.uint32) == want.view(np.uint32)) | np.isnan(out) & np.isnan(want))
    assert not wrong.any(), list(zip(x[wrong][:5], out[wrong][:5], want[wrong][:5], strict=True))


@pytest.mark.parametrize("dtype", [ct.float8_e4m3fn, ct.float8_e5m2], ids=str)
@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
def test_codes_below_sm_89(source: str, dtype: Any) -> None:
    """Every 16-bit value, and wider ones around every boundary, to the interpreter's codes, NaNs and zeros included."""
    @ct.tile_kernel
    def kernel(x, out):
        ct.store(out, (ct.bid(0),), ct.load(x, (ct.bid(0),), (2048,)).astype(dtype))

    kind = np.dtype(getattr(ml_dtypes, source, source))
    if kind.itemsize == 2:
        x = np.arange(1 << 16).astype(np.uint16).view(kind)
    else:
        x = np.resize(boundaries(dtype).astype(kind), 1 << 12)
        x[-256:] = np.nextafter(x[-256:], kind.type(np.inf))  # float64: what float32 cannot hold
    out = np.zeros(x.shape, getattr(ml_dtypes, dtype.name))
    want = np.zeros_like(out)
    with np.errstate(all="ignore"):
        simulate(kernel, (len(x) // 2048,), (x, out), "sm_80")
        kernel.interpret((len(x) // 2048,), x, want)
    wrong = out.view(np.uint8) != want.view(np.uint8)
    assert not wrong.any(), list(zip(x[wrong][:5], out[wrong][:5], want[wrong][:5], strict=True))


@pytest.mark.parametrize("dtype", [ct.float8_e8m0fnu, ct.float8_e5m3fnu], ids=str)
def test_decoding_every_code(dtype: Any) -> None:
    @ct.tile_kernel
    def kernel(x, out, half):
        t = ct.unpack_from_bytes(ct.load(x, (0,), (256,)), dtype)
        ct.store(out, (0,), ct.astype(t, ct.float32))
        ct.store(half, (0,), ct.astype(t, ct.bfloat16).astype(ct.float32))

    x, out, half = np.arange(256, dtype=np.uint8), np.zeros(256, np.float32), np.zeros(256, np.float32)
    simulate(kernel, (1,), (x, out, half), "sm_90a")
    np.testing.assert_array_equal(out, codes.value_table(dtype))
    np.testing.assert_array_equal(half, codes.value_table(dtype))


def test_integers_to_powers_of_two() -> None:
    @ct.tile_kernel
    def kernel(x, out):
        ct.store(out, (0,), ct.load(x, (0,), (64,)).astype(ct.float8_e8m0fnu).astype(ct.float32))

    x = np.arange(64, dtype=np.int32)
    out, want = np.zeros(64, np.float32), np.zeros(64, np.float32)
    simulate(kernel, (1,), (x, out), "sm_80")
    kernel.interpret((1,), x, want)
    np.testing.assert_array_equal(out, want)
