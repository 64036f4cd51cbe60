"""Products whose rows are scattered: in vectors, through shared memory, and to the places that the indices say."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.simulator import simulate

BF16 = ml_dtypes.bfloat16
M, N, K = 64, 128, 64


@tw.tile_kernel
def rows_of_product(a, b, ids, y, masked: tw.Constant[bool]):
    """y[ids] = a @ b, tile by tile; `masked`: every second row alone."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(ids, (i,), (M,), padding_mode=tw.PaddingMode.ZERO)[:, None]
    column = j * N + tw.arange(N, dtype=tw.int32)[None, :]
    acc = tw.zeros((M, N), tw.float32)
    for k in range(tw.cdiv(a.shape[1], K)):
        acc = tw.mma(tw.load(a, (i, k), (M, K)), tw.load(b, (k, j), (K, N)), acc)
    mask = tw.arange(M, dtype=tw.int32)[:, None] % 2 == 0 if masked else None
    tw.scatter(y, (row, column), acc.astype(y.dtype), mask=mask)


@tw.tile_kernel
def experts(a, b, ids, y, wide: tw.Constant[int]):
    """y[ids] = a[ids] @ b."""
    i, j = tw.bid(1), tw.bid(0)
    row = tw.load(ids, (i,), (M,), padding_mode=tw.PaddingMode.ZERO)[:, None]
    acc = tw.zeros((M, wide), tw.float32)
    for k in range(tw.cdiv(a.shape[1], K)):
        x = tw.gather(a, (row, k * K + tw.arange(K, dtype=tw.int32)[None, :]))
        acc = tw.mma(x, tw.load(b, (k, j), (K, wide)), acc)
    tw.scatter(y, (row, j * wide + tw.arange(wide, dtype=tw.int32)[None, :]), acc.astype(y.dtype))


@tw.tile_kernel
def columns_of_product(a, b, ids, y, masked: tw.Constant[bool]):
    """y[:, ids] = a @ b: neighbours go anywhere."""
    i, j = tw.bid(0), tw.bid(1)
    row = i * M + tw.arange(M, dtype=tw.int32)[:, None]
    column = tw.load(ids, (j,), (N,))[None, :]
    acc = tw.zeros((M, N), tw.float32)
    for k in range(tw.cdiv(a.shape[1], K)):
        acc = tw.mma(tw.load(a, (i, k), (M, K)), tw.load(b, (k, j), (K, N)), acc)
    tw.scatter(y, (row, column), acc.astype(y.dtype))


@tw.tile_kernel
def places_of_product(a, b, at, y, masked: tw.Constant[bool]):
    """y[at, j] = a @ b, where each element has a row of its own in memory."""
    i, j = tw.bid(0), tw.bid(1)
    row = tw.load(at, (i, j), (M, N))
    column = j * N + tw.arange(N, dtype=tw.int32)[None, :]
    acc = tw.zeros((M, N), tw.float32)
    for k in range(tw.cdiv(a.shape[1], K)):
        acc = tw.mma(tw.load(a, (i, k), (M, K)), tw.load(b, (k, j), (K, N)), acc)
    tw.scatter(y, (row, column), acc.astype(y.dtype))


def operands(ids: Any, dtype: Any, n: int = 2 * N, rows: int = 2 * M) -> tuple[Any, ...]:
    """Whole numbers, whose sums are exact."""
    pick = np.random.default_rng(3)
    a, b = (pick.integers(-2, 3, shape).astype(BF16) for shape in ((2 * M, K), (K, n)))
    return a, b, np.asarray(ids, np.int32), np.full((rows, n), 7, dtype)


def widths(kernel: Any, args: tuple[Any, ...], **hints: int) -> set[str]:
    """How the text writes to global memory."""
    text = kernel.replace_hints(**hints).lower(*args, target="sm_90a").lowered.llvm_text
    return set(re.findall(r"st\.global\.((?:v\d\.)?b\d+)", text))


@pytest.mark.parametrize(("dtype", "n", "masked", "width"), [
    (BF16, 2 * N, False, {"v4.b32"}),
    (np.float32, 2 * N, False, {"v2.b32"}),  # whole sectors of 32 bytes as they are
    (BF16, 2 * N, True, {"v4.b32"}),
    (BF16, 200, False, {"v4.b32"}),  # the second tile ends between two vectors
    (BF16, 196, False, {"b16"}),  # rows that begin between multiples of 16 bytes
])
def test_rows_of_products_go_in_vectors(dtype: Any, n: int, masked: bool, width: set[str]) -> None:
    ids = np.random.default_rng(5).permutation(2 * M)
    ids[[3, 70]] = -1, 2 * M  # outside: not written
    args = *operands(ids, dtype, n), masked
    assert widths(rows_of_product, args) == width
    wanted = (*args[:3], args[3].copy(), masked)
    rows_of_product.interpret((2, 2), *wanted)
    simulate(rows_of_product, (2, 2), args, "sm_90a")
    assert args[3].tobytes() == wanted[3].tobytes()
    product = args[0].astype(np.float32) @ args[1].astype(np.float32)
    inside = (ids >= 0) & (ids < 2 * M) & (~np.bool_(masked) | (np.arange(2 * M) % 2 == 0))
    assert (args[3][ids[inside]] == product[inside].astype(dtype)).all()
    assert (np.delete(args[3], ids[inside], axis=0) == 7).all()


@pytest.mark.parametrize("wide", [N, K])
def test_gathered_rows_are_scattered(wide: int) -> None:
    """What is gathered comes in whole vectors, also where it has the shape of the sums, whose rows are the same: the
    index is spread for each."""
    args = *operands(np.random.default_rng(5).permutation(2 * M), BF16), wide
    assert widths(experts, args) == {"v4.b32" if wide > K else "b32"}
    text = experts.lower(*args, target="sm_90a").lowered.llvm_text
    assert set(re.findall(r"cp\.async\.c[ag]\.shared\.global[.:\w]* \[\$\d\], \[\$\d\], (\d+)", text)) == {"16"}
    simulate(experts, (2 * N // wide, 2), args, "sm_90a", schedule="random", seed=1)
    rows = args[2]
    product = args[0][rows].astype(np.float32) @ args[1].astype(np.float32)
    assert (args[3][rows] == product.astype(BF16)).all()


@pytest.mark.parametrize("kernel", [columns_of_product, places_of_product])
def test_what_vectors_would_not_serve_stays(kernel: Any) -> None:
    """Nothing lies side by side, or the indices would have to move as the tile does, and take four times its bytes."""
    ids = np.arange(2 * N) if kernel is columns_of_product else np.arange(2 * M)[:, None].repeat(2 * N, axis=1)
    args = *operands(ids, BF16), False
    assert "shared_store" not in str(kernel.lower(*args, target="sm_90a").lowered.llvm_text)
    assert not widths(kernel, args) & {"v2.b32", "v4.b32"}


def test_other_ctas_of_an_sm_keep_their_shared_memory() -> None:
    args = *operands(np.arange(2 * M), BF16), False
    assert widths(rows_of_product, args, occupancy=2) == {"b32"}
