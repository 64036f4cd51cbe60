"""Matrix products in the interpreter, where they are exact: integers, and floats that are whole numbers. Which operands
differ from block to block decides how a chunk is computed, and may change nothing."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tilewright as tw

BLOCKS = 3


def kernel_of(varies: tuple[bool, bool, bool], m: int, n: int, k: int, acc: Any) -> Any:
    by_a, by_b, by_c = varies

    @tw.tile_kernel
    def product(a, b, c, out):
        i = tw.bid(0)
        left = tw.load(a, (i if by_a else 0, 0), (m, k))
        right = tw.load(b, (0, i if by_b else 0), (k, n))
        start = tw.load(c, (i if by_c else 0, 0), (m, n)) if by_c or acc else tw.zeros((m, n), c.dtype)
        tw.store(out, (i, 0), tw.mma(left, right, start))
    return product


def whole(pick: np.random.Generator, dtype: Any, *shape: int) -> Any:
    return pick.integers(0 if np.dtype(dtype).kind == "u" else -4, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtypes", [(np.float32, np.float32), (np.float16, np.float32), (np.int8, np.int32)],
                         ids=lambda d: np.dtype(d[0]).name)
@pytest.mark.parametrize("acc", [False, True], ids=["from zeros", "from c"])
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_whichever_operand_differs(dtypes: Any, acc: bool, mode: str) -> None:
    pick = np.random.default_rng(0)
    for varies in itertools.product((False, True), (False, True), (False, True)):
        for m, n, k in ((4, 8, 2), (1, 4, 8), (4, 1, 8)):
            a, b = whole(pick, dtypes[0], BLOCKS * m, k), whole(pick, dtypes[0], k, BLOCKS * n)
            c, out = whole(pick, dtypes[1], BLOCKS * m, n), np.full((BLOCKS * m, n), 77, dtypes[1])
            kernel_of(varies, m, n, k, acc).interpret(BLOCKS, a, b, c, out, mode=mode)
            for i in range(BLOCKS):
                rows, columns, start = (i if one else 0 for one in varies)
                want = a[rows * m:][:m].astype(np.int64) @ b[:, columns * n:][:, :n].astype(np.int64)
                want = want + (c[start * m:][:m] if varies[2] or acc else 0)
                assert np.array_equal(out[i * m:][:m], want), (varies, m, n, k)


@pytest.mark.parametrize("left, right", list(itertools.product((np.int8, np.uint8), repeat=2)),
                         ids=lambda d: np.dtype(d).name)
@pytest.mark.parametrize("k", [1, 128, 256, 512, 4096])
def test_sums_of_large_bytes_are_exact(left: Any, right: Any, k: int) -> None:
    """Beyond 256 products their sum may need more bits than float32 has."""
    a, b = np.full((2, k), np.iinfo(left).max, left), np.full((k, 2), np.iinfo(right).max, right)
    a[0, 0], b[0, 0] = np.iinfo(left).max - 2, np.iinfo(right).max - 2
    a[1], c, out = np.iinfo(left).min, np.full((2, 2), 3, np.int32), np.zeros((2, 2), np.int32)
    kernel_of((False, False, False), 2, 2, k, True).interpret(1, a, b, c, out)
    assert np.array_equal(out, a.astype(np.int64) @ b.astype(np.int64) + 3)


def test_sums_of_integers_wrap() -> None:
    a, b = np.full((1, 16), -128, np.int8), np.full((16, 1), -128, np.int8)
    c, out = np.full((1, 1), np.iinfo(np.int32).max, np.int32), np.zeros((1, 1), np.int32)
    kernel_of((False, False, False), 1, 1, 16, True).interpret(1, a, b, c, out)
    assert out[0, 0] == np.iinfo(np.int32).min + 16 * 128 * 128 - 1


@pytest.mark.parametrize("batch", [(1,), (2,)], ids=str)
@pytest.mark.parametrize("mode", ["chunked", "single"])
def test_products_in_batches(batch: tuple[int, ...], mode: str) -> None:
    @tw.tile_kernel
    def product(a, b, out):
        i, zeros = tw.bid(0), (0,)
        left = tw.load(a, (i, *zeros, 0, 0), (1, *batch, 4, 2))
        right = tw.load(b, (*zeros, 0, 0), (*batch, 2, 8))
        left = tw.reshape(left, (*batch, 4, 2))
        tw.store(out, (i, *zeros, 0, 0), tw.reshape(tw.matmul(left, right), (1, *batch, 4, 8)))

    pick = np.random.default_rng(1)
    a, b = whole(pick, np.float32, BLOCKS, *batch, 4, 2), whole(pick, np.float32, *batch, 2, 8)
    out = np.zeros((BLOCKS, *batch, 4, 8), np.float32)
    product.interpret(BLOCKS, a, b, out, mode=mode)
    assert np.array_equal(out, a @ b)
