"""Copies, gathers, scatters, atomic operations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks.interp_cases.case import Case, normal, whole

N, TILE = 1 << 20, 1024


@tw.tile_kernel
def copy(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, TILE))


@tw.tile_kernel
def transpose(x, out):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (64, 64))))


@tw.tile_kernel
def embed(rows, table, out, tokens: tw.Constant[int], width: tw.Constant[int]):
    i = tw.bid(0)
    r = tw.load(rows, i, tokens)
    tw.store(out, (i, 0), tw.gather(table, (r[:, None], tw.arange(width, dtype=tw.int32)[None, :])))


@tw.tile_kernel
def permute(x, at, out):
    i = tw.bid(0)
    tw.store(out, i, tw.gather(x, tw.load(at, i, TILE)))


@tw.tile_kernel
def spread(x, at, out):
    i = tw.bid(0)
    tw.scatter(out, tw.load(at, i, TILE), tw.load(x, i, TILE))


@tw.tile_kernel
def histogram(x, out):
    tw.atomic_add(out, tw.load(x, tw.bid(0), TILE), 1)


@tw.tile_kernel
def take_places(x, counts, out):
    """The old value of each counter: the place of an element among its equals."""
    i = tw.bid(0)
    tw.store(out, i, tw.atomic_add(counts, tw.load(x, i, TILE), 1))


@tw.tile_kernel
def tickets(owner, out):
    """Each place is counted once: all old values are asked for, and none is asked for twice."""
    i = tw.bid(0)
    at = i * TILE + tw.arange(TILE, dtype=tw.int32)
    tw.store(out, i, tw.atomic_add(owner, at, 1))


def places_plain(x: Any) -> Any:
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.flatnonzero(first)
    out = np.empty(len(x), np.int32)
    out[order] = np.arange(len(x)) - np.repeat(starts, np.diff(np.append(starts, len(x))))
    return out


def _embedding(name: str, rows: int, table_rows: int, width: int, tokens: int) -> Case:
    at, table = whole(table_rows, rows), normal(table_rows, width)
    out = np.zeros((rows, width), np.float32)
    return Case(f"embedding, {name}", lambda: embed[rows // tokens](at, table, out, tokens, width), out,
                lambda: table[at], 0.0)


def _moved(name: str, kernel: Any, plain: Callable[[Any, Any], Any]) -> Case:
    x, at = normal(N), np.random.default_rng(3).permutation(N).astype(np.int32)
    out = np.zeros_like(x)
    return Case(name, lambda: kernel[N // TILE](x, at, out), out, lambda: plain(x, at), 0.0)


def _scattered(x: Any, at: Any) -> Any:
    out = np.empty_like(x)
    out[at] = x
    return out


def _copy() -> Case:
    x = normal(N)
    out, other = np.zeros_like(x), np.zeros_like(x)

    def plain() -> Any:
        np.copyto(other, x)
        return other

    return Case("copy f32", lambda: copy[N // TILE](x, out), out, plain, 0.0)


def _transpose() -> Case:
    x = normal(1024, 1024)
    out = np.zeros_like(x)
    return Case("transpose f32", lambda: transpose[16, 16](x, out), out, lambda: np.ascontiguousarray(x.T), 0.0)


def _histogram() -> Case:
    x, out = whole(256, N), np.zeros(256, np.int32)

    def ours() -> None:
        out[...] = 0
        histogram[N // TILE](x, out)

    def plain() -> Any:
        counts = np.zeros(256, np.int32)
        np.add.at(counts, x, 1)
        return counts

    return Case("histogram by atomics", ours, out, plain, 0.0)


def _places() -> Case:
    x, counts = whole(1 << 15, N // 4), np.zeros(1 << 15, np.int32)
    out = np.zeros(N // 4, np.int32)

    def ours() -> None:
        counts[...] = 0
        take_places[N // 4 // TILE](x, counts, out)

    return Case("atomics with old values", ours, out, lambda: places_plain(x), 0.0)


def _tickets() -> Case:
    owner, other = np.zeros(N, np.int32), np.zeros(N, np.int32)
    out = np.zeros(N, np.int32)

    def ours() -> None:
        owner[...] = 7
        tickets[N // TILE](owner, out)

    def plain() -> Any:
        other[...] = 7
        old = other.copy()
        np.add(other, 1, out=other)
        return old

    return Case("atomics with old values, distinct", ours, out, plain, 0.0)


CASES: tuple[Callable[[], Case], ...] = (
    _copy, _transpose,
    partial(_embedding, "rows of 256", 8192, 4096, 256, 16),
    partial(_embedding, "rows of 64, a token a block", 4096, 4096, 64, 1),
    partial(_moved, "gather, random", permute, lambda x, at: x[at]),
    partial(_moved, "scatter, random", spread, _scattered),
    _histogram, _places, _tickets,
)
