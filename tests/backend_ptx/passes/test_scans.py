"""Scans along an axis that several warps hold: values of every element, and no thread that holds a whole row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from benchmarks import plain_kernels

import tilewright as tw
from tilewright.backend_ptx.ops.shared import SharedStore
from tilewright.tileir.layouts.queries import registers
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


@tw.tile_kernel(num_worker_warps=4)
def last(a, b, out, length: tw.Constant[int]):
    def then(p, q, r, s):
        return p * r, q * r + s

    tw.store(out, 0, tw.reduce((tw.load(a, 0, length), tw.load(b, 0, length)), 0, then, (1, 0))[1])


@tw.tile_kernel(num_worker_warps=4)
def odd(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 1024), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (tw.bid(0), 0), tw.cumsum(t, axis=1))


def _ints(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(-9, 10, shape).astype(np.int32)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis", "ctas"), [
    ((2048,), 0, 1), ((1, 1024), 1, 1), ((2, 512), 1, 1), ((512, 8), 0, 1), ((2, 256, 2), 1, 1),
    ((1024,), 0, 4), ((1, 1024), 1, 2)])
def test_running_sums(shape: tuple[int, ...], axis: int, ctas: int, reverse: bool) -> None:
    x = _ints(*shape)
    out = np.zeros_like(x)
    kernel = running.replace_hints(num_ctas=ctas)
    kernel.simulate((1,), x, out, axis, reverse, shape, (0,) * len(shape), target="sm_90a")
    flipped = np.flip(x, axis) if reverse else x
    want = np.cumsum(flipped, axis)
    np.testing.assert_array_equal(out, np.flip(want, axis) if reverse else want)


@pytest.mark.parametrize(("reverse", "ctas"), [(False, 1), (True, 1), (True, 2)])
def test_a_function_that_does_not_commute(reverse: bool, ctas: int) -> None:
    """The order of elements stays, and a scalar from around the function is the same for all."""
    length = 1024
    a, b = np.random.default_rng(1).integers(-1, 2, (2, length)).astype(np.int32)
    out, told = np.zeros_like(a), np.zeros_like(a)
    recurrence.replace_hints(num_ctas=ctas).simulate((1,), a, b, out, 1, reverse, length, target="sm_90a")
    recurrence.interpret((1,), a, b, told, 1, reverse, length)
    np.testing.assert_array_equal(out, told)
    value = 0
    for k in range(length)[::-1] if reverse else range(length):
        value = value * int(a[k]) + int(b[k])
        assert out[k] == value


def test_what_several_warps_hold_is_reduced_where_it_is() -> None:
    """A reduction by a function moves between threads what each warp has of its four runs, and no more."""
    a, b = np.random.default_rng(2).integers(-1, 2, (2, 2048)).astype(np.int32)
    out, told = np.zeros(1, np.int32), np.zeros(1, np.int32)
    last.simulate((1,), a, b, out, 2048, target="sm_90a")
    last.interpret((1,), a, b, told, 2048)
    assert out == told
    machine: Any = last.lower(a, b, out, 2048, target="sm_90a").machine_ir()
    assert max(op.value.type.size for op in machine.walk() if isinstance(op, SharedStore)) == 16


def test_odd_rows_are_scanned_in_runs() -> None:
    """Elements that are loaded one by one change places: each thread then scans neighbours, and lanes the totals."""
    x = np.random.default_rng(3).integers(-9, 10, (2, 999)).astype(np.int32)
    out = np.zeros_like(x)
    odd.simulate((2,), x, out, target="sm_90a")
    np.testing.assert_array_equal(out, np.cumsum(x, 1))
    machine: Any = odd.lower(x, out, target="sm_90a").machine_ir()
    scanned = [registers(op.srcs[0].type.layout) for op in machine.walk() if isinstance(op, ScanWith)]
    assert scanned[:2] == [8, 1]


@pytest.mark.parametrize(("columns", "ctas", "warps"), [(16384, 1, 16), (20000, 4, 4), (32768, 4, 4), (65536, 8, 4)])
def test_wide_rows_are_scanned_by_clusters(columns: int, ctas: int, warps: int) -> None:
    """Whose CTAs wait for each other: with half as many warps, more of them fit an SM."""
    x, width = tw.spec(f"f32[8,{columns}]"), 1 << (columns - 1).bit_length()
    machine: Any = running.replace_hints(num_worker_warps=None).lower(
        x, x, 1, False, (1, width), (0, 0), target="sm_90a").machine_ir()
    assert (machine.plan.cluster, machine.plan.warps) == (ctas, warps)


def test_scans_of_two_tiles_in_clusters_have_registers_for_both() -> None:
    x = tw.spec("i32[65536]")
    machine: Any = recurrence.replace_hints(num_worker_warps=None).lower(
        x, x, x, 1, False, 65536, target="sm_90a").machine_ir()
    assert (machine.plan.cluster, machine.plan.warps) == (8, 8)


def test_conversions_before_and_after_a_scan_share_bytes() -> None:
    """The buffers of totals, which are in use throughout, lie before both."""
    x = tw.spec("bf16[8,50257]")
    machine: Any = plain_kernels.cumsum.lower(x, x, 65536, target="sm_90a").machine_ir()
    assert machine.plan.shared_bytes < 8192 * 4 + 1024


def test_no_thread_scans_a_row_alone() -> None:
    """Threads scan what they hold of the row that is stored, and only totals of runs and warps besides."""
    x = tw.spec("f32[16,16384]")
    machine: Any = running.lower(x, x, 1, False, (1, 16384), (0, 0), target="sm_90a").machine_ir()
    stored = max(registers(op.value.type.layout) for op in machine.walk() if isinstance(op, Store))
    scanned = [op.srcs[0].type for op in machine.walk() if isinstance(op, ScanWith)]
    assert len(scanned) == 3 and all(isinstance(t, TileType) for t in scanned)
    # Runs of 4 elements, of which a warp holds 32 side by side: of the CTA's, as many totals as a thread has elements.
    assert [registers(t.layout) for t in scanned] == [stored, stored // 4, stored // 32]
