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
