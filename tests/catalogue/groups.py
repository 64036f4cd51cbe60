"""Products and attention whose operands have no fixed address: lists, slices, while loops."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from catalogue import group_kernels as kernels
from catalogue.case import Case
from catalogue.hopper import BF16, F16, F32, exact, made_case, product_case
from catalogue.matmul import operand

SIZES = ((72, 72, 40), (8, 136, 72), (120, 64, 8))
STARTS = (0, 70, 70, 150, 153)
ROWS = 160


def _lists(rng: np.random.Generator) -> tuple[Any, ...]:
    left = [operand(rng, (m, k), BF16) for m, _, k in SIZES]
    right = [operand(rng, (k, n), BF16) for _, n, k in SIZES]
    return left, right, [np.zeros((m, n), F16) for m, n, _ in SIZES]


def list_cases() -> Iterator[Case]:
    def grouped(left: Any, right: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return tuple(exact(a, b) for a, b in zip(left, right, strict=True))

    yield made_case("grouped", kernels.grouped, (2,), lambda rng: (*_lists(rng), 64, 128, 32), (2,), grouped, 0.05)

    def steps(rng: np.random.Generator) -> tuple[Any, ...]:
        left = [operand(rng, (72, 32), F16) for _ in range(5)]
        return left, [operand(rng, (32, 64), F16) for _ in left], np.zeros((72, 64), F32), 64, 64, 32

    def total(left: Any, right: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (np.sum([exact(a, b) for a, b in zip(left, right, strict=True)], axis=0),)

    yield made_case("summed-groups", kernels.summed_groups, (2, 1), steps, (2,), total, 0.01)


def slice_cases() -> Iterator[Case]:
    def rows(rng: np.random.Generator) -> tuple[Any, ...]:
        x, w = operand(rng, (ROWS, 72), BF16), operand(rng, (len(STARTS) - 1, 72, 136), BF16)
        return x, w, np.array(STARTS, np.int32), np.full((ROWS, 136), 7, F16), 64, 128, 32

    def ragged(x: Any, w: Any, starts: Any, y: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        want = y.astype(F32)
        for g, (s, e) in enumerate(pairwise(STARTS)):
            want[s:e] = exact(x[s:e], w[g])
        return (want,)

    yield made_case("ragged", kernels.ragged, (2, 4), rows, (3,), ragged, 0.05)

    def entries(rng: np.random.Generator) -> tuple[Any, ...]:
        bounds = np.array([[3, 40], [0, 72], [5, 6]], np.int32)
        xs = [operand(rng, (72, 40), F16), operand(rng, (72, 48), F16)[:, :40], operand(rng, (88, 40), F16)]
        return xs, operand(rng, (40, 64), F16), bounds, np.zeros((3, 64, 64), F32), 64, 64, 32

    def parts(xs: Any, w: Any, bounds: Any, y: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        want = np.zeros_like(y)
        for g, (s, e) in enumerate(bounds):
            part = exact(xs[g][s + 1:e], w)[:64]
            want[g, :len(part)] = part
        return (want,)

    yield made_case("parts-of-entries", kernels.parts_of_entries, (1, 3), entries, (3,), parts, 0.01)


def attention_cases() -> Iterator[Case]:
    def packed(rng: np.random.Generator) -> tuple[Any, ...]:
        q, k, v = (operand(rng, (ROWS, 64), F16) for _ in range(3))
        return q, k, v, np.array(STARTS, np.int32), np.full((ROWS, 64), 7, F16), 64, 64, 64

    def reference(q: Any, k: Any, v: Any, starts: Any, out: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        want = out.astype(F32)
        for s, e in pairwise(STARTS):
            scores = exact(q[s:e], k[s:e].T)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
            want[s:e] = weights / weights.sum(axis=1, keepdims=True) @ v[s:e].astype(F32)
        return (want,)

    yield made_case("packed-attention", kernels.packed_attention, (2, 4), packed, (4,), reference, 0.02)


def while_cases() -> Iterator[Case]:
    yield product_case("counted-down", kernels.counted_down)


def page_cases() -> Iterator[Case]:
    order = (5, 0, 3, 3, 6)

    def paged(rng: np.random.Generator) -> tuple[Any, ...]:
        a, pages = operand(rng, (72, 32 * len(order)), F16), operand(rng, (7, 32, 72), F16)
        return a, pages, np.array([len(order), *order, 99], np.int32), np.zeros((72, 72), F32), 64, 64, 32

    def product(a: Any, pages: Any, *rest: Any) -> tuple[np.ndarray, ...]:
        return (exact(a, np.concatenate([pages[p] for p in order])),)

    yield made_case("paged", kernels.paged, (2, 2), paged, (3,), product, 0.01)


def cases() -> list[Case]:
    return [*list_cases(), *slice_cases(), *attention_cases(), *while_cases(), *page_cases()]
