"""Operands that threads compute for wgmma, in several slots: random sizes and orders of warps in the simulator."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.decisions import told

import tilewright as tw
from tilewright.backend_ptx.passes.barriers import hazards
from tilewright.backend_ptx.passes.matmul import select_instructions
from tilewright.backend_ptx.passes.pipelining import depth
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.simulator.errors import SimError
from tilewright.tileir.engines import THREADS

pytestmark = pytest.mark.usefixtures("operands_as_written")
ZERO = tw.PaddingMode.ZERO
Array = np.ndarray[Any, Any]
BF16 = ml_dtypes.bfloat16


@pytest.fixture
def operands_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """What threads compute stays B, though as A of the transpose it would need no slots."""
    monkeypatch.setattr(select_instructions, "_computed", lambda *_: None)


@tw.tile_kernel
def scaled(a, b, scales, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ (b * scales) with a scale for each row of b."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        scale = tw.load(scales, (k,), (tk,), padding_mode=ZERO)[:, None]
        tb = (tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(tw.float32) * scale).astype(a.dtype)
        acc = tw.mma(tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tb, acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def twice(a, b, scales, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """c = a @ (b + 1) - a @ (b * 2), blocks walk over tiles of c."""
    columns = tw.num_tiles(b, 1, (tk, tn))
    for tile in range(tw.bid(0), tw.num_tiles(c, 0, (tm, tn)) * columns, tw.num_blocks(0)):
        i, j = tile // columns, tile % columns
        one, other = tw.zeros((tm, tn), tw.float32), tw.zeros((tm, tn), tw.float32)
        for k in range(tw.num_tiles(a, 1, (tm, tk))):
            ta = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
            tb = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO).astype(a.dtype)
            one = tw.mma(ta, tb + 1, one)
            other = tw.mma(ta, tb * 2, other)
        tw.store(c, (i, j), one - other)


def arguments(seed: int) -> tuple[list[Any], Array, Array]:
    """Small integers, so that all sums are exact; what `scaled` and `twice` give."""
    r, rng = random.Random(seed), np.random.default_rng(seed)
    tile = r.choice([(64, 64, 32), (64, 32, 16), (128, 64, 32), (64, 128, 64)])
    m, n = r.randint(1, tile[0] + 20), r.choice([tile[1], tile[1] + 16, 2 * tile[1] - 5])
    k = r.choice([1, tile[2], 2 * tile[2] - 5, 5 * tile[2] + 3, 7 * tile[2]])
    a = rng.integers(-2, 3, (m, -(-k // 8) * 8)).astype(BF16)[:, :k]
    b = rng.integers(-2, 3, (k, -(-n // 16) * 16)).astype(np.int8)[:, :n]
    scales = rng.integers(-2, 3, k).astype(np.float32)
    wide, right = a.astype(np.float32), b.astype(np.float32)
    wanted = wide @ (right * scales[:, None]), wide @ (right + 1) - wide @ (right * 2)
    return [a, b, scales, np.zeros((m, n), np.float32), *tile], *wanted


def decided(kernel: Any, args: list[Any]) -> str:
    """What is said of operands that threads compute."""
    stages = kernel.lower(*args, target="sm_90a")
    seen: dict[str, str] = {}
    stages.machine_ir(lambda name, f: seen.update({name: told(f, "staged")}))
    return seen["pipeline_loops"]


def run(kernel: Any, seed: int) -> None:
    args, one, other = arguments(seed)
    grid = (2,) if kernel is twice else (tw.cdiv(len(one), args[4]), tw.cdiv(one.shape[1], args[5]))
    simulate(kernel, grid, args, "sm_90a", schedule="random", seed=seed)
    assert np.array_equal(args[3], other if kernel is twice else one)


@pytest.mark.parametrize("kernel", [scaled, twice], ids=lambda k: k.__name__)
@pytest.mark.parametrize("seed", range(4))
def test_random(kernel: Any, seed: int) -> None:
    run(kernel, seed)


@pytest.mark.parametrize("seed", range(3))
def test_two_slots(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right too, with a barrier more."""
    args = arguments(seed)[0]
    three = scaled.lower(*args, target="sm_90a").lowered.llvm_text.count("bar.sync")
    monkeypatch.setitem(depth.APPETITES, THREADS, depth.Appetite(2, 2))
    assert decided(scaled, args).startswith("2 slots")
    assert scaled.lower(*args, target="sm_90a").lowered.llvm_text.count("bar.sync") > three
    run(scaled, seed)


def test_the_simulator_sees_a_slot_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the barrier that two slots need, a store meets a product that still reads."""
    monkeypatch.setitem(depth.APPETITES, THREADS, depth.Appetite(2, 2))
    monkeypatch.setattr(hazards, "SPARE_SLOTS", 1)
    with pytest.raises(SimError):
        for seed in range(12):
            run(scaled, seed)


@pytest.mark.parametrize("kernel", [scaled, twice], ids=lambda k: k.__name__)
def test_large(kernel: Any) -> None:
    tile = (128, 128, 64)
    args = [np.zeros((512, 512), BF16), np.zeros((512, 512), np.int8), np.zeros(512, np.float32),
            np.zeros((512, 512), np.float32), *tile]
    assert decided(kernel, args).startswith("3 slots" if kernel is scaled else ("3 slots", "2 slots"))
    assert assemble(kernel.ptx(*args, target="sm_90a"), "sm_90a").spills == 0
