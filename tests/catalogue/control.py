"""Control flow: loops with runtime bounds, divergence, break, continue, early return, helpers, closures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.case import Case
from catalogue.memory import one_output

import tilewright as tw


@tw.tile_kernel
def collatz(start, out):
    i = tw.bid(0)
    n = tw.load(start, (i,), (1,)).item()
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    tw.store(out, (i,), steps)


@tw.tile_kernel
def triangle(out):
    i = tw.bid(0)
    total = 0
    for k in range(i + 1):
        total += k
    tw.store(out, (i,), total)


@tw.tile_kernel
def stepped(lower, upper, step, out):
    i = tw.bid(0)
    total = 0
    for k in range(tw.gather(lower, i), tw.gather(upper, i), tw.gather(step, i)):
        total = total * 3 + k
    tw.store(out, (i,), total)


@tw.tile_kernel
def break_continue(x, out, n: int, tile: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((tile,), tw.int32)
    seen = 0
    for k in range(n):
        v = tw.gather(x, i * n + k)
        if v < 0:
            continue
        if v > 90:
            break
        acc = acc + v
        seen += 1
    tw.store(out, (i,), acc * 100 + seen)


@tw.tile_kernel
def early_return(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    if i % 3 == 1:
        return
    t = tw.load(x, (i,), (tile,))
    if i % 3 == 2:
        tw.store(out, (i,), -t)
        return
    tw.store(out, (i,), t)


@tw.tile_kernel
def ternary_and_or(x, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i,), (tile,), padding_mode=tw.PaddingMode.ZERO)
    s = tw.sum(t)
    sign = 1 if (s > 0 and i != 2) or i == 3 else -1
    tw.store(out, (i,), t * sign)


def clamp(v, low, high=50):
    if tw.sum(v) < low:
        return tw.full(v.shape, low, v.dtype)
    return tw.minimum(v, high)


@tw.tile_kernel
def helpers(x, out, tile: tw.Constant[int]):
    def scaled(v, *factors, shift=0):
        for_all = v
        for_all = for_all * factors[0] + factors[1]
        return for_all + shift

    i = tw.bid(0)
    t = clamp(tw.load(x, (i,), (tile,), padding_mode=tw.PaddingMode.ZERO), -20)
    twice = lambda v: v + v  # noqa: E731
    tw.store(out, (i,), twice(scaled(t, 2, 3, shift=i)))


@tw.tile_kernel
def swap_tuple(x, y, out, n: int, tile: tw.Constant[int]):
    i = tw.bid(0)
    pair = tw.load(x, (i,), (tile,)), tw.load(y, (i,), (tile,))
    for _ in range(n):
        a, b = pair
        pair = (b, a + b)
    tw.store(out, (i,), pair[0] - pair[-1])


@tw.tile_kernel
def nested(out, n: int):
    i = tw.bid(0)
    count = 0
    k = 0
    while True:
        k += 1
        if k > n:
            break
        j = 0
        while j < k:
            j += 1
            if (j + k + i) % 4 == 0:
                continue
            if j > 6:
                break
            count += j
    tw.store(out, (i,), count)


def collatz_steps(start: np.ndarray, out: np.ndarray) -> np.ndarray:
    def length(n: int) -> int:
        steps = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    return np.array([length(int(n)) for n in start], out.dtype)


def stepped_reference(lower: np.ndarray, upper: np.ndarray, step: np.ndarray, out: np.ndarray) -> np.ndarray:
    def run(a: int, b: int, s: int) -> int:
        total = 0
        for k in range(a, b, s):
            total = total * 3 + k
        return (total + 2**31) % 2**32 - 2**31

    return np.array([run(*map(int, t)) for t in zip(lower, upper, step, strict=True)], np.int32)


def break_reference(x: np.ndarray, out: np.ndarray, n: int, tile: int) -> np.ndarray:
    rows = []
    for row in x.reshape(-1, n):
        acc = seen = 0
        for v in map(int, row):
            if v < 0:
                continue
            if v > 90:
                break
            acc, seen = acc + v, seen + 1
        rows.append(acc * 100 + seen)
    return np.repeat(np.array(rows, np.int32), tile)


def by_tile(f: Any) -> Any:
    """A reference that maps (block, tile of x) to the tile of out."""

    def reference(x: np.ndarray, out: np.ndarray, tile: int) -> np.ndarray:
        want = out.copy()
        for i in range(-(-len(x) // tile)):
            got = f(i, x[i * tile : (i + 1) * tile])
            if got is not None:
                want[i * tile : (i + 1) * tile] = got
        return want

    return reference


def nested_reference(out: np.ndarray, n: int) -> np.ndarray:
    counts = []
    for i in range(len(out)):
        count = 0
        for k in range(1, n + 1):
            for j in range(1, k + 1):
                if (j + k + i) % 4 == 0:
                    continue
                if j > 6:
                    break
                count += j
        counts.append(count)
    return np.array(counts, np.int32)


def swap_reference(x: np.ndarray, y: np.ndarray, out: np.ndarray, n: int, tile: int) -> np.ndarray:
    for _ in range(n):
        x, y = y, x + y
    return x - y


def ints(rng: np.random.Generator, n: int, low: int = -60, high: int = 100) -> np.ndarray:
    return rng.integers(low, high, n).astype(np.int32)


def cases() -> Iterator[Case]:
    yield one_output(
        "collatz",
        collatz,
        (40,),
        lambda rng: (np.arange(1, 41, dtype=np.int32), np.zeros(40, np.int32)),
        1,
        collatz_steps,
    )
    yield one_output(
        "triangle",
        triangle,
        (33,),
        lambda rng: (np.zeros(33, np.int32),),
        0,
        lambda out: np.arange(33, dtype=np.int32) * np.arange(1, 34, dtype=np.int32) // 2,
    )
    yield one_output(
        "stepped",
        stepped,
        (30,),
        lambda rng: (ints(rng, 30, -9, 9), ints(rng, 30, -9, 30), ints(rng, 30, 1, 6), np.zeros(30, np.int32)),
        3,
        stepped_reference,
    )
    yield one_output(
        "break_continue",
        break_continue,
        (9,),
        lambda rng: (ints(rng, 90), np.zeros(9 * 8, np.int32), 10, 8),
        1,
        break_reference,
    )
    yield one_output(
        "early_return",
        early_return,
        (5,),
        lambda rng: (ints(rng, 70), np.zeros(70, np.int32), 16),
        1,
        by_tile(lambda i, t: None if i % 3 == 1 else -t if i % 3 == 2 else t),
    )
    yield one_output(
        "ternary_and_or",
        ternary_and_or,
        (5,),
        lambda rng: (ints(rng, 70, -90), np.zeros(70, np.int32), 16),
        1,
        by_tile(lambda i, t: t * (1 if (t.sum() > 0 and i != 2) or i == 3 else -1)),
    )
    yield one_output(
        "helpers",
        helpers,
        (5,),
        lambda rng: (ints(rng, 70, -90), np.zeros(70, np.int32), 16),
        1,
        by_tile(lambda i, t: 2 * ((np.full_like(t, -20) if t.sum() < -20 else np.minimum(t, 50)) * 2 + 3 + i)),
    )
    yield one_output(
        "swap_tuple",
        swap_tuple,
        (5,),
        lambda rng: (ints(rng, 70), ints(rng, 70), np.zeros(70, np.int32), 7, 16),
        2,
        swap_reference,
    )
    yield one_output("nested", nested, (6,), lambda rng: (np.zeros(6, np.int32), 9), 0, nested_reference)
