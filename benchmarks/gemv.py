"""Matrix times one row (GEMV) or few (skinny GEMM), bfloat16, beside cuBLAS and a copy that moves the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from benchmarks._check import near, require, spoil
from benchmarks._timing import Row, alternate, copier, fastest, triton_kernels

SIZE = 16384
# (rows, columns) of a block's tile of the weights.
ROW_TILES = ((2, 1024), (4, 1024), (8, 512), (4, 2048))
# (rows, columns, splits of the inner dimension)
COLUMN_TILES = ((32, 256, 8), (32, 128, 4), (64, 128, 8), (128, 64, 2), (64, 64, 2), (16, 256, 8), (64, 128, 4))
# m -> (columns of a block, depth of a step, splits)
SKINNY_TILES = {
    16: ((64, 64, 1), (64, 128, 1), (32, 128, 1), (64, 128, 4), (128, 64, 4)),
    64: ((64, 64, 1), (64, 128, 1), (128, 64, 1), (128, 64, 4)),
}


def rows() -> Iterator[Row]:
    import torch

    # Sums of 16384 products with values of about 1.
    w = torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) / SIZE**0.5
    copy = copier(w.nbytes)
    x = torch.randn(1, SIZE, device="cuda", dtype=torch.bfloat16)
    yield from _row_products(w, x, copy)
    yield from _column_products(w, x, copy)
    for m in SKINNY_TILES:
        x = torch.randn(m, SIZE, device="cuda", dtype=torch.bfloat16)
        for turned in (True, False):
            yield from _skinny(w, x, copy, turned)


def _row_products(w: Any, x: Any, copy: Callable[[], Any]) -> Iterator[Row]:
    import torch

    from benchmarks.gemv_kernels import gemv_rows

    x, (n, k) = x[0], w.shape
    y, theirs = (torch.empty(n, device="cuda", dtype=w.dtype) for _ in range(2))
    others = {"cuBLAS": lambda: torch.mv(w, x, out=theirs), "copy": copy}
    rival = triton_kernels()
    if rival is not None:
        others["triton"] = fastest(rival.gemv_choices(w, x, y))
    for tile in ROW_TILES:
        run = lambda t=tile: gemv_rows[(n // t[0],)](w, x, y, *t)  # noqa: E731
        name = f"gemv bf16 {n}x{k}, w[n,k], tile {tile[0]}x{tile[1]}"
        _check(name, run, y[None, :], x[None, :], w.t())
        yield Row(name, alternate({"ours": run, **others}), bytes=w.nbytes + 4 * n)


def _column_products(w: Any, x: Any, copy: Callable[[], Any]) -> Iterator[Row]:
    import torch

    from benchmarks.gemv_kernels import gemv_columns

    k, n = w.shape
    y, theirs = (torch.empty(1, n, device="cuda", dtype=w.dtype) for _ in range(2))
    turns = torch.zeros(n, device="cuda", dtype=torch.int32)
    for chunk, columns, splits in COLUMN_TILES:
        parts = torch.empty(splits, 1, n, device="cuda")
        run = lambda g=(n // columns, splits), p=parts, t=(chunk, columns): gemv_columns[g](  # noqa: E731
            w, x[0], p, turns, y, *t)
        name = f"gemv bf16 {n}x{k}, w[k,n], tile {chunk}x{columns}, {splits} splits"
        _check(name, run, y, x, w)
        times = alternate({"ours": run, "cuBLAS": lambda: torch.matmul(x, w, out=theirs), "copy": copy})
        yield Row(name, times, bytes=w.nbytes + 4 * n)


def _skinny(w: Any, x: Any, copy: Callable[[], Any], turned: bool) -> Iterator[Row]:
    import torch

    from benchmarks.gemv_kernels import skinny

    m, n = x.shape[0], w.shape[0]
    b = w.t() if turned else w
    y, theirs = (torch.empty(m, n, device="cuda", dtype=w.dtype) for _ in range(2))
    turns = torch.zeros(n, device="cuda", dtype=torch.int32)
    for tn, tk, splits in SKINNY_TILES[m]:
        parts = torch.empty(splits, m, n, device="cuda")
        args = (x, w, parts, turns, y, m, tn, tk, turned, splits > 1)
        run = lambda g=(n // tn, splits), a=args: skinny[g](*a)  # noqa: E731
        name = f"gemm bf16 {m}x{n}x{n}, w{'[n,k]' if turned else '[k,n]'}, tile {tn}x{tk}, {splits} splits"
        _check(name, run, y, x, b)
        times = alternate({"ours": run, "cuBLAS": lambda: torch.matmul(x, b, out=theirs), "copy": copy})
        yield Row(name, times, bytes=w.nbytes + x.nbytes + y.nbytes)


def _check(name: str, run: Callable[[], Any], y: Any, x: Any, w: Any) -> None:
    """Twice, as the second run finds what the first left behind; on some columns, in float64."""
    import torch

    some = torch.randint(0, w.shape[1], (512,), device=w.device)
    columns = w[:, some].double()
    want = x.double() @ columns
    slack = w.shape[0] * 2.0**-24 * (x.double().abs() @ columns.abs())
    for _ in range(2):
        spoil(y)
        run()
        require(name, near(y[:, some], want, slack) and not y.isnan().any())
