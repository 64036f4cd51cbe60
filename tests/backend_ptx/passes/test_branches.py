"""Branches that exclude each other: their rings lie at the same place, and each stores by TMA what it can."""

from __future__ import annotations

from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.bulk import TmaStore
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.resources.shared import find_intervals
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.analysis.branches import branches_of, exclusive, most_at_once, shared_branches
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.ops.memory import Store

TARGET = get_target("sm_90a")
ZERO = ct.PaddingMode.ZERO
TM, TN, NARROW, TK = 64, 128, 64, 64


def part(a, b, out, i, j, tn):
    acc = ct.zeros((TM, tn), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        right = ct.load(b, (k, j), (TK, tn), padding_mode=ZERO)
        acc = ct.mma(ct.load(a, (i, k), (TM, TK), padding_mode=ZERO), right, acc)
    ct.store(out, (i, j), acc.astype(out.dtype))


@ct.tile_kernel
def edged(a, b, out):
    """A product whose last columns have a narrower tile."""
    if ct.bid(1) == 0:
        part(a, b, out, ct.bid(0), 0, TN)
    else:
        part(a, b, out, ct.bid(0), TN // NARROW, NARROW)


@ct.tile_kernel
def edged_in_turn(a, b, out):
    """The same, a block after the other: warps that run ahead may be in the other branch already."""
    for block in range(ct.bid(0), 2 * ct.num_tiles(a, 0, (TM, TK)), ct.num_blocks(0)):
        if block % 2 == 0:
            part(a, b, out, block // 2, 0, TN)
        else:
            part(a, b, out, block // 2, TN // NARROW, NARROW)


def arguments(k: int = 5 * TK) -> tuple[Any, ...]:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, size).astype(ml_dtypes.bfloat16) for size in ((2 * TM, k), (k, TN + NARROW)))
    return a, b, np.zeros((2 * TM, TN + NARROW), ml_dtypes.bfloat16)


def compiled(kernel: Any) -> Function:
    made: Function = kernel.lower(*arguments(), target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    return made


def bytes_apart(function: Function) -> int:
    """Of the rings if each had a place of its own."""
    return sum(i.size for i in find_intervals(function) if i.op.type.copies > 1)


def test_rings_of_branches_share_bytes() -> None:
    apart, together = compiled(edged_in_turn), compiled(edged)
    assert bytes_apart(together) > together.plan.shared_bytes
    assert bytes_apart(apart) <= apart.plan.shared_bytes


@pytest.mark.parametrize("kernel", [edged, edged_in_turn])
def test_the_result(kernel: Any) -> None:
    a, b, out = arguments()
    grid = (2, 2) if kernel is edged else (1,)
    simulate_lowered(emit_function(compiled(kernel), TARGET), grid, (a, b, out), schedule="random", seed=2)
    np.testing.assert_array_equal(out.astype(np.float32), (a.astype(np.float32) @ b.astype(np.float32)).astype(
        ml_dtypes.bfloat16).astype(np.float32))


def test_stores_of_branches_go_by_tma() -> None:
    def stored(kernel: Any) -> bool:
        return any(isinstance(op, TmaStore) for op in compiled(kernel).walk())

    assert stored(edged)
    assert not stored(edged_in_turn)  # the tiles of two iterations are not ordered


def test_which_branches_exclude_each_other() -> None:
    function: Function = edged.lower(*arguments(), target="sm_90a").tile_ir()
    unit = Unit(function)
    one, other = (branches_of(unit, op) for op in function.walk() if isinstance(op, Store))
    assert exclusive(one, other)
    assert not exclusive(one, one)
    assert not exclusive(one, ())
    assert shared_branches(one, other) == ()
    assert most_at_once([(8, one), (5, other), (4, other), (1, ())]) == 10
    looped: Function = edged_in_turn.lower(*arguments(), target="sm_90a").tile_ir()
    found = Counter(branches_of(Unit(looped), op) for op in looped.walk() if isinstance(op, Store))
    assert found == {(): 2}
