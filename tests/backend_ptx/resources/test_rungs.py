"""The code of each rung of the ladder computes the same, and plans that ptxas once refused are accepted."""

from __future__ import annotations

from itertools import product as product_of
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from benchmarks.sweep import kernels
from support.optional import needs_ptxas
from support.thorough import part

import tilewright as tw
from tilewright.backend_ptx.compile import Attempt, settle
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.tileir.plan import Hints, Limits

BF16 = ml_dtypes.bfloat16


def product() -> tuple[Any, tuple[Any, ...], tuple[int, ...], np.ndarray]:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, shape).astype(BF16) for shape in ((128, 128), (128, 64)))
    c = np.zeros((128, 64), np.float32)
    return kernels.gemm, (a, b, c, 128, 64, 32), (1, 1, 1), a.astype(np.float32) @ b.astype(np.float32)


def transposed(dtype: Any = np.float32) -> tuple[Any, tuple[Any, ...], tuple[int, ...], np.ndarray]:
    x = np.arange(128 * 64).reshape(128, 64).astype(dtype)
    return kernels.transpose, (x, np.zeros((64, 128), dtype), 128, 64), (1, 1, 1), x.T


def attended() -> tuple[Any, tuple[Any, ...], tuple[int, ...], np.ndarray]:
    rng = np.random.default_rng(2)
    q, k, v = (rng.standard_normal((1, n, 64)).astype(np.float16) for n in (128, 96, 96))
    score = q[0].astype(np.float64) @ k[0].astype(np.float64).T * 0.125
    weight = np.exp(score - score.max(axis=1, keepdims=True))
    want = (weight / weight.sum(axis=1, keepdims=True)) @ v[0].astype(np.float64)
    arrays = q, k, v, np.zeros((1, 128, 64), np.float32), np.zeros((1, 128), np.float32)
    return kernels.attention, (*arrays, 0.125, 128, 64, 64, False, False, False), (1, 1, 1), want[None]


def whole() -> tuple[Any, tuple[Any, ...], tuple[int, ...], np.ndarray]:
    _, (a, b, c, *_), grid, want = product()
    return kernels.whole_product, (a, b, c, 128, 64, 128), grid, want


WORKS = {"whole": whole, "product": product, "transposed": transposed, "attended": attended}
RUNGS = {
    "one stage": Limits(max_stages=1), "two stages": Limits(max_stages=2), "8 warps": Limits(warps=8),
    "pieces of 8 KiB": Limits(max_exchange=8192), "pieces of 1 KiB": Limits(max_exchange=1024, max_stages=1),
    "K split": Limits(max_depth=16),
    "two CTAs": Limits(ctas=2), "mma.sync": Limits(matrix_unit="mma.sync"),
    "mma.sync in pieces": Limits(matrix_unit="mma.sync", max_stages=1, max_exchange=2048),
    "lean producer": Limits(warps=8, producer_ease=False),
    "no setmaxnreg": Limits(warps=8, allow_register_reallocation=False),
    "registers for one CTA": Limits(cap_registers=False),
    "as written": Limits(split_loops=False, order_blocks=False, hoist_conversions=False, extras=False),
}


# Of the rungs, 13, every second: a kernel has the one half of them for one target, the other for the other.
CODES = part(list(product_of(WORKS, ("sm_80", "sm_90a"), RUNGS)), 2)


@pytest.mark.parametrize(("work", "target", "rung"), CODES)
def test_every_rung_computes_the_same(work: str, target: str, rung: str) -> None:
    kernel, args, grid, want = WORKS[work]()
    stages = kernel.lower(*args, target=target)
    plan = Attempt(stages.tile_ir(), stages.target, RUNGS[rung])
    assert plan.overflow is None
    simulate_lowered(plan.lowered, grid, stages.values)
    out = {"product": 2, "whole": 2, "transposed": 1, "attended": 3}[work]
    np.testing.assert_allclose(args[out], want, rtol=2e-3, atol=2e-3)


def test_warpgroups_that_share_64_rows() -> None:
    """Of b as [K, N] each of four warpgroups reads less than what a row of 128 bytes holds."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 32), (32, 128)))
    c = np.zeros((64, 128), np.float32)
    stages = kernels.gemm.lower(a, b, c, 64, 128, 32, target="sm_90a")
    plan = Attempt(stages.tile_ir(), stages.target, Limits(warps=16))
    simulate_lowered(plan.lowered, (1, 1, 1), stages.values)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_exchanges_keep_within_their_limit() -> None:
    """A transposed tile has no index bit that both layouts keep in registers: it takes two hops."""
    kernel, args, _, _ = transposed()
    stages = kernel.lower(*args, target="sm_90a")
    whole, pieces = (Attempt(stages.tile_ir(), stages.target, limits).lowered.shared_bytes
                     for limits in (Limits(), Limits(max_exchange=8192)))
    assert (whole, pieces) == (128 * 64 * 4, 8192)


# ---- plans that were refused ------------------------------------------------------------------------------------

Q, A, V, S = "bf16[8,2048,128]", "bf16[2048,2048]", "bf16[2048]", "f32[2048]"
REFUSED = {
    "occupancy": ("attention", (Q, Q, Q, Q, "f32[8,2048]", 0.1, 128, 128, 128, False, False, False), Hints(occupancy=2),
                  "occupancy=2 lowered to 1: ptxas needs 94 registers, shared memory has room for 1"),
    "wide rows": ("attention", (Q, Q, Q, Q, "f32[8,2048]", 0.1, 256, 128, 128, False, False, False), Hints(),
                  "2 CTAs per cluster: ptxas finds too few registers"),
    "setmaxnreg": ("attention", ("bf16[8,2048,64]",) * 4 + ("f32[8,2048]", 0.1, 256, 64, 64, False, False, False),
                   Hints(), "registers for one CTA per SM: ptxas would ignore setmaxnreg"),
    "cluster": ("gemm", (A, A, A, 512, 256, 64), Hints(num_ctas=2), "4 CTAs per cluster: ptxas needs 154 registers"),
    "latent": ("latent_attention", ("bf16[16,2048,576]", "bf16[2048,576]", "bf16[16,2048,512]", 0.1, 128, 64, 576, 512),
               Hints(occupancy=2),
               "occupancy=2 lowered to 1: ptxas needs 158 registers, shared memory has room for 1"),
    "stages": ("norm_linear_gelu_dropout", (A, S, S, A, V, A, 3, 0.25, 128, 128, 64), Hints(),
               "stages lowered to 4: 1 KiB of shared memory too much"),
    "pieces": ("transpose", ("f32[2048,2048]", "f32[2048,2048]", 256, 256), Hints(),
               "layout conversions in sub-tiles of 128 KiB: 29 KiB of shared memory too much"),
}


@needs_ptxas
@pytest.mark.parametrize("name", REFUSED)
def test_what_was_refused_is_accepted(name: str) -> None:
    kernel, args, hints, words = REFUSED[name]
    given = [tw.spec(a) if isinstance(a, str) else a for a in args]
    stages = getattr(kernels, kernel).lower(*given, target="sm_90a")
    function = stages.tile_ir()
    function.hints = hints
    settled = settle(function, stages.target)
    assert words in settled.rungs
    said = [f"{d.value}: {d.reason}" for d in settled.plan.machine.decisions if d.name == "ladder"]
    assert said == list(settled.rungs)
    log = assemble(settled.plan.compiled.ptx, "sm_90a").log
    assert "serialized" not in log and "ignored" not in log
