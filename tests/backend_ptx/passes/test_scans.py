"""Scans along an axis that several warps hold: values of every element, and no thread that holds a whole row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.layouts.queries import registers
from tilewright.tileir.ops.fold import ScanWith
from tilewright.tileir.ops.memory import Store
from tilewright.tileir.types import TileType


@tw.tile_kernel(num_worker_warps=4)
def running(x, out, axis: tw.Constant[int], reverse: tw.Constant[bool], shape: tw.Constant[tuple[int, ...]],
            zeros: tw.Constant[tuple[int, ...]]):
    tw.store(out, zeros, tw.cumsum(tw.load(x, zeros, shape), axis=axis, reverse=reverse))


@tw.tile_kernel(num_worker_warps=4)
def recurrence(a, b, out, by: int, reverse: tw.Constant[bool], length: tw.Constant[int]):
    def then(p, q, r, s):  # one affine map after another
        return p * r * by, q * r * by + s

    pairs = tw.load(a, 0, length), tw.load(b, 0, length)
    tw.store(out, 0, tw.scan(pairs, 0, then, (1, 0), reverse=reverse)[1])


def _ints(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.int32)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), [
    ((2048,), 0), ((1, 1024), 1), ((2, 512), 1), ((512, 8), 0), ((2, 256, 2), 1)])
def test_running_sums(shape: tuple[int, ...], axis: int, reverse: bool) -> None:
    x = _ints(*shape)
    out = np.zeros_like(x)
    running.simulate((1,), x, out, axis, reverse, shape, (0,) * len(shape), target="sm_90a")
    flipped = np.flip(x, axis) if reverse else x
    want = np.cumsum(flipped, axis)
    np.testing.assert_array_equal(out, np.flip(want, axis) if reverse else want)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_function_that_does_not_commute(reverse: bool) -> None:
    """The order of elements stays, and a scalar from around the function is the same for all."""
    length = 1024
    a, b = np.random.default_rng(1).integers(-1, 2, (2, length)).astype(np.int32)
    out, told = np.zeros_like(a), np.zeros_like(a)
    recurrence.simulate((1,), a, b, out, 1, reverse, length, target="sm_90a")
    recurrence.interpret((1,), a, b, told, 1, reverse, length)
    np.testing.assert_array_equal(out, told)
    value = 0
    for k in range(length)[::-1] if reverse else range(length):
        value = value * int(a[k]) + int(b[k])
        assert out[k] == value


def test_no_thread_scans_a_row_alone() -> None:
    """Threads scan what they hold of the row that is stored, and only totals of runs and warps besides."""
    x = tw.spec("f32[16,16384]")
    machine: Any = running.lower(x, x, 1, False, (1, 16384), (0, 0), target="sm_90a").machine_ir()
    stored = max(registers(op.value.type.layout) for op in machine.walk() if isinstance(op, Store))
    scanned = [op.srcs[0].type for op in machine.walk() if isinstance(op, ScanWith)]
    assert len(scanned) == 3 and all(isinstance(t, TileType) for t in scanned)
    # Runs of 4 elements, of which a warp holds 32 side by side: 128 totals for the lanes of each warp.
    assert [registers(t.layout) for t in scanned] == [stored, stored // 4, 128 // 32]
