"""break, continue, return and else of loops: each kernel computes what its body computes as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def constant_before_break(a: Any, b: Any, c: Any) -> Any:
    for i in range(a):
        b = 0
        if i > 3:
            break
    while c < 6:
        c = 5
        if a > 3:
            break
        c = 7
    return b, c


def constant_of_the_last_iteration(a: Any, b: Any, c: Any) -> Any:
    while True:
        if a <= 0:
            break
        b = 1
        a -= 1
    return (b,)


def break_of_items(a: Any, b: Any, c: Any) -> Any:
    xs, t = [a, b, c], 0
    for i in range(3):
        if xs[i] > 4:
            break
        t += xs[i] * 10
        xs[i] += 1
    return [*xs, t]


def both_of_items(a: Any, b: Any, c: Any) -> Any:
    t = n = 0
    for x in (a, b, c, 4, 5):
        if x == 2:
            continue
        if t > 20:
            break
        t += x
        n += 1
        if n == 4:
            t -= 100
    return t, n, x


def returns_of_items(a: Any, b: Any, c: Any) -> Any:
    def first(limit: Any) -> Any:
        n = 0
        for x in (a, b, c):
            if x == 6:
                break
            if x > limit:
                return n
            n += x
        else:
            n *= 1000
        return n - 1

    return first(2), first(-3), first(100)


def grown_until_return(a: Any, b: Any, c: Any) -> Any:
    def longest() -> Any:
        xs: list[Any] = []
        for x in (a, b, c):
            xs.append(x)
            if x > 4:
                return sum(xs) + 100 * len(xs)
        return -1

    return (longest(),)


def otherwise(a: Any, b: Any, c: Any) -> Any:
    for i in range(c):
        if i == a:
            r = 10 + i
            break
    else:
        r = 99
    for x in (a, b):
        if x == c:
            s = 1
            break
    else:
        s = r
    j = 0
    while j < 5:
        if j == b:
            break
        j += 1
    else:
        j = 50
    k = 0
    while k < c:
        k += 3
    else:
        k += 100
    return r, s, j, k


def otherwise_returns(a: Any, b: Any, c: Any) -> Any:
    def f(most: Any) -> Any:
        for i in range(most):
            if i * i == a + 1:
                break
        else:
            if most > 5:
                return -1
            return most
        return 40

    return f(c), f(3), f(10)


def nested(a: Any, b: Any, c: Any) -> Any:
    n = 0
    for x in (a, b, c):
        for y in (1, 2, 3):
            if x == y:
                break
            for k in range(c):
                if k == y:
                    break
                n += k
            else:
                n += 1000
            if n % 2:
                continue
            n += x * y
        else:
            n += 7
        if n > 5000:
            break
    return (n,)


def items_in_a_loop(a: Any, b: Any, c: Any) -> Any:
    n = 0
    for k in range(c + 2):
        for x in (a, b, 3):
            if x + k > 6:
                continue
            if n > 30:
                break
            n += x + k
        else:
            n += 1
        if n == 17:
            break
    return (n,)


KERNELS = (constant_before_break, constant_of_the_last_iteration, break_of_items, both_of_items, returns_of_items,
           grown_until_return, otherwise, otherwise_returns, nested, items_in_a_loop)
INPUTS = ((3, 5, 2), (0, -7, 4), (6, 6, 0))


@pytest.mark.parametrize("compute", KERNELS, ids=lambda f: f.__name__)
def test_jumps_are_those_of_python(compute: Callable[..., Any]) -> None:
    @tw.tile_kernel
    def kernel(x, out):
        numbers = [tw.load(x, i, ()) for i in range(3)]
        for i, v in enumerate(compute(*numbers)):
            tw.store(out, i, v)

    for numbers in INPUTS:
        want = list(compute(*numbers))
        out = np.zeros(len(want), np.int32)
        kernel[(1,)](np.array(numbers, np.int32), out)
        assert out.tolist() == want, numbers
