"""Products whose operands have no fixed address: lists of matrices, rows of groups packed one after the other, and rows
that are gathered and scattered.

Each is held against one product of the same work, ours and by cuBLAS, and against torch's loop over the groups. All run
in graphs of two launches: a launch with hundreds of arrays costs the host as much as these products the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import tilewright as tw
from benchmarks import kernels
from benchmarks._check import near, require
from benchmarks._timing import Row, alternate, fastest
from benchmarks.matmul import places
from benchmarks.sweep.kernels import grouped_gemm_list

# One of 256 rows reads each weight of groups of as many rows once; two CTAs of a cluster share what 256 x 256 read.
TILES = ((128, 256, 64), (256, 128, 64), (256, 256, 64))
TILE = TILES[0]
LISTS = ((4, (4096, 4096, 4096)), (64, (256, 4096, 4096)))
ROWS, GROUPS, WIDTH = 16384, 16, 4096


@tw.tile_kernel
def ragged(x, w, starts, y, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """y[s:e] = x[s:e] @ w[g] with s, e = starts[g], starts[g + 1]; the blocks share the tiles of all groups."""
    number = tw.bid(0)
    before = 0
    columns = tw.cdiv(w.shape[2], tn)
    for g in range(w.shape[0]):
        first, last = tw.load(starts, g, ()), tw.load(starts, g + 1, ())
        rows, out = x.slice(0, first, last), y.slice(0, first, last)
        height = tw.cdiv(last - first, tm)
        tiles = height * columns
        while number < before + tiles:  # down the columns, so that blocks that run together share weights
            i, j = (number - before) % height, (number - before) // height
            acc = tw.zeros((tm, tn), tw.float32)
            for k in range(tw.cdiv(x.shape[1], tk)):
                tb = tw.load(w, (g, k, j), (1, tk, tn)).reshape((tk, tn))
                acc = tw.mma(tw.load(rows, (i, k), (tm, tk)), tb, acc)
            tw.store(out, (i, j), acc.astype(y.dtype))
            number += tw.num_blocks(0)
        before += tiles


@tw.tile_kernel
def experts(x, ids, expert, w, y, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """y[r] = x[r] @ w[e] for the rows that `ids` names, tm of one expert after the other; expert[i]: that of tile i."""
    j, i = tw.bid(0), tw.bid(1)
    e, row = tw.load(expert, i, ()), tw.load(ids, (i,), (tm,))[:, None]
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        tx = tw.gather(x, (row, k * tk + tw.arange(tk, dtype=tw.int32)[None, :]))
        acc = tw.mma(tx, tw.load(w, (e, k, j), (1, tk, tn)).reshape((tk, tn)), acc)
    tw.scatter(y, (row, j * tn + tw.arange(tn, dtype=tw.int32)[None, :]), acc.astype(y.dtype))


def rows() -> Iterator[Row | str]:
    for count, (m, n, k) in LISTS:
        yield _lists(count, m, n, k)
    yield _packed()
    yield _experts()


def _lists(count: int, m: int, n: int, k: int) -> Row:
    left, right = ([_random(*shape) for _ in range(count)] for shape in ((m, k), (k, n)))
    out = [_random(m, n) for _ in range(count)]
    want = [a.float() @ b.float() for a, b in zip(left, right, strict=True)]

    def check() -> None:
        for got, expected in zip(out, want, strict=True):
            require("grouped product", near(got, expected, 0.01))
            got.zero_()

    ours = _best(grouped_gemm_list, (left, right, out), check)
    torch = _torch()
    stacked = torch.cat(left)
    contenders = {"ours": ours, **_one(stacked, right[0]), "torch's loop": lambda: [
        torch.matmul(a, b, out=c) for a, b, c in zip(left, right, out, strict=True)]}
    return Row(f"{count} products {m}x{n}x{k} from lists", _timed(contenders), flops=2.0 * count * m * n * k)


def _packed() -> Row:
    torch = _torch()
    x, y = _random(ROWS, WIDTH), _random(ROWS, WIDTH)
    w = torch.randn(GROUPS, WIDTH, WIDTH, device="cuda").bfloat16()
    cuts = sorted(torch.randint(0, ROWS, (GROUPS - 1,)).tolist())
    spans = list(pairwise([0, *cuts, ROWS]))
    starts = torch.tensor([0, *cuts, ROWS], device="cuda", dtype=torch.int32)
    want = torch.cat([x[s:e].float() @ w[g].float() for g, (s, e) in enumerate(spans)])

    def check() -> None:
        require("product of packed rows", near(y, want, 0.01))
        y.zero_()

    ours = _best(ragged, (x, w, starts, y), check)
    contenders = {"ours": ours, **_one(x, w[0]), "torch's loop": lambda: [
        torch.matmul(x[s:e], w[g], out=y[s:e]) for g, (s, e) in enumerate(spans) if e > s]}
    tiles = sum(-(-(e - s) // TILE[0]) for s, e in spans)
    name = f"{GROUPS} groups of packed rows, {tiles} rows of tiles (plain {ROWS // TILE[0]})"
    return Row(name, _timed(contenders), flops=2.0 * ROWS * WIDTH * WIDTH)


def _experts() -> Row:
    """As many rows for each expert, scattered over x and y."""
    torch = _torch()
    x, y, w = _random(ROWS, WIDTH), _random(ROWS, WIDTH), _random(GROUPS, WIDTH, WIDTH)
    of_row = torch.randperm(ROWS, device="cuda") % GROUPS
    ids = torch.argsort(of_row, stable=True).int()
    spans = [torch.nonzero(of_row == e).flatten() for e in range(GROUPS)]
    tm, tn, _ = TILE
    expert = of_row[ids[::tm].long()].int()

    def ours() -> None:
        experts[(WIDTH // tn, ROWS // tm)](x, ids, expert, w, y, *TILE)

    ours()
    for rows_of, weights in zip(spans, w, strict=True):
        require("product of gathered rows", near(y[rows_of], x[rows_of].float() @ weights.float(), 0.01))

    def loop() -> None:
        for rows_of, weights in zip(spans, w, strict=True):
            y[rows_of] = x[rows_of] @ weights

    contenders = {"ours": ours, **_one(x, w[0]), "torch's loop": loop}
    return Row(f"rows gathered for {GROUPS} experts, scattered", _timed(contenders), flops=2.0 * ROWS * WIDTH * WIDTH)


def _best(kernel: Any, args: tuple[Any, ...], check: Callable[[], None]) -> Callable[[], Any]:
    """The fastest of the listed tiles, each of them checked."""
    def choice(tile: tuple[int, int, int]) -> Callable[[], Any]:
        run = lambda: kernel[(places(*tile[:2]),)](*args, *tile)  # noqa: E731
        run()
        check()
        return run

    return fastest({str(tile): choice(tile) for tile in TILES})


def _one(a: Any, b: Any) -> dict[str, Callable[[], Any]]:
    """One product of the same work."""
    c, blocks = _random(a.shape[0], b.shape[1]), _processors()
    return {"one product": lambda: kernels.persistent_matmul[(blocks,)](a, b, c, *TILE, 8, False),
            "cuBLAS": lambda: _torch().matmul(a, b, out=c)}


def _timed(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    graphs = {}
    for name, run in contenders.items():
        run()
        graph = _torch().cuda.CUDAGraph()
        with _torch().cuda.graph(graph):
            run()
            run()
        graphs[name] = graph.replay
    return {name: time / 2 for name, time in alternate(graphs, rounds=9, inner=2).items()}


def _random(*shape: int) -> Any:
    return _torch().randn(*shape, device="cuda").bfloat16()


def _processors() -> int:
    return int(_torch().cuda.get_device_properties(0).multi_processor_count)


def _torch() -> Any:
    import torch

    return torch
