"""Decode attention of grouped query heads: one new token for each sequence reads all of its keys and values.

Blocks share the keys of a key head (split-KV), and a second kernel combines their parts. The keys and values lie in one
piece for each head, or in pages that a table lists for each sequence. The rate is over the bytes of K and V. The GPU
begins when the host has queued the launches, two for each run: a busy host took as long for them as the GPU.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import tilewright as tw
from benchmarks._check import require
from benchmarks._timing import Row, alternate, copier, fastest

LOG2_E = 1.4426950408889634
ZERO = tw.PaddingMode.ZERO
PAGE = 64
# (batch, query heads, key heads, tokens, d)
WORK = ((8, 32, 8, 8192, 128), (8, 64, 8, 8192, 128))
TILES, PARTS = (64, 128), (2, 4, 8)


@tw.tile_kernel
def decode(q, k, v, lengths, parts, tops, totals, scale: float, rows: tw.Constant[int], tn: tw.Constant[int],
           d: tw.Constant[int]):
    """q: (batch, key heads, grouped heads, d); k, v: (batch, key heads, tokens, d). Grid: (parts, key heads, batch)."""
    part, head, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    query = tw.load(q, (batch, head, 0, 0), (1, 1, rows, d), padding_mode=ZERO).reshape((rows, d))
    tokens = tw.load(lengths, batch, ())
    tiles = tw.cdiv(tw.cdiv(tokens, tn), tw.num_blocks(0))
    top, total, acc = start(rows, d)
    for j in range(part * tiles, min((part + 1) * tiles, tw.cdiv(tokens, tn))):
        key = tw.load(k, (batch, head, j, 0), (1, 1, tn, d), padding_mode=ZERO).reshape((tn, d))
        value = tw.load(v, (batch, head, j, 0), (1, 1, tn, d), padding_mode=ZERO).reshape((tn, d))
        top, total, acc = attend(query, key, value, tokens - j * tn, scale, top, total, acc)
    store_part(parts, tops, totals, part, head, batch, scale, top, total, acc)


@tw.tile_kernel
def paged_decode(q, k, v, table, lengths, parts, tops, totals, scale: float, rows: tw.Constant[int],
                 tn: tw.Constant[int], d: tw.Constant[int]):
    """k, v: (pages, tokens of a page, key heads, d); table: (batch, pages of a sequence)."""
    part, head, batch = tw.bid(0), tw.bid(1), tw.bid(2)
    query = tw.load(q, (batch, head, 0, 0), (1, 1, rows, d), padding_mode=ZERO).reshape((rows, d))
    tokens = tw.load(lengths, batch, ())
    tiles = tw.cdiv(tw.cdiv(tokens, tn), tw.num_blocks(0))
    top, total, acc = start(rows, d)
    for j in range(part * tiles, min((part + 1) * tiles, tw.cdiv(tokens, tn))):
        page = tw.load(table, (batch, j), ())
        key = tw.load(k, (page, 0, head, 0), (1, tn, 1, d), padding_mode=ZERO).reshape((tn, d))
        value = tw.load(v, (page, 0, head, 0), (1, tn, 1, d), padding_mode=ZERO).reshape((tn, d))
        top, total, acc = attend(query, key, value, tokens - j * tn, scale, top, total, acc)
    store_part(parts, tops, totals, part, head, batch, scale, top, total, acc)


def start(rows, d):
    return tw.full((rows, 1), -math.inf, tw.float32), tw.zeros((rows, 1), tw.float32), tw.zeros((rows, d), tw.float32)


def attend(query, key, value, left, scale, top, total, acc):
    """One step of the online softmax over the first `left` keys of a tile."""
    rows, tn = query.shape[0], key.shape[0]
    score = tw.mma(query, key.transpose(), tw.zeros((rows, tn), tw.float32))
    score = tw.where(tw.arange(tn, dtype=tw.int32)[None, :] < left, score, -math.inf)
    factor = scale * LOG2_E  # above zero, so that the greatest score stays the greatest
    higher = tw.maximum(top, tw.max(score, axis=1, keepdims=True))
    weight = tw.exp2(score * factor - higher * factor, flush_to_zero=True)
    shrink = tw.exp2((top - higher) * factor, flush_to_zero=True)
    total = total * shrink + tw.sum(weight, axis=1, keepdims=True)
    return higher, total, tw.mma(weight.astype(value.dtype), value, acc * shrink)


def store_part(parts, tops, totals, part, head, batch, scale, top, total, acc):
    """The part's weighted sum of values, and of what it is relative to: its greatest score and its sum of weights."""
    rows, d = acc.shape
    tw.store(parts, (batch, head, part, 0, 0), acc.reshape((1, 1, 1, rows, d)))
    tw.store(tops, (batch, head, part, 0), (top * (scale * LOG2_E)).reshape((1, 1, 1, rows)))
    tw.store(totals, (batch, head, part, 0), total.reshape((1, 1, 1, rows)))


@tw.tile_kernel
def combine(parts, tops, totals, out, rows: tw.Constant[int], count: tw.Constant[int], d: tw.Constant[int]):
    """The sum over parts, as if they had all been relative to the same score. Grid: (key heads, batch)."""
    head, batch = tw.bid(0), tw.bid(1)
    at, shape = (batch, head, 0, 0), (1, 1, count, rows)
    top = tw.load(tops, at, shape, padding_mode=tw.PaddingMode.NEG_INF).reshape((count, rows))
    weight = tw.exp2(top - tw.max(top, axis=0, keepdims=True))
    total = tw.sum(tw.load(totals, at, shape, padding_mode=ZERO).reshape((count, rows)) * weight, axis=0)
    acc = tw.load(parts, (*at, 0), (*shape, d), padding_mode=ZERO).reshape((count, rows, d))
    acc = tw.sum(acc * weight[:, :, None], axis=0) * (1.0 / total)[:, None]
    tw.store(out, at, acc.astype(out.dtype).reshape((1, 1, rows, d)))


def rows() -> Iterator[Row]:
    import torch

    for batch, heads, key_heads, tokens, d in WORK:
        q = torch.randn(batch, key_heads, heads // key_heads, d, device="cuda", dtype=torch.bfloat16)
        k, v = (torch.randn(batch, key_heads, tokens, d, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        lengths = torch.full((batch,), tokens, device="cuda", dtype=torch.int32)
        want = torch.softmax(q.float() @ k.float().mT * d**-0.5, dim=-1) @ v.float()
        table = torch.randperm(batch * tokens // PAGE, device="cuda").to(torch.int32).view(batch, -1)
        both = {"decode": (decode, (k, v), TILES),
                "paged decode": (paged_decode, (_paged(k, table), _paged(v, table), table), (PAGE,))}
        for what, (kernel, given, tiles) in both.items():
            choices = {f"{tn} keys, {count} parts": _checked(kernel, q, (*given, lengths), want, tn, count)
                       for tn in tiles for count in PARTS}
            times = alternate({"ours": fastest(choices), "copy": copier(2 * k.nbytes)}, queued=True)
            yield Row(f"{what} {batch}x{heads}/{key_heads}x{tokens}x{d}", times, bytes=2 * k.nbytes)


def _paged(x: Any, table: Any) -> Any:
    """The tokens of each sequence in the pages that the table lists."""
    import torch

    batch, heads, tokens, d = x.shape
    out = torch.empty(batch * tokens // PAGE, PAGE, heads, d, device="cuda", dtype=x.dtype)
    out[table.flatten().long()] = x.view(batch, heads, -1, PAGE, d).permute(0, 2, 3, 1, 4).reshape(out.shape)
    return out


def _checked(kernel: Any, q: Any, given: tuple[Any, ...], want: Any, tn: int, count: int) -> Callable[[], Any]:
    """Both kernels, after their result has been compared."""
    import torch

    batch, key_heads, group, d = q.shape
    width = 1 << (group - 1).bit_length()
    parts = torch.empty(batch, key_heads, count, group, d, device="cuda")
    tops, totals = torch.empty(2, batch, key_heads, count, group, device="cuda")
    out = torch.full_like(q, math.nan)

    def run() -> None:
        kernel[count, key_heads, batch](q, *given, parts, tops, totals, d**-0.5, width, tn, d)
        combine[key_heads, batch](parts, tops, totals, out, width, count, d)

    run()
    found = (out.float() - want).abs().max().item()
    require(f"{kernel.__name__}, {tn} keys, {count} parts: error {found}", found < 1e-2)
    return run
