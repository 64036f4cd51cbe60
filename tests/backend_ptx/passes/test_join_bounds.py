"""Two limits of the same integers become one where that is fewer numbers, and masks stay what they were."""

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
from tilewright.tileir.ops.arith import And, Compare
from tilewright.tileir.passes import run_pipeline

N = 32


def rows_and_columns():
    return tw.arange(N, dtype=tw.int32)[:, None], tw.arange(N, dtype=tw.int32)[None, :]


@tw.tile_kernel
def upper(x, out, limit: int):
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((column < x.shape[1]) & (column <= row)).astype(tw.int32))


@tw.tile_kernel
def turned(x, out, limit: int):
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((row >= column) & (x.shape[1] > column)).astype(tw.int32))


@tw.tile_kernel
def lower(x, out, limit: int):
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((column > tw.bid(0) + 3) & (column >= row)).astype(tw.int32))


@tw.tile_kernel
def three(x, out, limit: int):
    row, column = rows_and_columns()
    seen = (column < x.shape[1]) & (column < row) & (column <= 2 * row)
    tw.store(out, (0, 0), seen.astype(tw.int32))


@tw.tile_kernel
def both_sides(x, out, limit: int):
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((column <= row) & (column > row - 3)).astype(tw.int32))


@tw.tile_kernel
def any_limit(x, out, limit: int):
    """One less than the least number is the greatest."""
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((column < limit) & (column <= row)).astype(tw.int32))


@tw.tile_kernel
def as_many(x, out, limit: int):
    """As many limits as numbers."""
    row, column = rows_and_columns()
    tw.store(out, (0, 0), ((row <= column * row) & (row <= column + 7 * row)).astype(tw.int32))


@tw.tile_kernel
def of_floats(x, out, limit: int):
    t, row = tw.load(x, (0, 0), (N, N)), tw.arange(N, dtype=tw.int32)[:, None].astype(tw.float32)
    tw.store(out, (0, 0), ((t < 0.5) & (t <= row)).astype(tw.int32))


@pytest.mark.parametrize(("kernel", "left"), [
    (upper, (1, 0)), (turned, (1, 0)), (lower, (1, 0)), (three, (1, 0)), (both_sides, (2, 1)), (any_limit, (2, 1)),
    (as_many, (2, 1)), (of_floats, (2, 1)),
], ids=lambda p: getattr(p, "__name__", ""))
def test_what_is_joined(kernel: Any, left: tuple[int, int]) -> None:
    x = np.random.default_rng(3).normal(size=(20, 20)).astype(np.float32)
    args: list[Any] = [x, np.zeros((N, N), np.int32), -2**31]
    f = ir(kernel, *args)
    run_pipeline(f)
    run_passes(f, get_target("sm_90a"), until="join_bounds")
    assert tuple(sum(isinstance(op, kind) for op in f.walk()) for kind in (Compare, And)) == left
    wanted, got = np.zeros_like(args[1]), np.zeros_like(args[1])
    kernel[(2,)](x, wanted, args[2])
    compile_function(f).run(full_grid((2,)), [x, got, args[2]])
    assert (got == wanted).all()
