"""Loops of machine code that load and store arrays give the bits of the closures, whatever the arrays share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.interp_cases import assert_same

import tilewright as tw
from tilewright.interp import compile_function
from tilewright.interp.jit import POLICY


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("enabled", True), ("seconds", 0.0), ("work", 0), ("elements", 0)):
        monkeypatch.setattr(POLICY, name, value)


@tw.tile_kernel
def in_place(x, y):
    i = tw.bid(0)
    t = tw.load(x, i, 16)
    tw.store(x, i, t * 2.0 + tw.load(y, i, 16))
    tw.store(y, i, t * 3.0 - tw.load(x, i, 16))


@tw.tile_kernel
def turned(x, y):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (4, 16))
    tw.store(y, (j, i), t * 2.0 + tw.exp(t), order="F")


@tw.tile_kernel
def one_place(x, y):
    tw.store(y, 0, tw.load(x, tw.bid(0), 16) * 2.0 + 1.0)


@tw.tile_kernel
def one_value(x, y):
    tw.store(y, tw.bid(0), tw.load(x, 0, 16) * 2.0 + 1.0)


@tw.tile_kernel
def deep(x, y):
    t = tw.load(x, (tw.bid(0), 0), (4, 16)).reshape((2, 1, 2, 4, 4))
    tw.store(y, (tw.bid(0), 0, 0, 0, 0), t * 2.0 + 1.0)


@pytest.mark.parametrize("kernel, shape, out, grid", [
    (in_place, (160,), (160,), (10, 1, 1)), (in_place, (150,), (150,), (10, 1, 1)),
    (turned, (40, 64), (64, 40), (10, 4, 1)), (turned, (37, 60), (60, 37), (10, 4, 1)),
    (one_place, (160,), (16,), (10, 1, 1)), (one_value, (160,), (160,), (10, 1, 1)),
    (deep, (40, 16), (20, 1, 2, 4, 4), (10, 1, 1)),
])
def test_loops_that_store(
    kernel: Any, shape: Any, out: Any, grid: Any, always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result of a group goes to the array itself; also through arrays that overlap, and backwards."""
    whole = np.random.default_rng(0).standard_normal(6000).astype(np.float32)
    ways: list[tuple[int, Any]] = [(0, slice(None)), (3000, slice(None, None, -1))]
    if len(shape) == 1:
        ways.append((16, slice(None)))  # y begins within x
    for begin, part in ways:
        both = []
        for enabled in (False, True):
            monkeypatch.setattr(POLICY, "enabled", enabled)
            memory = whole.copy()
            x = memory[: np.prod(shape)].reshape(shape)
            y = memory[begin : begin + np.prod(out)].reshape(out)[part] if begin else np.zeros(out, np.float32)
            program = compile_function(kernel.lower(x, np.zeros_like(y)).tile_ir())
            for _ in range(2):  # the first run compiles the loop and stores by closures
                y[...] = 7.0
                program.run(grid, [x, y])
            both.append((memory, y.copy()))
        for want, got in zip(*both, strict=True):
            assert_same(got, want)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint8])
def test_gathers_and_scatters(width: int, index: Any, always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With masks, indices outside, places written twice, an array that is a part of another."""
    @tw.tile_kernel
    def kernel(x, rows, columns, out, back):
        i = tw.bid(0)
        r, c = tw.load(rows, i, 16), tw.load(columns, i, 8)
        t = tw.gather(x, (r[:, None], c[None, :]), padding_value=7)
        t += tw.gather(x, (r[:, None], c[None, :]), mask=r[:, None] > 3)
        tw.store(out, (i, 0), t)
        tw.scatter(back, (r[:, None] + 1, c[None, :]), t, mask=c[None, :] != 5)

    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, (30, 40)).astype(f"i{width}")[3:25, ::-2]
    low = 0 if index is np.uint8 else -9
    rows, columns = rng.integers(low, 30, 160).astype(index), rng.integers(low, 30, 80).astype(index)
    both = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        out, back = np.zeros((160, 8), x.dtype), np.zeros((25, 21), x.dtype)
        args = x, rows, columns, out, back
        compile_function(kernel.lower(*args).tile_ir()).run((10, 1, 1), list(args))
        both.append((out, back))
    assert both[0][1].any()
    for want, got in zip(*both, strict=True):
        assert_same(got, want)
