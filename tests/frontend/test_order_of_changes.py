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


def two_names_behind_a_loop(t: Any, n: Any) -> Any:
    xs, ys = [t], [t * 2]
    for _ in range(n):
        ys = xs
    xs[0] = t * 9
    return ys[0]


def items_of_a_tuple(t: Any, n: Any) -> Any:
    xs, ys = [t], [t * 2]
    for i, row in enumerate((xs, ys)):
        if i == 0:
            ys[0] = t * 9
        t = t * 3 + row[0]
    return t


def view_of_a_dict(t: Any, n: Any) -> Any:
    d, s = {"a": t}, t
    values = d.values()
    for _ in range(n):
        for v in values:
            s = s + v
        d["a"] = d["a"] + 1
    return s


def made_with_its_reader() -> Any:
    xs = [1]
    return xs, lambda: xs[0]


def behind_a_function(t: Any, n: Any) -> Any:
    xs, first = made_with_its_reader()
    xs[0] = 5
    return t + first()


def in_two_targets(t: Any, n: Any) -> Any:
    at, rows = [0, 1], [[t], [t * 2]]
    rows[at.pop()][0] = t * 7
    rows[at.pop()][0] += 5
    return rows[0][0] + rows[1][0] * 3 + len(at)


def several_in_one(t: Any, n: Any) -> Any:
    xs = [t, t * 2, t * 3, t * 4]
    return xs.pop() + xs.pop(0) * 3 + xs[0] * 5 + len(xs)


def arguments_first(t: Any, n: Any) -> Any:
    xs = [t, t * 2, t * 3]
    xs.append(xs.pop(0))
    xs.insert(len(xs), xs[0] + xs[-1])
    xs.extend(xs)
    return xs[0] + xs[2] * 3 + xs[-1] * 5 + len(xs)


def keys_alone(t: Any, n: Any) -> Any:
    d = {"a": t, "b": t * 2}
    keys = d.keys()
    for key in keys:
        d["b"] = d[key] + 1
    return d["a"] + d["b"] * 3


def backwards(t: Any, n: Any) -> Any:
    xs = [t, t * 2, t * 3]
    for i, v in enumerate(reversed(xs)):
        xs[2 - i] = v + i
    return xs[0] + xs[1] * 3 + xs[2] * 5


def from_one_to_the_other(t: Any, n: Any) -> Any:
    xs, ys = [t, t * 2], [t * 0, t * 0]
    for _ in range(n + 1):
        for i in range(2):
            ys[i] = xs[i] * 2 + ys[1 - i]
        xs, ys = ys, xs
    xs[0] = xs[0] + 1
    return xs[0] + ys[1] * 10


def first_again(t: Any, n: Any) -> Any:
    first, now, s = [t, t * 2], [t * 3, t], t * 0
    for _ in range(n):
        s = s + now[0]
        now = first
    return s + now[1]


def best_of_all(t: Any, n: Any) -> Any:
    best, now = [t, t * 2], [t * 0, t * 0]
    for k in range(n):
        now = [now[1] + k, now[0] + 1]
        if k > 0:
            best = now
    return best[0] + now[1] * 10


def launched(function: Callable[..., Any], n: int) -> Any:
    @tw.tile_kernel
    def kernel(x, out, n: int):
        tw.store(out, 0, function(tw.load(x, 0, 4), n))

    out = np.zeros(4, np.float32)
    kernel[1](X, out, n)
    return out


@pytest.mark.parametrize("function", [
    last_of_two, those_gone_by, through_a_copy, in_a_target, in_two_targets, several_in_one, arguments_first,
    keys_alone, backwards, from_one_to_the_other, first_again, best_of_all,
])
def test_as_python_does(function: Callable[..., Any]) -> None:
    np.testing.assert_array_equal(launched(function, 2), function(X, 2))


@pytest.mark.parametrize("function, words", [
    (in_a_condition, "cannot be changed where only the run knows"),
    (behind_and, "cannot be changed where only the run knows"),
    (beside_its_list, "the expression around has used it before"),
    (while_it_lasts, "cannot be changed where only the run knows"),
    (items_to_come, "this list cannot be changed: a loop goes through it"),
    (longer_on_the_way, "this list cannot be changed: a loop goes through it"),
    (values_on_the_way, "this dict cannot be changed: a loop goes through it"),
    (items_of_a_tuple, "this list cannot be changed: a loop goes through it"),
    (two_names_from_a_loop, "ys and xs stand for one list or dict at the end of a loop's body that changes it"),
    (two_names_behind_a_loop, "this list cannot be changed: ys stands for it, too"),
    (view_of_a_dict, "this dict cannot be changed: values stands for it, too"),
    (behind_a_function, "the list comes from outside this function"),
])
def test_what_would_be_otherwise_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(TileError, match=words):
        launched(function, 2)
