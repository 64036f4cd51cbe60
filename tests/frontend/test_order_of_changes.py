"""Lists and dicts that change where Python's order of evaluation shows: done right, or refused, never otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.tileir.diagnostics import TileError

X = np.arange(4, dtype=np.float32)


def taken(xs: Any, value: Any) -> Any:
    return len(xs) + value


def last_of_two(t: Any, n: Any) -> Any:
    xs = [t, t * 2]
    v = xs.pop()
    xs[0] = v + len(xs)
    return v + 3 * xs.pop()


def those_gone_by(t: Any, n: Any) -> Any:
    xs = [t, t * 2]
    for i, v in enumerate(xs):
        xs[i] = v + 1
    return xs[0] + 3 * xs[1]


def through_a_copy(t: Any, n: Any) -> Any:
    xs = [t]
    for v in list(xs):
        xs.append(v + 1)
    return xs[1]


def in_a_condition(t: Any, n: Any) -> Any:
    xs = [t, t * 2]
    r = xs.pop() if n > 1 else t
    return r + len(xs)


def behind_and(t: Any, n: Any) -> Any:
    xs = [1, 2]
    r = 1 if n > 1 and xs.pop() > 1 else 5
    return t * r + len(xs)


def beside_its_list(t: Any, n: Any) -> Any:
    xs = [t, t * 2]
    return taken(xs, xs.pop())


def in_a_target(t: Any, n: Any) -> Any:
    at, xs = [0, 1], [t, t * 2]
    xs[at.pop()] += 1
    return xs[0] + len(at)


def while_it_lasts(t: Any, n: Any) -> Any:
    xs = [0, 1, 2]
    while xs.pop() > 0:
        t = t + 1
    return t


def items_to_come(t: Any, n: Any) -> Any:
    xs = [t, t * 2]
    for i, v in enumerate(xs):
        if i < 1:
            xs[i + 1] = v
        t = t + v
    return t


def longer_on_the_way(t: Any, n: Any) -> Any:
    xs = [t]
    for v in xs:
        if len(xs) < 3:
            xs.append(v + 1)
    return xs[0] + len(xs)


def values_on_the_way(t: Any, n: Any) -> Any:
    d, s = {"a": t, "b": t * 2}, t
    for v in d.values():
        d["b"] = d["b"] + 1
        s = s * 5 + v
    return s


def two_names_from_a_loop(t: Any, n: Any) -> Any:
    xs, ys = [t], [t * 2]
    for _ in range(n):
        ys[0] = ys[0] + 1
        ys = xs
    return xs[0] + ys[0]


def launched(function: Callable[..., Any], n: int) -> Any:
    @tw.tile_kernel
    def kernel(x, out, n: int):
        tw.store(out, 0, function(tw.load(x, 0, 4), n))

    out = np.zeros(4, np.float32)
    kernel[1](X, out, n)
    return out


@pytest.mark.parametrize("function", [last_of_two, those_gone_by, through_a_copy])
def test_as_python_does(function: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(launched(function, 2), function(X, 2))


@pytest.mark.parametrize("function, words", [
    (in_a_condition, "pop changes xs in the middle of a statement"),
    (behind_and, "pop changes xs in the middle of a statement"),
    (beside_its_list, "pop changes xs in the middle of a statement"),
    (in_a_target, "pop changes at in the middle of a statement"),
    (while_it_lasts, "pop changes xs in the middle of a statement"),
    (items_to_come, "this list cannot be changed: a loop goes through it"),
    (longer_on_the_way, "this list cannot be changed: a loop goes through it"),
    (values_on_the_way, "this dict cannot be changed: a loop goes through it"),
    (two_names_from_a_loop, "stand for one list at the end of the loop's body"),
])
def test_what_would_be_otherwise_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TileError, match=words):
        launched(function, 2)
