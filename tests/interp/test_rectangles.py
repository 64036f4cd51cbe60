"""Rectangles of blocks, in which tiles of operands are held once for each row and column."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.interp_cases import assert_same

import tilewright as tw
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.jit import POLICY
from tilewright.interp.rectangles import sides, thin_values

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def plain(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 8), tw.int32 if a.dtype == tw.int8 else tw.float32)
    for k in range(tw.num_tiles(a, 1, (16, 32))):
        t = tw.load(a, (i, k), (16, 32), padding_mode=ZERO)
        acc = tw.mma(t, tw.load(b, (k, j), (32, 8), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def turned(a, b, out):
    """The second axis of the grid goes down; operands are transposed and computed with."""
    i, j = tw.bid(1), tw.bid(0) + 0
    acc = tw.ones((16, 8), tw.float32)
    left = tw.transpose(tw.load(a, (i, 0), (16, 32), padding_mode=ZERO)) * 2.0
    for k in range(2):
        first = tw.load(b, (k, 0), (32, 8), padding_mode=ZERO)
        acc = tw.mma(tw.transpose(left), tw.load(b, (k, j), (32, 8), padding_mode=ZERO) + first, acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def also_stored(a, b, out):
    """A tile that is needed for more than products is held for each block."""
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(a, (i, 0), (16, 32), padding_mode=ZERO)
    acc = tw.mma(t, tw.load(b, (0, j), (32, 8), padding_mode=ZERO), tw.zeros((16, 8), tw.float32))
    tw.store(out, (i, j), acc + tw.sum(t, axis=1, keepdims=True))


@tw.tile_kernel
def by_column(a, b, out):
    """Left operands of each block, and right ones that all blocks of a column load."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 8), tw.float32)
    for k in range(2):
        t = tw.load(a, (i, k), (16, 32), padding_mode=ZERO) * (j + 1)
        acc = tw.mma(t, tw.load(b, (k, j), (32, 8), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc)


@tw.tile_kernel
def divergent(a, b, out):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((16, 8), tw.float32)
    if (i + j) % 2 == 0:
        t = tw.load(a, (i, 0), (16, 32), padding_mode=ZERO)
        acc = tw.mma(t, tw.load(b, (0, j), (32, 8), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc)


def whole(rows: int, columns: int, dtype: Any, seed: int) -> Any:
    """Small integers: their sums are exact in any order."""
    return np.random.default_rng(seed).integers(-8, 9, (rows, columns)).astype(dtype)


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("name, dtype", [
    ("plain", np.float32), ("plain", np.float16), ("plain", ml_dtypes.bfloat16), ("plain", np.int8),
    ("plain", ml_dtypes.float8_e4m3fn), ("turned", np.float32), ("also_stored", np.float32), ("divergent", np.float32),
    ("by_column", np.float32),
])
def test_results_are_those_of_single_blocks(
    name: str, dtype: Any, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in (("enabled", loops), ("seconds", 0.0), ("work", 0), ("elements", 0)):
        monkeypatch.setattr(POLICY, key, value)
    a, b = whole(85, 64, dtype, 0), whole(64, 45, dtype, 1)
    out_dtype = {np.int8: np.int32, ml_dtypes.float8_e4m3fn: np.float32}.get(dtype, dtype)
    kernel: Any = globals()[name]
    results = []
    for options in (ExecutionOptions(mode="single"), ExecutionOptions(), ExecutionOptions(chunk_bytes=1 << 16)):
        out = np.zeros((85, 45), out_dtype)
        grid = (6, 6, 1) if name == "turned" else (6, 6, 2)
        program = compile_function(kernel.lower(a, b, out).tile_ir())
        program.run(grid, [a, b, out], options)
        results.append(out)
    assert results[0].astype(np.float64).any()
    for other in results[1:]:
        assert_same(other, results[0])


@pytest.mark.parametrize("name, axes, count", [
    ("plain", (0, 1), 2), ("plain", (1, 0), 0), ("turned", (1, 0), 6), ("also_stored", (0, 1), 1),
    ("also_stored", (1, 0), 0), ("by_column", (0, 1), 1), ("divergent", (0, 1), 0),
])
def test_which_tiles_are_thin(name: str, axes: tuple[int, int], count: int) -> None:
    spec = tw.spec("f32[64,64]")
    kernel: Any = globals()[name]
    program = compile_function(kernel.lower(spec, spec, spec).tile_ir())
    thin = thin_values(program.function, axes, program.hazards.copied, program.dependences)
    assert len(thin) == count, thin


def test_sides_cut_the_grid_evenly() -> None:
    assert sides((8, 8, 1), (0, 1), 64) == (8, 8)
    assert sides((8, 8, 1), (0, 1), 48) == (4, 8) or sides((8, 8, 1), (0, 1), 48) == (8, 4)
    assert sides((100, 3, 1), (0, 1), 30) == (10, 3)
    assert sides((1000, 1000, 1), (0, 1), 10) == (1, 1)
