"""Bulk copies in the simulator: tiles of every shape arrive where their layout says, zero outside the array."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3] / "tools")]
from bulk_kernels import copy_text, lowered  # noqa: E402
from sim import run_lowered  # noqa: E402

from tilewright.backend_ptx.targets import get_target  # noqa: E402

DTYPES: dict[str, Any] = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "f64": np.float64}
BLOCKS = 3

CASES = [
    # dtype, tile, order, inner tile axis, extents of the array in its own order
    ("bf16", (64, 64), (0, 1), 1, (150, 104)),  # rows of 128 bytes, ragged both ways
    ("bf16", (64, 64), (1, 0), 0, (104, 152)),  # the array is read as its transpose
    ("bf16", (16, 128), (0, 1), 1, (40, 136)),  # two pieces of 128 bytes
    ("bf16", (32, 32), (0, 1), 1, (64, 64)),  # 64-byte swizzle
    ("bf16", (32, 16), (0, 1), 1, (70, 24)),  # 32-byte swizzle
    ("bf16", (32, 8), (0, 1), 1, (70, 8)),  # no swizzle
    ("bf16", (4, 64), (0, 1), 1, (9, 80)),  # too few rows for one
    ("f32", (512, 16), (0, 1), 1, (700, 20)),  # two boxes
    ("f64", (16, 16), (0, 1), 1, (20, 30)),
    ("i8", (2, 16, 64), (0, 1, 2), 2, (5, 24, 80)),
    ("f32", (2, 8, 32), (1, 0, 2), 2, (12, 5, 40)),
    ("bf16", (2, 64, 16), (0, 2, 1), 1, (5, 24, 80)),
    ("f32", (1, 2, 4, 2, 32), (0, 1, 2, 3, 4), 4, (3, 5, 6, 3, 36)),
    ("f32", (512,), (0,), 0, (1001,)),
]


def expected(array: np.ndarray, tile: tuple[int, ...], order: tuple[int, ...], index: tuple[int, ...]) -> np.ndarray:
    seen = array.transpose(order)
    out = np.zeros(tile, array.dtype)
    for place in np.ndindex(*tile):
        source = tuple(i * n + p for i, n, p in zip(index, tile, place, strict=True))
        if all(0 <= s < n for s, n in zip(source, seen.shape, strict=True)):
            out[place] = seen[source]
    return out


@pytest.mark.parametrize("dtype, tile, order, inner, extents", CASES)
@pytest.mark.parametrize("schedule", ["inorder", "random"])
def test_a_tile_arrives(
    dtype: str, tile: tuple[int, ...], order: tuple[int, ...], inner: int, extents: tuple[int, ...], schedule: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rank = len(tile)
    rng = np.random.default_rng(rank)
    # The array's memory has the axis with stride 1 last, and rows of whole 16 bytes.
    fast = order[inner]
    memory_order = [a for a in range(rank) if a != fast] + [fast]
    per_vector = 16 // np.dtype(DTYPES[dtype]).itemsize
    lengths = [extents[a] for a in memory_order]
    lengths[-1] = -(-lengths[-1] // per_vector) * per_vector
    memory = rng.integers(-50, 50, lengths).astype(DTYPES[dtype])
    array = memory.transpose([memory_order.index(a) for a in range(rank)])[tuple(slice(n) for n in extents)]
    out = np.full((BLOCKS * tile[0], *tile[1:]), 99, DTYPES[dtype])
    kernel = lowered(copy_text(dtype, tile, order, inner), get_target("sm_90a"), monkeypatch)
    run_lowered(kernel, BLOCKS, [array, out], schedule=schedule, seed=1)
    for i in range(BLOCKS):
        index = (i, 1 - i, *[0] * rank)[:rank]
        np.testing.assert_array_equal(out[i * tile[0] : (i + 1) * tile[0]].astype(float),
                                      expected(array, tile, order, index).astype(float))
