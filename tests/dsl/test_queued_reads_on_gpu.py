"""Threads of 16 warps turn 8-bit tiles for wgmma: some still read a slot while others' stores occupy shared memory.

Without a proxy fence an arrival on the slot's mbarrier overtakes such reads, and TMA overwrites what is still unread.
"""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from benchmarks.sweep.kernels import attention

pytestmark = pytest.mark.gpu

TOKENS, WIDTH, ROWS, TILE = 2048, 256, 64, 32


def test_slots_are_not_overwritten_before_threads_have_read_them() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    q, k, v = (rng.standard_normal((1, TOKENS, WIDTH)).astype(ml_dtypes.float8_e5m2) for _ in range(3))
    q, k, v = ([torch.from_numpy(x.view(np.uint8)).cuda().view(torch.float8_e5m2) for x in (q, k, v)])
    out = torch.zeros((1, TOKENS, WIDTH), dtype=torch.float32, device="cuda")
    none = torch.zeros((1, TOKENS), device="cuda")
    runs = []
    for _ in range(4):
        out.zero_()
        attention[(TOKENS // ROWS, 1)](
            q, k, v, out, none, 1 / math.sqrt(WIDTH), ROWS, TILE, WIDTH, False, False, False)
        runs.append(out.clone())
    assert all(torch.equal(runs[0], run) for run in runs[1:])
    weight = torch.softmax(q.double() @ k.double().mT / math.sqrt(WIDTH), dim=-1)
    # Weights are rounded to e5m2, to within 1/8 of each.
    assert ((runs[0] - weight @ v.double()).abs() <= weight @ v.double().abs() / 8 + 1e-3).all()
