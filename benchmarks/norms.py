"""RMS norm and layer norm of bfloat16 rows beside torch, tuned Triton, and a copy that moves the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks._check import near, require, sample_rows, spoil
from benchmarks._timing import Row, alternate, copier, fastest, triton_kernels

EPS = 1e-5
# (rows of the matrix, columns, rows of a block)
WORK = ((65536, 1024, (1, 2, 4)), (32768, 4096, (1, 2)), (8192, 16384, (1,)))


def rows() -> Iterator[Row]:
    import torch

    for m, n, heights in WORK:
        x = 2 * torch.randn(m, n, device="cuda", dtype=torch.bfloat16) + 0.5
        weight, bias = torch.randn(2, n, device="cuda", dtype=torch.bfloat16)
        out = torch.empty_like(x)
        for kind in ("rms norm", "layer norm"):
            yield from _norm(kind, x, weight, bias, out, heights)


def _norm(kind: str, x: Any, weight: Any, bias: Any, out: Any, heights: tuple[int, ...]) -> Iterator[Row]:
    from torch.nn import functional

    from benchmarks.row_kernels import layer_norm, rms_norm

    m, n = x.shape
    rms = kind == "rms norm"
    others = {"copy": copier(2 * x.nbytes)}
    if rms:
        others["torch"] = lambda: functional.rms_norm(x, (n,), weight, EPS)
    else:
        others["torch"] = lambda: functional.layer_norm(x, (n,), weight, bias, EPS)
    rival = triton_kernels()
    if rival is not None:
        others["triton"] = fastest(rival.norm_choices(x, weight, None if rms else bias, out, EPS))
    for height in heights:
        grid, tile = (-(-m // height),), (height, n)
        ours = (lambda g=grid, t=tile: rms_norm[g](x, weight, out, EPS, *t)) if rms else (
            lambda g=grid, t=tile: layer_norm[g](x, weight, bias, out, EPS, *t))
        spoil(out)
        ours()
        some = sample_rows(x)
        require(kind, near(out[some], _reference(x[some], weight, None if rms else bias), 1e-5))
        require(kind, not out.isnan().any())
        name = f"{kind} bf16 {m}x{n}, {height} row{'s' if height > 1 else ''} a block"
        yield Row(name, alternate({"ours": ours, **others}), bytes=2 * x.nbytes)


def _reference(x: Any, weight: Any, bias: Any) -> Any:
    """In float64. RMS norm where there is no bias."""
    import torch

    t = x.double()
    if bias is not None:
        t = t - t.mean(1, keepdim=True)
    t = t * torch.rsqrt((t * t).mean(1, keepdim=True) + EPS) * weight.double()
    return t if bias is None else t + bias.double()
