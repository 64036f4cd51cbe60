"""Times of launches in the interpreter, unchecked and checked, on a few megabytes: `python -m benchmarks.checked`.

On one core, with one thread of BLAS. The two alternate; a time is the least of several runs, in seconds of this
process. Loops of machine code are compiled before: a checked program is another one than the unchecked.

    python -m benchmarks.checked softmax matmul     # cases whose names contain one of these words
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import tilewright as tw
from benchmarks import interp_cases
from benchmarks.interp import alone
from tilewright.launching.checking import checking
from tilewright.launching.launcher import check_launches

ZERO = tw.PaddingMode.ZERO
ROUNDS = 14


@tw.tile_kernel
def add(x, y, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 1024) + tw.load(y, i, 1024))


@tw.tile_kernel
def chain(x, out):
    i = tw.bid(0)
    t = tw.load(x, i, 1024)
    for _ in range(8):
        t = t * 0.5 + tw.exp(-t * t)
    tw.store(out, i, t)


@tw.tile_kernel
def softmax(x, out):
    t = tw.load(x, (tw.bid(0), 0), (1, 1024), padding_mode=tw.PaddingMode.NEG_INF)
    e = tw.exp(t - tw.max(t, axis=1, keepdims=True))
    tw.store(out, (tw.bid(0), 0), e / tw.sum(e, axis=1, keepdims=True))


@tw.tile_kernel
def product(a, b, c):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((64, 64), tw.float32)
    for k in range(tw.num_tiles(a, 1, (64, 32))):
        left = tw.load(a, (i, k), (64, 32), padding_mode=ZERO)
        acc = tw.mma(left, tw.load(b, (k, j), (32, 64), padding_mode=ZERO), acc)
    tw.store(c, (i, j), acc)


@tw.tile_kernel
def embed(rows, table, out):
    i = tw.bid(0)
    r = tw.load(rows, i, 16)
    t = tw.gather(table, (r[:, None], tw.arange(256, dtype=tw.int32)[None, :]))
    tw.store(out, (i, 0), t)


@tw.tile_kernel
def stencil(x, out):
    i = tw.bid(0)
    at = i * 1024 + tw.arange(1024, dtype=tw.int32)
    t = tw.gather(x, at - 1) + tw.gather(x, at) * 2.0 + tw.gather(x, at + 1)
    tw.scatter(out, at, t)


@tw.tile_kernel
def counts(x, out):
    tw.atomic_add(out, tw.load(x, tw.bid(0), 1024), 1)


@tw.tile_kernel
def in_place(x):
    i = tw.bid(0)
    tw.store(x, i, tw.load(x, i, 1024) * 0.5)


@tw.tile_kernel
def transpose(x, out):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (64, 64))))


@tw.tile_kernel
def last_block(x, parts, done, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 1024)))
    if tw.atomic_add(done, 0, 1) == n - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 1024)))


@tw.tile_kernel
def walk(out):
    n, steps = tw.bid(0) + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    tw.store(out, tw.bid(0), steps)


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def cases() -> Iterator[tuple[str, Any, tuple[int, ...], tuple[Any, ...]]]:
    """Name, kernel, grid and arguments; sizes that the tiles divide, and such that they do not."""
    for n in (1 << 20, (1 << 20) - 100):
        yield f"add {n}", add, (1024,), (floats(n), floats(n), floats(n))
        yield f"chain of functions {n}", chain, (1024,), (floats(n), floats(n))
        yield f"stencil by gathers {n}", stencil, (1024,), (floats(n), floats(n))
        yield f"in place {n}", in_place, (1024,), (floats(n),)
    for n in (1024, 1000):
        yield f"softmax of {n} columns", softmax, (1024,), (floats(1024, n), floats(1024, n))
        yield f"transpose {n}", transpose, (16, 16), (floats(n, n), floats(n, n))
    for n in (512, 500):
        yield f"matmul {n}", product, (8, 8), (floats(n, n), floats(n, n), floats(n, n))
    rows = np.random.default_rng(1).integers(0, 4096, 8192).astype(np.int32)
    yield "embedding", embed, (512,), (rows, floats(4096, 256), floats(8192, 256))
    yield "counts", counts, (256,), (rows.repeat(32), np.zeros(4096, np.int32))
    done = np.zeros(1, np.int32)
    yield "sum by the last block", last_block, (1024,), (floats(1 << 20), floats(1024), done, floats(1))
    yield "Collatz", walk, (4096,), (np.zeros(4096, np.int32),)


def milliseconds(runs: Sequence[Callable[[], Any]]) -> list[float]:
    """The least time of each; they alternate."""
    best = [float("inf")] * len(runs)
    for turn in range(ROUNDS):
        for k, run in enumerate(runs):
            start = time.process_time()
            run()
            if turn >= 2:  # the first ones compile
                best[k] = min(best[k], (time.process_time() - start) * 1e3)
    return best


Pair = tuple[str, Callable[[], Any], Callable[[], Any], float]


def pairs(wanted: Sequence[str]) -> Iterator[Pair]:
    """Name, the unchecked and the checked launch, and milliseconds in each that are of neither."""
    def chosen(name: str) -> bool:
        return not wanted or any(word in name for word in wanted)

    for name, kernel, grid, args in cases():
        if chosen(name):
            fresh = [a.copy() for a in args]
            [copies] = milliseconds([partial(_renew, args, fresh)])
            yield name, *(partial(_again, kernel, grid, args, fresh, check) for check in (False, True)), copies
    for case in interp_cases.cases():
        if chosen(case.name):
            yield case.name, case.ours, partial(_checked, case.ours), 0.0


def _again(kernel: Any, grid: Any, args: Any, fresh: Any, check: bool) -> None:
    _renew(args, fresh)
    kernel.interpret(grid, *args, check=check, on_report="collect")


def _renew(args: Sequence[Any], fresh: Sequence[Any]) -> None:
    for a, f in zip(args, fresh, strict=True):
        a[...] = f


def _checked(run: Callable[[], Any]) -> None:
    check_launches(checking(True, "collect"))
    try:
        run()
    finally:
        check_launches(None)


def main(wanted: Sequence[str]) -> None:
    alone("benchmarks.checked", wanted)
    ratios = []
    print(f"{'':<40}{'unchecked':>13} {'checked':>13} {'ratio':>8}")
    for name, plainly, checked, copies in pairs(wanted):
        plain, looked = (t - copies for t in milliseconds([plainly, checked]))
        ratios.append(looked / plain)
        print(f"{name:<40}{plain:10.3f} ms {looked:10.3f} ms {looked / plain:8.2f}", flush=True)
    print(f"{len(ratios)} cases: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main(sys.argv[1:])
