"""CTAs of a cluster that share the iterations of a loop: in the interpreter and in the simulator, as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from catalogue.cluster_kernels import added_up
from support.decisions import told

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("rows", [100, 5])
def test_sums(dtype: Any, rows: int) -> None:
    """With iterations that do not divide by the CTAs, or fewer than these."""
    x = np.random.default_rng(rows).integers(-9, 9, (rows, 64)).astype(dtype)
    out = np.zeros((2, 64), dtype)
    kernel = added_up.replace_hints(num_ctas=4)
    simulate(kernel, (2,), (x, out, 16, 32), "sm_90a")
    np.testing.assert_array_equal(out, np.stack([x.sum(0), (x * x).sum(0)]))


def test_a_launch_is_told_and_the_hint_obeyed() -> None:
    specs = tw.spec("f32[100,64]"), tw.spec("f32[2,64]")
    plain = added_up.lower(*specs, 16, 32, target="sm_90a").machine_ir()
    assert plain.plan.shares and plain.plan.cluster == 1 and "launches of few blocks" in told(plain, "shared_loop")
    hinted = added_up.replace_hints(num_ctas=8).lower(*specs, 16, 32, target="sm_90a").machine_ir()
    assert hinted.plan.cluster == 8 and not hinted.plan.shares
    assert not added_up.replace_hints(num_ctas=1).lower(*specs, 16, 32, target="sm_90a").machine_ir().plan.shares
    assert not added_up.lower(*specs, 16, 32, target="sm_80").machine_ir().plan.shares
