"""Which kernels loop over the blocks of a launch, and that they compute the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.lower import lower_function
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator.entry import simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.core import Function

TM, TN, TK = 64, 32, 32


def product(a: Any, b: Any, n: Any, i: Any, j: Any, last: Any) -> Any:
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(last):
        x, y = ct.load(a, (n, i, k), (1, TM, TK)), ct.load(b, (n, k, j), (1, TK, TN))
        acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), acc)
    return acc.reshape((1, TM, TN))


@ct.tile_kernel
def plain(a, b, c):
    i, j, n = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(c, (n, i, j), product(a, b, n, i, j, ct.num_tiles(a, 2, (1, TM, TK))))


@ct.tile_kernel
def rounded(a, b, c):
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 2, (1, TM, TK))):
        x = ct.load(a, (0, ct.bid(0), k), (1, TM, TK)).reshape((TM, TK)).astype(ct.tfloat32)
        y = ct.load(b, (0, k, ct.bid(1)), (1, TK, TN)).reshape((TK, TN)).astype(ct.tfloat32)
        acc = ct.mma(x, y, acc)
    ct.store(c, (0, ct.bid(0), ct.bid(1)), acc.reshape((1, TM, TN)))


@ct.tile_kernel
def nested(a, b, c):
    acc = ct.zeros((TM, TN), ct.float32)
    for n in range(a.shape[0]):
        for k in range(ct.num_tiles(a, 2, (1, TM, TK))):
            x, y = ct.load(a, (n, ct.bid(0), k), (1, TM, TK)), ct.load(b, (n, k, 0), (1, TK, TN))
            acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), acc)
    ct.store(c, (0, ct.bid(0), 0), acc.reshape((1, TM, TN)))


@ct.tile_kernel
def persistent(a, b, c):
    for i in range(ct.bid(0), ct.num_tiles(a, 1, (1, TM, TK)), ct.num_blocks(0)):
        ct.store(c, (0, i, 0), product(a, b, 0, i, 0, ct.num_tiles(a, 2, (1, TM, TK))))


@ct.tile_kernel
def triangular(a, b, c):
    i = ct.bid(0)
    ct.store(c, (0, i, 0), product(a, b, 0, i, 0, i + 1))


@ct.tile_kernel
def once(a, b, c):
    x, y = ct.load(a, (0, ct.bid(0), 0), (1, TM, TK)), ct.load(b, (0, 0, 0), (1, TK, TN))
    acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), ct.zeros((TM, TN), ct.float32))
    ct.store(c, (0, ct.bid(0), 0), acc.reshape((1, TM, TN)))


@ct.tile_kernel
def added(a, b, c):
    found = product(a, b, 0, ct.bid(0), 0, ct.num_tiles(a, 2, (1, TM, TK)))
    ct.atomic_add(c, (0, ct.bid(0), ct.arange(TN, dtype=ct.int32)), ct.sum(found.reshape((TM, TN)), axis=0))


def arrays(batch: int, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (batch, *size)).astype(ml_dtypes.bfloat16) for size in ((m, k), (k, n)))
    return a, b, np.full((batch, m, n), np.nan, np.float32)


def function(kernel: Any, args: Any, target: str) -> Function:
    f: Function = kernel.lower(*args, target=target).tile_ir()
    f.switches = replace(f.switches, loop_over_blocks=True)
    return f


def lowered(kernel: Any, args: Any, target: str = "sm_90a") -> Lowered:
    return lower_function(function(kernel, args, target), get_target(target))


@pytest.mark.parametrize(("grid", "k"), [((3, 2, 2), 80), ((2, 1, 1), 48), ((1, 1, 1), 16)], ids=str)
@pytest.mark.parametrize("schedule", ["inorder", "random"])
def test_blocks_of_a_grid_are_iterations(schedule: Any, grid: tuple[int, int, int], k: int) -> None:
    """Two CTAs run all blocks, with one ring for all of them."""
    a, b, c = arrays(grid[2], TM * grid[0] - 5, TN * grid[1] - 16, k)
    made = lowered(plain, (a, b, c))
    assert made.looped and [p.kind for p in made.abi.params[-3:]] == ["grid"] * 3
    simulate_lowered(made, grid, (a, b, c), schedule=schedule, seed=sum(grid))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_products_in_loops_of_loops() -> None:
    a, b, c = arrays(2, 3 * TM, TN, 32)
    made = lowered(nested, (a, b, c))
    simulate_lowered(made, (3,), (a, b, c))
    assert made.looped
    np.testing.assert_array_equal(c[0], (a.astype(np.float32) @ b.astype(np.float32)).sum(axis=0))


def test_in_the_interpreter_each_block_has_one_iteration() -> None:
    a, b, c = arrays(2, TM, 2 * TN, 48)
    f = function(plain, (a, b, c), "sm_90a")
    run_passes(f, get_target("sm_90a"))
    compile_function(f).run((1, 2, 2), [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("kernel", [persistent, triangular, once, added], ids=lambda k: k.__name__)
def test_others_keep_a_block_for_each_cta(kernel: Any) -> None:
    """Those that loop over tiles themselves, whose blocks take different times, that fill no ring, or that may wait for
    each other."""
    assert not lowered(kernel, arrays(1, 3 * TM, TN, 3 * TK)).looped


def test_a_cluster_runs_one_block() -> None:
    a, b, c = arrays(1, 256, 64, 64)
    assert not lowered(plain.replace_hints(num_ctas=2), (a, b, c)).looped


def test_rows_that_tma_brings_in_two_requests() -> None:
    assert lowered(plain, arrays(1, 256, 64, 64)).looped and not lowered(plain, arrays(1, 256, 64, 72)).looped


@pytest.mark.parametrize(("along_k", "looped"), [(True, True), (False, False)])
def test_operands_that_threads_turn(along_k: bool, looped: bool) -> None:
    """Tensor cores cannot read tfloat32 along n."""
    a, b = np.zeros((1, 64, 64), np.float32), np.zeros((1, 32, 64), np.float32).transpose(0, 2, 1)
    made = lowered(rounded, (a, b if along_k else b.copy(), np.zeros((1, 64, 32), np.float32)))
    assert made.looped is looped


def test_where_nothing_fills_rings() -> None:
    assert not lowered(plain, arrays(1, 256, 64, 64), "sm_80").looped
