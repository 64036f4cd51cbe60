"""Many equal additions to few elements of an array become one to each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.frontend import ir
from support.interp_cases import full_grid

import tilewright as tw
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.ops.atomics import AtomicRmw
from tilewright.tileir.passes import run_pipeline

N = 512


def tile(x):
    return tw.load(x, tw.bid(0), N, padding_mode=tw.PaddingMode.ZERO)


@tw.tile_kernel
def by_bytes(x, counts):
    tw.atomic_add(counts, tile(x) & 127, 1)


@tw.tile_kernel
def few(x, counts):
    tw.atomic_add(counts, tile(x) % 10, -3, memory_order=tw.MemoryOrder.RELAXED)


@tw.tile_kernel
def only_some(x, counts):
    """What lies outside the array is not counted, whether below it or above."""
    t = tile(x).astype(tw.int32) & 63
    tw.atomic_add(counts, tw.where(t % 3 == 0, t - 5, -1), counts.shape[0])


@tw.tile_kernel
def by_eights(x, counts):
    tw.atomic_add(counts, (tile(x) & 7).reshape((2, N // 2)), 1)


@tw.tile_kernel
def in_a_loop(x, counts):
    for k in range(3):
        tw.atomic_add(counts, (tile(x).astype(tw.int32) + k) & 15, k)


@tw.tile_kernel
def in_parts(x, counts):
    tw.atomic_add(counts, tw.load(x, tw.bid(0), 4 * N, padding_mode=tw.PaddingMode.ZERO), 1)


@tw.tile_kernel
def old_ones(x, counts):
    tw.atomic_add(counts, tw.atomic_add(counts, tile(x) & 7, 1) & 7, 1)


@tw.tile_kernel
def other_numbers(x, counts):
    tw.atomic_add(counts, tile(x) & 7, tw.arange(N, dtype=tw.int32))


@tw.tile_kernel
def extremes(x, counts):
    tw.atomic_max(counts, tile(x) & 7, 9)


@tw.tile_kernel
def many(x, counts):
    tw.atomic_add(counts, tile(x).astype(tw.int32) * 4, 1)


@tw.tile_kernel
def unchecked(x, counts):
    t = tile(x).astype(tw.int8)
    tw.atomic_add(counts, tw.where(t < 0, 3, tw.minimum(t, 7)), 1, check_bounds=False)


@tw.tile_kernel
def long_ones(x, counts):
    """Their lower halves alone could be numbers of elements."""
    tw.atomic_add(counts, tw.minimum(tile(x).astype(tw.int64) - (1 << 40), 7), 1)


@pytest.mark.parametrize(("kernel", "size"), [
    (by_bytes, 128), (few, 16), (only_some, 64), (by_eights, 8), (in_a_loop, 16), (in_parts, 256),
    (extremes, N), (other_numbers, N), (many, N), (unchecked, N), (long_ones, N),
], ids=lambda p: getattr(p, "__name__", ""))
def test_which(kernel: Any, size: int) -> None:
    """The results are those of the updates of single elements, at whichever size they come."""
    x = np.random.default_rng(3).integers(0, 256, 1200).astype(np.uint8)
    f = ir(kernel, x, np.zeros(60, np.int32))
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="count_before_adding")
    [update] = [op for op in f.walk() if isinstance(op, AtomicRmw)]
    assert update.shape == (size,)
    before, after = np.full((2, 60), 7, np.int32)
    kernel[(3,)](x, before)
    compile_function(f).run(full_grid((3,)), [x, after])
    assert (before == after).all()


def test_old_elements_are_of_single_updates() -> None:
    f = ir(old_ones, np.zeros(N, np.uint8), np.zeros(8, np.int32))
    run_passes(f, get_target("sm_90a"), until="count_before_adding")
    assert [op.shape for op in f.walk() if isinstance(op, AtomicRmw)] == [(N,), (8,)]


@pytest.mark.parametrize("dtype", [np.uint64, np.float32])
def test_other_arrays(dtype: Any) -> None:
    """Sums of floats depend on how often they are rounded."""
    f = ir(by_eights, np.zeros(N, np.uint8), np.zeros(60, dtype))
    run_passes(f, get_target("sm_90a"), until="count_before_adding")
    [update] = [op for op in f.walk() if isinstance(op, AtomicRmw)]
    assert update.shape == ((8,) if dtype is np.uint64 else (2, N // 2))


@tw.tile_kernel
def in_halves(x, counts):
    tw.atomic_add(counts, (1, tw.load(x, 0, 4 * N) & 127), 2)


def test_parts_on_a_gpu() -> None:
    x, counts = np.random.default_rng(4).integers(0, 999, 4 * N).astype(np.int32), np.zeros((2, 100), np.int32)
    in_halves.simulate((1,), x, counts, target="sm_90a", schedule="random", seed=5)
    assert (counts == [[0] * 100, 2 * np.bincount(x & 127, minlength=128)[:100]]).all()
