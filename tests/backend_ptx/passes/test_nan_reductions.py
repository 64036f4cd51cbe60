"""Reductions across warps keep their options: NaNs are passed on where the kernel asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.compile import backend_dumps
from tilewright.interp import compile_function
from tilewright.tileir.printer import to_text


@tw.tile_kernel
def largest(x, out, keeps: tw.Constant[bool]):
    tw.store(out, 0, tw.max(tw.load(x, (0, 0), (256, 64)), axis=0, propagate_nan=keeps))


@pytest.mark.parametrize("keeps", [False, True])
def test_parts_of_a_reduction_treat_nans_alike(keeps: bool) -> None:
    x, out = np.random.default_rng(0).standard_normal((256, 64)).astype(np.float32), np.zeros(64, np.float32)
    x[70, 3] = x[255, 9] = np.nan
    dumps: list[Any] = []
    machine = backend_dumps(largest.lower(x, out, keeps, target="sm_90a").tile_ir(), "sm_90a",
                            lambda name, now: dumps.append(to_text(now)))
    assert any("reduce_bits" in text for text in dumps)
    compile_function(machine).run((1, 1, 1), [x, out])
    np.testing.assert_array_equal(out, (np.max if keeps else np.nanmax)(x, axis=0))
