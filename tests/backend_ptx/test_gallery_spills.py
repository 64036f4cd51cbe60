"""The gallery's attention at the tile sizes one would use: no spills, as tiles held for a whole loop have registers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attention import attention, inputs
from attention_backward import key_gradients, query_gradients

from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import TARGETS, get_target

D = 64


def assert_no_spills(kernel: Any, args: tuple[Any, ...], target: str) -> None:
    assembled = assemble(kernel.ptx(*args, target=target), get_target(target))
    assert assembled.spills == 0, f"{kernel.__name__} for {target}: {assembled.spills} bytes spilled"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("queries", [64, 128])
def test_forward(queries: int, target: str) -> None:
    q, k, v, starts = inputs((200, 3), 4, 2, D, np.random.default_rng(1))
    lse = np.zeros((4, len(q)), np.float32)
    assert_no_spills(attention, (q, k, v, starts, q.copy(), lse, 0.125, queries, 64, D), target)


@pytest.mark.parametrize("target", TARGETS)
def test_backward(target: str) -> None:
    q, k, v, starts = inputs((200, 3), 4, 2, D, np.random.default_rng(1))
    lse = np.zeros((4, len(q)), np.float32)
    given = q, k, v, q.copy(), lse, lse.copy(), starts
    assert_no_spills(key_gradients, (*given, k.copy(), v.copy(), 0.125, 64, 64, D), target)
    assert_no_spills(query_gradients, (*given, q.copy(), 0.125, 64, 64, D), target)
