"""Element-wise kernels and row sums beside torch, tuned Triton, and a device copy that moves the same bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks._check import require, spoil
from benchmarks._timing import Row, alternate, copier, fastest, triton_kernels

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

ELEMENTS = 1 << 27


def rows() -> Iterator[Row]:
    import torch

    x = torch.randn(ELEMENTS, device="cuda")
    yield from vector_add(x)
    yield from fused_chain(x.reshape(16384, 8192))
    for columns in (1024, 2048, 4096, 8192, 16384):
        yield from row_sums(x.reshape(-1, columns))


def vector_add(x: Any) -> Iterator[Row]:
    import torch
    from vector_add import vector_add as kernel

    y, out, n = torch.randn_like(x), torch.empty_like(x), x.numel()
    others = {"copy": copier(12 * n), "torch": lambda: torch.add(x, y, out=out)}
    rival = triton_kernels()
    if rival is not None:
        others["triton"] = lambda: rival.run_vector_add(x, y, out)
    for tile in (1024, 2048, 4096):
        run = lambda tile=tile: kernel[(n // tile,)](x, y, out, tile)  # noqa: E731
        spoil(out)
        run()
        require("vector add", torch.equal(out, x + y))
        yield Row(f"vector add f32 2^27, tile {tile}", alternate({"ours": run, **others}), bytes=12 * n)


def fused_chain(x: Any) -> Iterator[Row]:
    import torch

    from benchmarks.row_kernels import scaled_relu

    out, (m, n) = torch.empty_like(x), x.shape
    others = {"copy": copier(2 * x.nbytes), "torch": lambda: torch.relu(x) * 0.5 + 1}
    rival = triton_kernels()
    if rival is not None:
        others["triton"] = fastest(rival.scaled_relu_choices(x, out, 0.5, 1.0))
    for tm, tn in ((1, 2048), (1, 4096), (1, 8192), (4, 512)):
        run = lambda g=(n // tn, m // tm), t=(tm, tn): scaled_relu[g](x, out, 0.5, 1.0, *t)  # noqa: E731
        spoil(out)
        run()
        require("fused chain", torch.allclose(out, torch.relu(x) * 0.5 + 1, atol=1e-6))
        yield Row(f"relu(x)*0.5+1 f32 {m}x{n}, tile {tm}x{tn}", alternate({"ours": run, **others}), bytes=2 * x.nbytes)


def row_sums(x: Any) -> Iterator[Row]:
    import torch

    from benchmarks.row_kernels import row_sum

    (m, n), out = x.shape, torch.empty(x.shape[0], device="cuda")
    nbytes = x.nbytes + out.nbytes
    others = {"copy": copier(nbytes), "torch": lambda: torch.sum(x, 1, out=out)}
    rival = triton_kernels()
    if rival is not None:
        others["triton"] = fastest(rival.row_sum_choices(x, out))
    bound = n * 1.2e-7 * x.abs().sum(1, dtype=torch.float64)
    for height in (1,) if n > 1024 else (1, 4):
        run = lambda g=(m // height,), h=height: row_sum[g](x, out, h, n)  # noqa: E731
        spoil(out)
        run()
        require("row sum", ((out - x.sum(1, dtype=torch.float64)).abs() <= bound).all())
        name = f"row sum f32 {m}x{n}, {height} row{'s' if height > 1 else ''} a block"
        yield Row(name, alternate({"ours": run, **others}), bytes=nbytes)
