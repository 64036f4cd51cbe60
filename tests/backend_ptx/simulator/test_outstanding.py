"""Registers of outstanding MMAs: tokens, and numbers that look like one."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from tilewright.backend_ptx.simulator.errors import InFlight
from tilewright.backend_ptx.simulator.machine.outstanding import OutstandingMma, OutstandingMmas, settle
from tilewright.backend_ptx.simulator.machine.state import WARP, Machine

THREADS, REGISTERS = 4 * WARP, 16


class Threads:
    """A warpgroup as far as `settle` looks at it."""

    threads, warps, cluster, mask = THREADS, 4, 1, None

    def __init__(self) -> None:
        self.mmas = OutstandingMmas(cast(Machine, self))

    def of_block(self, kind: Any) -> OutstandingMmas:
        return self.mmas

    def spread(self, words: np.ndarray) -> np.ndarray:
        return words


def started(done: bool) -> tuple[Machine, np.ndarray, np.ndarray]:
    """A warpgroup with an MMA, its values, and a register of integers [threads] that holds the token of register 5."""
    threads = Threads()
    values = np.arange(REGISTERS * THREADS, dtype=np.uint32).reshape(REGISTERS, THREADS)
    mma = OutstandingMma((32, "f32"), values, np.full(4, done))
    tokens = threads.mmas.add(mma, np.arange(4))
    return cast(Machine, threads), values, np.full(THREADS, tokens[5], np.uint32)


def test_a_token_becomes_the_value() -> None:
    machine, values, register = started(done=True)
    assert np.array_equal(settle(machine, register, strict=False), values[5])
    assert np.array_equal(settle(machine, register.view(np.float32), strict=True).view(np.uint32), values[5])


def test_a_token_in_flight_is_seen_in_integers_too() -> None:
    machine, _, register = started(done=False)
    with pytest.raises(InFlight):
        settle(machine, register, strict=False)


def test_integers_that_look_like_tokens_stay() -> None:
    """Numbers of lanes differ; their low bits may name a register that the MMA does not have."""
    machine, _, register = started(done=True)
    numbers = register + np.arange(THREADS, dtype=np.uint32) % 64
    assert np.array_equal(settle(machine, numbers, strict=False), numbers)


def test_lanes_that_are_elsewhere_do_not_count() -> None:
    machine, values, register = started(done=True)
    machine.mask = np.arange(THREADS) % WARP < 8
    register[~machine.mask] = 7
    want = np.where(machine.mask, values[5], 7)
    assert np.array_equal(settle(machine, register, strict=False), want)
