"""Cells of lists, dicts, parts of tiles, methods of tiles, and the statements that came with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.features import Feature, feature_batches, registering
from catalogue.cells.model import Batch

import tilewright as ct

FEATURES: list[Feature] = []
feature = registering(FEATURES)
STEPS = [3, 5, 7]
SIZES: dict[Any, Any] = {"small": 2, 8: STEPS}


@feature("list display", "list subscript assignment", "list carried by a loop", "list changed in a branch")
def lists_in_loops(b, t):
    sums = [t * 0, t * 1, 3]  # NumPy adds in place
    grid = [[t, t * 2], [t * 3, t * 4]]
    for i in range(3):
        for k in range(2):
            sums[k] += t * (i + k)
            grid[k][1] = grid[k][0] + grid[1 - k][1] + i
        if b > 0:
            sums[2] = sums[2] + i
    if b == 0:
        sums[0], sums[1] = sums[1], sums[0] * 2
    return sums[0] * 3 - sums[1] + sums[2] * 5 + grid[0][1] + grid[1][1] * 7


@feature("list comprehension", "dict comprehension", "list loop over a constant range", "for over a list or dict")
def lists_of_tiles(b, t):
    tiles = [t * i for i in range(4) if i != 1]
    for i in range(3):
        tiles.append(tiles[i] + STEPS[i])
    by_size = {i: x for i, x in enumerate(tiles)}
    total = t
    for x in tiles[1:]:
        total = total * 2 + x
    for key in by_size:
        total = total + key * by_size[key]
    return total + len(by_size) + len([1, 2])


@feature("list.append", "list.extend", "list.insert", "list.pop", "list.remove", "list.reverse", "list.clear",
         "list.copy", "builtin list", "builtin map")
def list_methods(b, t):
    a = list((t, t + 1))
    a.append(t * 2)
    a.extend([t * 3, 4])
    a += (5,)
    a.insert(1, 7)
    a.insert(0, 9)
    a.remove(9)
    other = a.copy()
    other.reverse()
    last = a.pop() + a.pop(0) * 3
    kept = len(other)
    total = last + other[0] * a[0] + a[1] * 11 + other[2] + kept
    other.clear()
    for x in map(lambda x, y: x * y, a, (1, 2, 3)):
        total = total + x
    return total + len(other) + (100 if STEPS[:2] == [3, 5] else 0) + ([1] + [2] * 2)[2]


@feature("dict display", "dict.keys", "dict.values", "dict.items", "dict.copy", "dict.update", "dict.setdefault",
         "dict.pop", "builtin dict", "captured list or dict")
def dicts(b, t):
    d = {"a": t, 2: t + 1, **{"c": 3}}
    d["a"] = d["a"] * 2
    d["d"] = d.setdefault("e", t * 5) + d.get("none", 1)
    e = d.copy()
    e.update(c=4, f=t)
    total = d.pop("c") + e.pop("c") * 10 + e.pop("x", 1000)
    for key, value in e.items():
        total = total * 3 + value + (1 if key == 2 else 0)
    for value in d.values():
        total = total + value
    names = dict(a=1, b=2)
    total = total + names["b"] + len(d.keys()) + (1 if "c" in d else 0) + (50 if 2 in e and "f" in e else 0)
    return total + SIZES["small"] * SIZES[8][1] + (1 if list(names) == ["a", "b"] else 0)


@feature("part t[i]", "part t[a:b]", "part t[::step]", "part t[-i]", "part t[:, i]", "Tile.T",
         "Tile.size")
def parts_of_tiles(b, t):
    square = t[:, None] * t + b
    rows = square[1:3] + square[2:] * 2 + square[:2] * 3
    ends = square[0] - square[-1] + square[..., 1] + square[:, -2] * 2
    pairs = square[::2, 1::2] + square[::-2, 2:0:-1]
    return ends[::-1] + rows[0] + rows[1, 2] + pairs[0, 1] + square.T[0] + t[1:3][1] + square.T[3, 1] + t.size


@feature("part at a scalar of the run", like=lambda b, t: t * 2 + t[b + 1])
def part_of_the_run(b, t):
    return t[:] * 2 + t[b + 1]


@feature("methods that are functions",
         like=lambda b, t: np.abs(t).max() + t.sum() * 3 + t.min() + np.argmax(t) + np.cumsum(t) + np.sort(t)[0])
def functions_as_methods(b, t):
    s = t.abs().max() + t.sum(axis=0) * 3 + t.min() + t.argmax().astype(ct.int32)
    return s + t.cumsum(0) + t.sort()[0]


@feature("chained comparison of tiles", like=lambda b, t: np.asarray(np.where((t > -5) & (t < 30), t, b), np.int32))
def between(b, t):
    return ct.where(-5 < t < 30, t, b)


@feature("statement match", "walrus", "walrus in while", "starred target", "statement assert")
def statements(b, t):
    match b:
        case 0:
            x = 3
        case 1 | 2:
            x = 5
        case _:
            x = 7
    match len(STEPS):
        case 2:
            x += 1
        case n if n > 2:
            x += n
    n = 40 + x
    while (half := n // 2) > 4:
        n = half - 1
    if (y := n * 2) > 3 and b >= 0:
        x += y
    first, *middle, last = (x, 1, 2, n)
    assert len(middle) == 2, f"{middle} are two"
    assert first > 0
    return t * first + middle[1] - last + half


def batches() -> Iterator[Batch]:
    yield from feature_batches(FEATURES)
