"""Warm launches on host arrays go a short way, and never where something has changed that a launch checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.launching.host import HostRunner


@tw.tile_kernel
def multiplied(x, out, factor, negative: tw.Constant[bool] = False):
    i = tw.bid(0)
    t = tw.load(x, i, 4) * factor
    tw.store(out, i, -t if negative else t)


@pytest.fixture
def long_ways(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A launch that goes the long way adds an entry."""
    ways: list[Any] = []
    run = HostRunner.run
    monkeypatch.setattr(HostRunner, "run", lambda *args: ways.append(args) or run(*args))  # type: ignore[func-returns-value]
    return ways


def test_the_second_launch_of_a_kind_is_short(long_ways: list[Any]) -> None:
    scaled = multiplied.replace_hints()  # has had no launch
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    for factor in (2.0, 3.0, -1.0):
        scaled[2](x, out, factor)
        assert (out == x * np.float32(factor)).all()
    assert len(long_ways) == 1
    scaled[2](x, out, 2)  # an int is another kind
    scaled[2](x, out, 2.0, True)  # so is another constant
    assert (out == x * -2).all() and len(long_ways) == 3
    wide = np.arange(16, dtype=np.float32)[::2]
    scaled[2](wide, out, 2.0)
    scaled[2](wide + 1, out, 2.0)
    assert (out == (wide + 1) * 2).all() and len(long_ways) == 4  # the strides of x


def test_arrays_that_come_to_share_memory_go_the_long_way(long_ways: list[Any]) -> None:
    scaled = multiplied.replace_hints()
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    for _ in range(2):
        scaled[2](x, out, 2.0)
    assert len(long_ways) == 1
    memory = np.arange(12, dtype=np.float32)
    scaled[2](memory[:8], memory[4:], 2.0)  # blocks in order: the second one reads what the first has written
    assert memory.tolist() == [0, 1, 2, 3, 0, 2, 4, 6, 0, 4, 8, 12]
    assert len(long_ways) == 2


def test_a_read_only_output_is_refused_after_a_short_launch() -> None:
    x, out = np.ones(8, np.float32), np.zeros(8, np.float32)
    for _ in range(3):
        multiplied[2](x, out, 2.0)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        multiplied[2](x, out, 2.0)


def test_short_launches_follow_arrays_to_other_memory(long_ways: list[Any]) -> None:
    """Where arrays lie is looked at in each launch, whoever they are; more of them than a plan keeps in mind."""
    scaled = multiplied.replace_hints()
    pairs = [(np.full(8, n, np.float32), np.zeros(8, np.float32)) for n in range(40)]
    for _ in range(2):
        for x, out in pairs:
            scaled[2](x, out, 3.0)
    assert all((out == 3 * x).all() for x, out in pairs) and len(long_ways) == 1
    for x, out in pairs[:3]:
        scaled[1](x, out, -1.0)  # another grid: the second half stays
        assert (out == np.repeat([-1, 3], 4) * x).all()
    x, out = pairs[-1]
    out[...] = 0
    scaled[2](out, x, 1.0)  # the other way round
    assert not x.any() and len(long_ways) == 1
