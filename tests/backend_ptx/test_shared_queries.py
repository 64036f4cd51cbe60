"""A of an MMA that threads compute before a loop is in shared memory: ptxas gives registers of it to the A of another
MMA in the loop."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.types import SharedType

TARGET = get_target("sm_90a")
TM, TN, D, TILES = 128, 64, 64, 3


@ct.tile_kernel
def scaled(q, k, v, out):
    query = (ct.load(q, (0, 0), (TM, D)).astype(ct.float32) * 2.0).astype(ct.bfloat16)
    acc = ct.zeros((TM, D), ct.float32)
    for j in range(ct.num_tiles(k, 0, (TN, D))):
        s = ct.mma(query, ct.load(k, (j, 0), (TN, D)).transpose(), ct.zeros((TM, TN), ct.float32))
        acc = ct.mma(ct.maximum(s, 0.0).astype(ct.bfloat16), ct.load(v, (j, 0), (TN, D)), acc)
    ct.store(out, (0, 0), acc)


@pytest.mark.parametrize("occupancy", [None, 2])
def test_scaled_queries(occupancy: int | None) -> None:
    rng = np.random.default_rng(7)
    q, k, v = (rng.integers(-1, 2, (rows, D)).astype(ml_dtypes.bfloat16) for rows in (TM, TN * TILES, TN * TILES))
    out = np.zeros((TM, D), np.float32)
    args: tuple[Any, ...] = (q, k, v, out)
    made = scaled.replace_hints(occupancy=occupancy, num_worker_warps=8).lower(*args, target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    shared = [isinstance(op.a.type, SharedType) for op in made.walk() if isinstance(op, Product)]
    assert shared == [True, False], "queries, weights"
    simulate_lowered(emit_function(made, TARGET), (1,), args, schedule="random", seed=3)
    weights = np.maximum(2 * q.astype(np.float32) @ k.astype(np.float32).T, 0)
    np.testing.assert_array_equal(out, weights @ v.astype(np.float32))
