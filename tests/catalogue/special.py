"""Inverse functions, the error function and their kind, all in one kernel; counts of bits; random numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.case import Case, ulps
from catalogue.cells import random
from catalogue.cells.special import COUNTS, FUNCTIONS
from catalogue.elementwise import numbers

import tilewright as tw

TILE, N = 64, 131
NAMES = tuple(FUNCTIONS)
CALLS = tuple(getattr(tw, name) for name in NAMES)


@tw.tile_kernel
def functions(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    for k in tw.static_iter(range(len(NAMES))):
        tw.store(out, (k, i), CALLS[k](tw.load(x, (k, i), (1, tile))))


@tw.tile_kernel
def counts(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, i, tile)
    tw.store(out, (0, i), tw.popcount(t)[None])
    tw.store(out, (1, i), tw.clz(t)[None])
    tw.store(out, (2, i), tw.ffs(t)[None])


def function_case(dtype: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        rows = []
        for _, domain, _ in FUNCTIONS.values():
            with np.errstate(all="ignore"):
                rows.append(domain(numbers(rng, N, dtype).astype(np.float64)).astype(dtype))
        return np.stack(rows), np.zeros((len(NAMES), N), dtype), TILE

    def reference(x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        with np.errstate(all="ignore"):
            return (np.stack([f(row.astype(np.float64)) for (f, _, _), row in zip(FUNCTIONS.values(), x, strict=True)])
                    .astype(dtype),)

    return Case(f"special-{np.dtype(dtype).name}", functions, (-(-N // TILE),), make, (1,), reference, ulps(4, dtype))


def count_case(dtype: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return numbers(rng, N, dtype), np.zeros((3, N), np.int32), TILE

    def reference(x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        bits = 8 * x.dtype.itemsize
        return (np.array([[f(v, bits) for v in x.tolist()] for f in COUNTS.values()], np.int32),)

    return Case(f"counts-{np.dtype(dtype).name}", counts, (-(-N // TILE),), make, (1,), reference)


@tw.tile_kernel
def dropped(x, out, seed: tw.ScalarInt64, rate: float, tile: tw.Constant[int]):
    i = tw.bid(0)
    element = i * tile + tw.arange(tile, dtype=tw.int32)
    noise = tw.load(x, i, tile) + tw.random.normal(seed, element)
    tw.store(out, i, tw.where(tw.random.uniform(seed, element, 4) >= rate, noise, 0.0))


def dropout_case() -> Case:
    """Noise and dropout of one seed."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return np.zeros(N, np.float32), np.zeros(N, np.float32), random.SEED, 0.25, TILE

    def reference(x: np.ndarray, out: np.ndarray, seed: int, rate: float, tile: int) -> tuple[np.ndarray, ...]:
        element = np.arange(N)
        return (np.where(random.unit(random.words(element, 4)) >= rate, random.normal(element, 0), np.float32(0)),)

    return Case("dropout-by-philox", dropped, (-(-N // TILE),), make, (1,), reference, random.near)


@tw.tile_kernel
def routed(x, out, chosen, experts: tw.Constant[int], k: tw.Constant[int]):
    row = tw.load(x, (tw.bid(0), 0), (1, experts), padding_mode=tw.PaddingMode.NEG_INF)
    values, places = tw.topk(row, k)
    weights = tw.exp(values - tw.max(values, 1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), weights / tw.sum(weights, 1, keepdims=True))
    tw.store(chosen, (tw.bid(0), 0), places)


def routing_case() -> Case:
    """The best 4 of 100 experts for each of 5 tokens, and the softmax of their scores."""

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return rng.standard_normal((5, 100)).astype(np.float32), np.zeros((5, 4), np.float32), np.zeros(
            (5, 4), np.int32), 128, 4

    def reference(x: np.ndarray, out: np.ndarray, chosen: np.ndarray, experts: int, k: int) -> tuple[np.ndarray, ...]:
        best = np.argsort(-x, 1, kind="stable")[:, :k]
        weights = np.exp(np.take_along_axis(x, best, 1).astype(np.float64))
        return (weights / weights.sum(1, keepdims=True)).astype(np.float32), best.astype(np.int32)

    return Case("topk-of-experts", routed, (5,), make, (1, 2), reference, ulps(8, np.float32))


def cases() -> Iterator[Case]:
    yield routing_case()
    yield dropout_case()
    yield function_case(np.float32)
    yield function_case(np.float64)
    yield count_case(np.int8)
    yield count_case(np.uint64)
