"""Functions that capture variables, defaults that only the run knows, values that are constant after a break."""

from __future__ import annotations

import functools
import gc
import weakref
from typing import Any

import numpy as np
import pytest
from support.frontend import result, value

import tilewright as ct


def compared(function: Any, *args: Any) -> None:
    """A kernel gives what Python gives."""
    assert value(function, *args) == function(*args)


def test_lambdas_see_the_last_item_of_a_comprehension() -> None:
    def late(x):
        fs = tuple(lambda v: v * k for k in range(1, 4))  # noqa: B023
        return fs[0](x) + fs[2](x)

    def bound(x):
        fs = tuple((lambda v, k=k: v * k) for k in range(1, 4))
        return fs[0](x) + fs[2](x)

    def called(x):
        parts = tuple((lambda v: v * k)(x) for k in range(1, 4))
        return parts[0] + parts[2]

    def nested(x):
        fs = tuple(lambda v: v * k + j for k in range(1, 3) for j in range(2))  # noqa: B023
        return fs[0](x) * 100 + fs[3](x)

    for function in (late, bound, called, nested):
        compared(function, 5)
    assert value(late, 5) == 30 and value(bound, 5) == 20


def test_a_variable_of_a_comprehension_hides_one_of_the_kernel() -> None:
    def hidden(x):
        k = 7
        fs = tuple(lambda v: v + k for k in range(3))  # noqa: B023
        return fs[0](x) * 10 + k

    def around(x):
        k = 7
        fs = tuple(lambda v: v + k * j for j in range(3))  # noqa: B023
        k = 8
        return fs[0](x)

    compared(hidden, 5)
    compared(around, 5)


def test_defaults_join_where_branches_meet() -> None:
    def chosen(x, n):
        for k in range(4):
            if k == 0 or n >= k:
                def f(v, a=x * k, b=3):
                    return v + a * b
        return f(x)

    def unrolled(x, n):
        for k in ct.static_iter(range(4)):
            if k == 0 or n >= k:
                def f(v, a=x * k, b=3):
                    return v + a * b
        return f(x)

    for n in (0, 2, 9):
        assert value(unrolled, 5, n) == chosen(5, n)


def test_functions_leave_loops_with_their_defaults() -> None:
    def last(x, n):
        i = 0
        while True:
            f = lambda v, a=x, b=2: v + a * b  # noqa: E731
            i += 1
            x = x + 1
            if i > n:
                break
        return f(x)

    compared(last, 5, 3)


def test_functions_of_different_places_do_not_join() -> None:
    def chosen(x):
        if ct.bid(0) == x:
            f = lambda v: v + 1  # noqa: E731
        else:
            f = lambda v: v - 1  # noqa: E731
        return f(x)

    with pytest.raises(ct.TileTypeError, match="call each in its branch"):
        value(chosen, 5)


def counted(m: Any) -> Any:
    w, s = 1, 0.0
    while True:
        s = s + w
        if s > m:
            w = 4
            break
        w = w + 1
    return ct.full((w,), s, ct.float32)


def in_both(m: Any) -> Any:
    w: Any = (1,)
    i = 0
    while True:
        if i > m:
            if i > 8:
                w = (2, 2)
                break
            w = (2, 2)
            break
        w = i
        i = i + w + 1
    return ct.full(w, i, ct.float32)


def falls(m: Any) -> Any:
    t = ct.zeros((4,), ct.float32)
    for i in range(8):
        if i > m:
            w = 8
            if i > 5:
                break
            w = 4
        else:
            w = 4
        t = t + ct.ones((w,), ct.float32)
    return t


def test_values_that_break_makes_constant() -> None:
    assert np.array_equal(result(counted, 10, shape=(4,)), np.full(4, 15.0))
    assert np.array_equal(result(in_both, 2, shape=(2, 2)), np.full((2, 2), 3.0))
    assert np.array_equal(result(falls, 3, shape=(4,)), np.full(4, 6.0))


def two_constants(m: Any) -> Any:
    i = 0
    while True:
        i = i + 1
        if i > m:
            w = 4
            break
        if i > 9:
            w = 2
            break
    return ct.zeros((w,), ct.float32)


def natural_end(m: Any) -> Any:
    w = 4
    for i in range(m):
        if i > 3:
            w = 2
            break
    return ct.zeros((w,), ct.float32)


@pytest.mark.parametrize("function", [two_constants, natural_end])
def test_values_that_are_not_constant_after_a_loop(function: Any) -> None:
    with pytest.raises(ct.TileTypeError, match="must be known while compiling"):
        result(function, 10, shape=(4,))


def test_kernels_of_a_factory_end_with_their_last_user() -> None:
    """Neither what is kept of their sources nor what they captured keeps them."""
    def made(number: float) -> ct.tile_kernel:
        @ct.tile_kernel
        def fill(x):
            ct.store(x, 0, ct.full(4, number, ct.float32))

        return fill

    kernel, x = made(2.0), np.zeros(4, np.float32)
    kernel[(1,)](x)
    assert x[0] == 2.0
    gone = weakref.ref(kernel.__wrapped__)
    del kernel
    gc.collect()
    assert gone() is None


def test_a_wrapper_has_a_source_of_its_own() -> None:
    def first(x):
        ct.store(x, 0, ct.full(4, 1.0, ct.float32))

    def second(x):
        ct.store(x, 0, ct.full(4, 2.0, ct.float32))

    one, two = np.zeros(4, np.float32), np.zeros(4, np.float32)
    ct.tile_kernel(first)[(1,)](one)
    functools.update_wrapper(second, first)
    ct.tile_kernel(second)[(1,)](two)
    assert (one[0], two[0]) == (1.0, 2.0)
