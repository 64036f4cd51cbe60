"""Kernels that print, each with an argument and a number of blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import tilewright as ct


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = "why"


WIDTH = 7


@ct.tile_kernel
def scalars(x):
    i = ct.bid(0)
    v = ct.gather(x, i)
    print("block", i, v, v * 100, sep=" | ")
    print()
    print("50% done", end="!\n")
    print(1, 2.5, True, None, "text", ct.float32(3), ct.int8(-1), sep=",")


@ct.tile_kernel
def tiles(x):
    t = ct.load(x, (0, 0), (2, 4))
    print(t)
    print("a", t > 3, ct.sum(t, axis=1), ct.sum(t), t.astype(ct.int32), sep="\n")
    print(t.astype(ct.float16), t.astype(ct.float8_e5m2), ct.astype(t, ct.bfloat16) / 3)
    print(ct.reshape(t, (2, 2, 2)), ct.reshape(ct.extract(t, (0, 0), (1, 1)), (1,)))


@ct.tile_kernel
def integers(x):
    t = ct.load(x, 0, 4)
    for k in ct.static_iter((ct.int8, ct.uint8, ct.int16, ct.uint16, ct.int32, ct.uint32, ct.int64, ct.uint64)):
        print(ct.astype(t, k), f"{ct.astype(t, k):x} {ct.astype(t, k):d}")


@ct.tile_kernel
def objects(x):
    i = ct.bid(0)
    print((), (1,), (i,), (1, "it's", (i, 2.0), None), Point(i), Point((i, 1), "z"))
    print(str(i) + repr("a") + str((i, "b")) + repr(i), x, f"{(i, 'c')}")


@ct.tile_kernel
def formats(x):
    t = ct.load(x, 0, 2)
    n = ct.astype(t, ct.int32)
    print(f"{t:8.2f}|{t:<8.1e}|{t:+}|{t: .3g}|{t:08.3f}|{t:A}|{t:#.0f}|{t:>9.1f}")
    print(f"{n:4}|{n:<4}|{n:+d}|{n:04x}|{n:#X}|{n:o}|{n:i}|{n:u}|{n:.3}")
    print(f"{WIDTH:3d}|{0.5:.3f}|{'a':>3}|{n:{WIDTH}}|{{}}")


@ct.tile_kernel
def passed_on(x):
    def twice(text):
        return text + text

    n = ct.sum(ct.load(x, 0, 2))
    text = f"<{n}>"
    print(twice(text), f"nested {twice(text)} and {text}")
    for i in range(2):
        if n > i:
            print("turn", i)
        else:
            print("never")


@ct.tile_kernel
def printf(x):
    t = ct.load(x, 0, 4)
    n = ct.astype(t, ct.int32)
    ct.printf("%d%% %5.1f\n", ct.bid(0), t)
    ct.printf("%u %x %hhd %hu %lld %lf %g\n", n - 2, n - 2, n * 100, n * 40000, ct.astype(n, ct.int64), t, 1.5)


@ct.tile_kernel
def large(x):
    t = ct.load(x, (0, 0), (16, 32))
    print(t, end="")
    print("one", ct.bid(0))


@ct.tile_kernel
def in_loops(x):
    for i in range(3):
        t = ct.load(x, i, 4)
        print(i, t)
        ct.store(x, i, t + 1)
    print(ct.load(x, 1, 4) * 2)


CASES: dict[str, tuple[Any, Callable[[], Any], int]] = {
    "scalars": (scalars, lambda: np.array([1.5, -0.25], np.float32), 2),
    "tiles": (tiles, lambda: np.arange(8, dtype=np.float32).reshape(2, 4), 1),
    "integers": (integers, lambda: np.array([-2, -1, 0, 127], np.int32), 1),
    "objects": (objects, lambda: np.zeros(4, np.int32), 2),
    "formats": (formats, lambda: np.array([3.75, -120.0], np.float32), 1),
    "passed_on": (passed_on, lambda: np.array([0.5, 0.25], np.float64), 1),
    "printf": (printf, lambda: np.array([1, 2, 3, np.nan], np.float32)[[0, 1, 2, 2]], 1),
    "large": (large, lambda: np.arange(512, dtype=np.float32).reshape(16, 32), 2),
    "in_loops": (in_loops, lambda: np.arange(12, dtype=np.int64), 1),
}
