"""Kernels in place beside themselves out of place: the same elements move, and half the memory is touched."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined, valid-type, misc"

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tilewright as tw
from benchmarks._check import require, spoil
from benchmarks._timing import Row, alternate, copier

ELEMENTS = 1 << 27
HALF = 64


@tw.tile_kernel(grid="cdiv(N, tile)")
def gelu(x: tw.Array["N"], out: tw.Array["N"], tile: tw.Constant[int] = 2048):
    i = tw.bid(0)
    t = tw.load(x, i, tile).astype(tw.float32)
    tw.store(out, i, (0.5 * t * (1.0 + tw.tanh(0.7978845608 * (t + 0.044715 * t * t * t)))).astype(out.dtype))


@tw.tile_kernel(grid="cdiv(N, tile)")
def dropout(
    x: tw.Array["N"], keep: tw.Array["N"], out: tw.Array["N"], scale=1.0, tile: tw.Constant[int] = 2048,
):
    i = tw.bid(0)
    t = tw.load(x, i, tile).astype(tw.float32) * scale
    tw.store(out, i, tw.where(tw.load(keep, i, tile), t, 0.0).astype(out.dtype))


@tw.tile_kernel(grid="cdiv(M, rows)")
def rope(
    x: tw.Array["M", "2*H"], cos: tw.Array["M", "H"], sin: tw.Array["M", "H"], out: tw.Array["M", "2*H"],
    H: tw.Constant[int] = HALF, rows: tw.Constant[int] = 16,
):
    i = tw.bid(0)
    low, high = tw.load(x, (i, 0), (rows, H)).astype(tw.float32), tw.load(x, (i, 1), (rows, H)).astype(tw.float32)
    c, s = tw.load(cos, (i, 0), (rows, H)), tw.load(sin, (i, 0), (rows, H))
    tw.store(out, (i, 0), (low * c - high * s).astype(out.dtype))
    tw.store(out, (i, 1), (high * c + low * s).astype(out.dtype))


def rows() -> Iterator[Row]:
    import torch

    x = torch.randn(ELEMENTS, device="cuda").to(torch.bfloat16)
    yield compare("gelu bf16 2^27", x, gelu, 2 * x.nbytes)
    keep = torch.rand(ELEMENTS, device="cuda") > 0.25
    yield compare("dropout bf16 2^27", x, lambda a, out: dropout(a, keep, out), 2 * x.nbytes + keep.nbytes)
    heads = x.reshape(-1, 2 * HALF)
    angle = torch.randn(heads.shape[0], HALF, device="cuda")
    cos, sin = torch.cos(angle), torch.sin(angle)
    yield compare(f"rope bf16 {heads.shape[0]}x{2 * HALF}", heads, lambda a, out: rope(a, cos, sin, out),
                  2 * x.nbytes + 2 * cos.nbytes)


def compare(name: str, x: Any, run: Callable[[Any, Any], None], nbytes: int) -> Row:
    """In place first, so that `ratio` is the rate of the in-place kernel over that of the other.

    Both read what the launches in place have made of the array: after some of them most of GELU's results are tiny,
    which moves fewer bits and takes other branches than numbers drawn at random.
    """
    import torch

    out, own = torch.empty_like(x), x.clone()
    spoil(out)
    run(x, out)
    run(own, own)
    require(name, torch.equal(own, out))
    ways = {"in place": lambda: run(own, own), "out of place": lambda: run(own, out), "copy": copier(nbytes)}
    times = alternate(ways)
    return Row(name, times, bytes=nbytes)
