"""Bulk copies in the simulator: tiles of every shape arrive where their layout says, zero outside the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.bulk_kernels import BLOCKS, CASES, Case, lowered

from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.targets import get_target


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("schedule", ["inorder", "random"])
def test_a_tile_arrives(case: Case, schedule: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    array, out = case.array(), case.output()
    kernel = lowered(case.text(), get_target("sm_90a"), monkeypatch)
    simulate_lowered(kernel, BLOCKS, [array, out], schedule=schedule, seed=1)
    np.testing.assert_array_equal(out.astype(float), case.expected(array).astype(float))


@pytest.mark.parametrize("case", [CASES[0], CASES[2]], ids=str)
@pytest.mark.parametrize("far", [1 << 26, (1 << 31) // 64, 1 << 27])
def test_a_tile_whose_place_needs_more_bits_is_outside(case: Case, far: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Block 1 copies tile (1, 0), the others copy tiles so far away that their places would wrap around."""
    text = case.text().replace("%slot:", f"%f: i32 = constant(value={far}, type=tile<i32>)\n  "
                               "%k: i32 = mul(lhs=%j, rhs=%f)\n  %slot:").replace("(%i, %j)", "(%i, %k)")
    array, out, wanted = case.array(), case.output(), np.zeros_like(case.output())
    rows, columns = case.tile
    part = array[rows:2 * rows, :columns]
    wanted[rows:rows + len(part), :part.shape[1]] = part
    simulate_lowered(lowered(text, get_target("sm_90a"), monkeypatch), BLOCKS, [array, out], seed=1)
    np.testing.assert_array_equal(out.astype(float), wanted.astype(float))
