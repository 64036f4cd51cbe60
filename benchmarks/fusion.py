"""Chains of launches that `fuse` joins, beside the launches one by one and torch.compile, checked bit by bit.

All contenders run as CUDA graphs. The fused launches are those that `fuse` made, run again as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tilewright as tw
from benchmarks._check import require
from benchmarks._timing import Row, alternate, graph_of
from benchmarks.library import compiled_run, random

Run = Callable[[], Any]
ZERO = tw.PaddingMode.ZERO
EPS = 1e-5


@tw.tile_kernel
def relu(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.maximum(tw.load(x, i, tile), 0.0))


@tw.tile_kernel
def times(x, out, factor, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) * factor)


@tw.tile_kernel
def plus(x, out, term, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) + term)


@tw.tile_kernel
def layer_norm(x, weight, bias, out, tm: tw.Constant[int], n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (tm, n)).astype(tw.float32)
    centred = t - tw.sum(t, axis=1, keepdims=True) / n
    scale = tw.rsqrt(tw.sum(centred * centred, axis=1, keepdims=True) / n + EPS)
    w, b = tw.load(weight, 0, n).astype(tw.float32), tw.load(bias, 0, n).astype(tw.float32)
    tw.store(out, (i, 0), (centred * scale * w + b).astype(out.dtype))


@tw.tile_kernel
def linear(x, w, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tk))):
        a = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        acc = tw.mma(a, tw.load(w, (k, j), (tk, tn), padding_mode=ZERO), acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


@tw.tile_kernel
def bias_gelu(x, bias, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32) + tw.load(bias, j, tn).astype(tw.float32)
    tw.store(out, (i, j), (0.5 * t * (1.0 + tw.erf(t * 0.7071067811865476))).astype(out.dtype))


@tw.tile_kernel
def dropout(x, out, seed, rate: float, tm: tw.Constant[int], tn: tw.Constant[int]):
    """Each element has a number of its own, drawn from its place and the seed."""
    i, j = tw.bid(0), tw.bid(1)
    row, column = i * tm + tw.arange(tm, dtype=tw.int32), j * tn + tw.arange(tn, dtype=tw.int32)
    place = (row[:, None] * x.shape[1] + column[None, :]).astype(tw.uint32)
    drawn = (((place ^ seed.astype(tw.uint32)) * 2654435761) >> 8).astype(tw.float32) * 2.0**-24
    t = tw.load(x, (i, j), (tm, tn)).astype(tw.float32)
    tw.store(out, (i, j), tw.where(drawn >= rate, t * (1.0 / (1.0 - rate)), 0.0).astype(out.dtype))


class Plain:
    """In the place of a recording: memory for every intermediate, and launches at once."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.count = 0

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """The same arrays in each run."""
        import torch

        if self.count == len(self.made):
            self.made.append(torch.empty(shape, dtype=getattr(torch, dtype.name), device="cuda"))
        self.count += 1
        return self.made[self.count - 1]


def both_ways(name: str, launches: Callable[[Any, Any], None], out: Any) -> tuple[Run, Run, Any]:
    """The launches fused and one by one, which leave the same bits in `out`; and the fusion."""
    import torch

    plain = Plain()

    def one_by_one() -> None:
        plain.count = 0
        launches(plain, out)

    one_by_one()
    want = out.clone()
    out.fill_(float("nan"))
    with tw.fuse() as g:
        launches(g, out)
    torch.cuda.synchronize()
    require(name, torch.equal(out, want))

    def fused() -> None:
        for ran in g.launches:
            ran.kernel[ran.grid](*ran.args)

    out.fill_(float("nan"))
    fused()
    torch.cuda.synchronize()
    require(name, torch.equal(out, want))
    return fused, one_by_one, g


def elements(n: int) -> Iterator[Row | str]:
    """relu(x) * 0.5 + 1 of three kernels."""
    import torch

    x, out, tile = torch.randn(n, device="cuda"), torch.empty(n, device="cuda"), 2048

    def launches(g: Any, out: Any) -> None:
        a, b = g.empty((n,), tw.float32), g.empty((n,), tw.float32)
        relu[n // tile](x, a, tile)
        times[n // tile](a, b, 0.5, tile)
        plus[n // tile](b, out, 1.0, tile)

    name = "relu(x) * 0.5 + 1 of three kernels"
    fused, apart, g = both_ways(name, launches, out)
    require(name, torch.equal(out, torch.relu(x) * 0.5 + 1.0))
    yield from shown(name, g, fused, apart, lambda: torch.relu(x) * 0.5 + 1.0, bytes=8.0 * n)


def twenty(n: int) -> Iterator[Row | str]:
    """Twenty kernels, element by element."""
    import torch

    x, out, tile = torch.randn(n, device="cuda"), torch.empty(n, device="cuda"), 2048

    def launches(g: Any, out: Any) -> None:
        source = x
        for k in range(20):
            t = out if k == 19 else g.empty((n,), tw.float32)
            if k % 2:
                plus[n // tile](source, t, 0.25 * k, tile)
            else:
                times[n // tile](source, t, 1.0 + k / 64, tile)
            source = t

    def theirs() -> Any:
        t = x
        for k in range(20):
            t = t + 0.25 * k if k % 2 else t * (1.0 + k / 64)
        return t

    name = "20 kernels, element by element"
    fused, apart, g = both_ways(name, launches, out)
    require(name, len(g.launches) == 1)
    yield from shown(name, g, fused, apart, theirs, bytes=8.0 * n)


def layer(
    m: int, n: int, tiles: tuple[int, int, int] = (128, 128, 64), **hints: int,
) -> Iterator[Row | str]:
    """LayerNorm, Linear, GELU and Dropout, of four kernels, the last three with hints."""
    from torch.nn import functional as F

    x, w, weight, bias, more = random(m, n), random(n, n) / n**0.5, random(n), random(n), random(n)
    out, rate = random(m, n), 0.2

    def launches(g: Any, out: Any) -> None:
        normal, product, bent = (g.empty((m, n), tw.bfloat16) for _ in range(3))
        tm, tn, tk = tiles
        grid = (tw.cdiv(m, tm), tw.cdiv(n, tn))
        layer_norm[m // 4](x, weight, bias, normal, 4, n)
        hinted[0][grid](normal, w, product, tm, tn, tk)
        hinted[1][grid](product, more, bent, tm, tn)
        hinted[2][grid](bent, out, 7, rate, tm, tn)

    hinted = [kernel.replace_hints(**hints) for kernel in (linear, bias_gelu, dropout)]
    name = f"LayerNorm, Linear, GELU, Dropout {m} x {n} x {n}, tiles {tiles}, {hints or 'no hints'}"
    fused, apart, g = both_ways(name, launches, out)
    hidden = F.gelu(F.linear(F.layer_norm(x, (n,), weight, bias, EPS), w.T, more)).float() / (1 - rate)
    kept = out != 0
    require(name, 0.79 < float(kept.float().mean()) < 0.81)
    require(name, float((out.float() - hidden)[kept].abs().max()) < 2.0**-6 * float(hidden.abs().max()))

    def theirs() -> Any:
        return F.dropout(F.gelu(F.linear(F.layer_norm(x, (n,), weight, bias, EPS), w.T, more)), rate)

    yield from shown(name, g, fused, apart, theirs, flops=2.0 * m * n * n)


def shown(name: str, g: Any, fused: Run, apart: Run, theirs: Run, **amount: float) -> Iterator[Row | str]:
    """The times, and which launches are left, with the time that each of them takes."""
    runs = {"fused": graph_of(fused), "one by one": graph_of(apart), "torch": graph_of(theirs)}
    compiled = compiled_run(theirs)
    if compiled is not None:
        runs["compile"] = graph_of(compiled)
    yield Row(name, alternate(runs, rounds=9, warmup=2, inner=2), **amount)
    each = {str(k): graph_of(partial(ran.kernel[ran.grid], *ran.args)) for k, ran in enumerate(g.launches)}
    times = alternate(each, rounds=5, warmup=2, inner=2)
    yield "  " + "; ".join(f"{' + '.join(dict.fromkeys(ran.names))} {times[str(k)]:.1f} us"
                           for k, ran in enumerate(g.launches))


KINDS: dict[str, Callable[[], Iterator[Row | str]]] = {
    "elements": lambda: elements(1 << 27), "twenty": lambda: twenty(1 << 27), "layer": lambda: layer(16384, 1024),
    "warps": lambda: layer(16384, 1024, (128, 128, 64), num_worker_warps=8),
    "low": lambda: layer(16384, 1024, (64, 128, 64), num_worker_warps=4, occupancy=2),
    "narrow": lambda: layer(16384, 1024, (128, 64, 64), num_worker_warps=8, occupancy=2),
}


def rows(kinds: tuple[str, ...] = ()) -> Iterator[Row | str]:
    import torch

    with torch.no_grad():
        for kind in kinds or KINDS:
            yield from KINDS[kind]()


if __name__ == "__main__":
    for row in rows(tuple(sys.argv[1:])):
        print(row if isinstance(row, str) else row.text(), flush=True)
