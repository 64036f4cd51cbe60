"""One source, code for several targets, on one GPU: PTX for sm_80 runs on any later one and agrees bit for bit."""

from __future__ import annotations

import dataclasses

import ml_dtypes
import numpy as np
import pytest
from benchmarks.kernels import matmul

import tilewright as tw
from tilewright.backend_ptx.runtime import driver
from tilewright.backend_ptx.targets import get_target


@pytest.mark.gpu
@pytest.mark.parametrize("tile", [(128, 128, 64), (32, 64, 32)])
def test_matmul_for_sm_80_equals_matmul_for_this_gpu(
    tile: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    m, n, k = 1000, 1032, 520
    a = rng.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((k, n)).astype(ml_dtypes.bfloat16)
    own = driver.get_device(0)
    old = get_target("sm_80").with_ptx(own.target.ptx)
    results = []
    for target in (own.target, old):
        monkeypatch.setitem(driver._devices, 0, dataclasses.replace(own, target=target))
        kernel = matmul.replace_hints()  # without the plans of the other target
        args = [tw.to_device(x) for x in (a, b, np.full((m, n), np.nan, np.float32))]
        kernel[(tw.cdiv(m, tile[0]) * tw.cdiv(n, tile[1]),)](*args, *tile, 8, False)
        results.append(args[2].to_host())
    wide = a.astype(np.float64), b.astype(np.float64)
    bound = k * 2.0**-24 * (np.abs(wide[0]) @ np.abs(wide[1]))
    assert np.all(np.abs(results[0] - wide[0] @ wide[1]) <= bound)
    assert np.array_equal(results[0], results[1])
