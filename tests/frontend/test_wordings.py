"""Python's own words for numbers, classes, ranges and lists: each kernel computes what its body computes as Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.diagnostics import TileError


@dataclass(frozen=True)
class Point:
    x: Any


@dataclass(frozen=True)
class Place(Point):
    y: Any


def numbers_of_the_run(a: Any, b: Any, c: Any) -> Any:
    x = a / 2
    return int(x), int(-x - 0.25), float(a) * 0.5, int(a > b), int(bool(b)), int(a), int(True), float(2)


def classes(a: Any, b: Any, c: Any) -> Any:
    def f(x: Any, sizes: Any) -> Any:
        sizes = (sizes,) if isinstance(sizes, int) else sizes
        return sum(s * x for s in sizes) + (100 if isinstance(sizes, (list, range)) else 0)

    point, place = Point(a), Place(a, b)
    kinds = (isinstance(point, Point), isinstance(place, Point), isinstance(point, Place), isinstance(place, tuple),
             isinstance("a", str), isinstance(None, (int, str)), isinstance(True, int), isinstance(2.0, float),
             isinstance({}, dict), isinstance(f, int))
    return f(a, 2), f(b, (1, 2)), f(1, [3, 4]), *(int(kind) for kind in kinds)


def ranges(a: Any, b: Any, c: Any) -> Any:
    r = range(2, 9, 3)
    for i in range(4):
        a += i
    for j in range(10, 0, -3):
        a += j
    return len(r), r[1], r[-1], int(5 in r), int(4 in r), a, i, j


def long_ranges(a: Any, b: Any, c: Any) -> Any:
    first, *rest = range(4)
    return (*range(3), first, len(rest), int(7 in range(10**12)), range(10**12)[-1] % 1000, int(b in range(3)))


def slices(a: Any, b: Any, c: Any) -> Any:
    xs = [a, b, c, 4, 5]
    xs[1:3] = [c, b]
    xs[:1] = (7, 8)
    xs[4:] = []
    xs[::2] = [1, 2]
    xs[1:2] += [a]
    ys = list(xs)
    ys[:] = [a] * 3
    return *xs, 100, *ys


def deleted(a: Any, b: Any, c: Any) -> Any:
    xs, d, x = [a, b, c, 4], {"x": a, "y": b}, a
    del xs[1], d["x"], x
    del xs[-1:]
    x = b
    ys = [1, 2, 3, 2]
    ys.remove(2)
    return *xs, *d.values(), x, len(xs), len(d), *ys


def place(v: Any) -> Any:
    match v:
        case Place(x, y=0):
            return 1, x
        case Place(x, y) if isinstance(y, float):
            return 2, x
        case Point(Point() | None):
            return 3, 0
        case _:
            return 4, 0


def items(v: Any) -> Any:
    match v:
        case (x, [y, *_]):
            return 5 + x + y
        case [x, *rest, 7]:
            return 6 + x + len(rest) + sum(rest)
        case (x, y) if x > y:
            return 7 * x
        case (int(x), 2 as y):
            return 8 * x + y
        case () | None:
            return 9
        case str(text) if text:
            return len(text)
    return 10


def patterns(a: Any, b: Any, c: Any) -> Any:
    x = b
    match (a, b):
        case (x, y) if x > y + 1:  # x is bound, whatever the guard says
            x = x - y
        case (-2, y):
            x = x * y + 1
    return (*place(Place(a, 0)), *place(Place(b, 0.5)), *place(Place(a, 1)), *place(c), items((a, (b, c))),
            items([1, b, c, 7]), items((1, 0)), items((1, 2)), items(()), items("seven"), items(""), x)


KERNELS = (numbers_of_the_run, classes, ranges, long_ranges, slices, deleted, patterns)
INPUTS = ((3, 5, 2), (0, -7, 4))


def computed(compute: Callable[..., Any], numbers: tuple[int, ...], length: int) -> list[float]:
    """What a kernel computes of the numbers."""

    @tw.tile_kernel
    def kernel(x, out):
        given = [tw.load(x, i, ()) for i in range(3)]
        for i, v in enumerate(compute(*given)):
            tw.store(out, i, v)

    out = np.zeros(length)
    kernel[(1,)](np.array(numbers, np.int32), out)
    return list(out)


@pytest.mark.parametrize("compute", KERNELS, ids=lambda f: f.__name__)
def test_words_mean_what_they_mean_in_python(compute: Callable[..., Any]) -> None:
    for numbers in INPUTS:
        want = list(compute(*numbers))
        assert computed(compute, numbers, len(want)) == want, numbers


def slice_of_two_names(a: Any, b: Any, c: Any) -> Any:
    xs = [a, b]
    ys = xs
    xs[:1] = [c]
    return ys


def deleted_ahead(a: Any, b: Any, c: Any) -> Any:
    xs, n = [a, b, c], 0
    for x in xs:
        n += x
        del xs[-1]
    return (n,)


def slice_in_place(a: Any, b: Any, c: Any) -> Any:
    xs = [a, b]
    ys = (xs, c)
    xs[1:] += [c]
    return ys[0]


def class_of_the_run(a: Any, b: Any, c: Any) -> Any:
    return (isinstance(a, int),)


def used_after_del(a: Any, b: Any, c: Any) -> Any:
    del a
    return (a,)  # noqa: F821


def steps_of_other_lengths(a: Any, b: Any, c: Any) -> Any:
    xs = [a, b, c, a]
    xs[::2] = [b, c, a]
    return xs


REFUSED = (steps_of_other_lengths, slice_of_two_names, deleted_ahead, slice_in_place, class_of_the_run, used_after_del)


@pytest.mark.parametrize("compute", REFUSED, ids=lambda f: f.__name__)
def test_what_would_not_be_pythons_is_refused(compute: Callable[..., Any]) -> None:
    with pytest.raises(TileError):
        computed(compute, INPUTS[0], 4)


@pytest.mark.parametrize("compute", [lambda r: sum(r), lambda r: len(list(r)), lambda r: len([i for i in r]),
                                     lambda r: (*r,), lambda r: len(tuple(zip(r, r, strict=True)))])
def test_items_of_a_long_range_are_not_listed(compute: Callable[..., Any]) -> None:
    @tw.tile_kernel
    def kernel():
        print(compute(range(10**9)))

    with pytest.raises(tw.TileValueError, match="the range has 1000000000 items"):
        kernel[1]()


def test_what_holds_itself_is_refused() -> None:
    parts: Any = [1]
    parts.append({"all": parts})

    @tw.tile_kernel
    def kernel():
        print(len(parts))

    with pytest.raises(tw.TileValueError, match="holds itself"):
        kernel[1]()
