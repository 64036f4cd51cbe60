"""Cells of statements and of functions."""

from __future__ import annotations

from collections.abc import Iterator

from catalogue.cells.features import Feature, feature_batches, registering
from catalogue.cells.model import Batch

FEATURES: list[Feature] = []
feature = registering(FEATURES)


# -- Assignments -------------------------------------------------------------------------------------------------------


@feature("statement assignment", "statement chained assignment", "statement annotated assignment")
def assignments(b, t):
    x = y = t + b
    z: int = x * 2
    return y + z


@feature("statement augmented assignment")
def augmented(b, t):
    x = t + 0
    x += 7
    x -= b
    x *= 3
    x //= 2
    x %= 100
    x <<= 2
    x >>= 1
    x &= 0xFF
    x |= 5
    x ^= 3
    return x


@feature("statement tuple unpacking", "expression tuple display")
def unpacking(b, t):
    (x, y), z = (t, b), 3
    x, y = y, x
    return y * z + x


@feature("statement pass", "statement docstring", "statement expression")
def nothing(b, t):
    """It does nothing."""
    pass
    t + 1
    return t


# -- Branches and loops ------------------------------------------------------------------------------------------------


@feature("statement if", "statement elif", "statement else")
def branches(b, t):
    if b == 0:
        x = t + 1
    elif b < 0:
        x = t
    else:
        x = t - 1
    return x


@feature("statement while")
def while_loop(b, t):
    n = 0
    x = t
    while n < 3 + b:
        x = x * 3 + n
        n += 1
    return x


@feature("statement while True", "statement break", "statement continue")
def forever(b, t):
    n = 0
    x = t
    while True:
        n += 1
        if n % 2 == 0:
            continue
        x = x + n
        if n > 4 + b:
            break
    return x


@feature("statement for range", "builtin range")
def ranges(b, t):
    x = t
    for i in range(3 + b):
        x = x * 2 + i
    for i in range(b, 5):
        x = x + i
    for i in range(b, 11, 2 + b):
        x = x - i
    steps = range(4)
    for i in steps:
        x = x ^ i
    return x


@feature("statement for range", "statement break", "statement continue")
def leaving_for(b, t):
    x = t
    for i in range(9):
        if i == 2:
            continue
        if i > 4 + b:
            break
        x = x * 3 - i
    return x


@feature("statement nested loops")
def nested_loops(b, t):
    x = t
    for i in range(2 + b):
        n = i
        while n < 4:
            for k in range(n):
                x = x + k * i
            n += 1
    return x


@feature("statement return", "call of a helper", "recursion")
def early_return(b, t):
    def power(x, n):
        if n == 0:
            return x * 0 + 1
        return x * power(x, n - 1)

    def sign(x):
        if x == 0:
            return -1
        return 1

    return power(t, 3) * sign(b)


@feature("return inside while", "statement return")
def found(b, t):
    def first(n):
        while True:
            if n % 7 == 3:
                return n
            n += 1

    return t + first(b * 5)


@feature("return inside for", "for range that counts down")
def last_multiple(b, t):
    def last(n):
        for i in range(n + 20, n, -1):
            if i % 7 == 3:
                return i
        return n

    return t + last(b * 5)


# -- Functions ---------------------------------------------------------------------------------------------------------


@feature("statement def", "closure", "closures capture by reference")
def closures(b, t):
    k = 1

    def add(x):
        return x + k

    k = 10
    return add(t) + add(b)


@feature("expression lambda", "parameter defaults", "keyword arguments")
def lambdas(b, t):
    f = lambda x, y=2, *, z=3: x * y + z  # noqa: E731
    return f(t) + f(b, 5) + f(t, y=1, z=b)


@feature("parameters *args and **kwargs", "call with * and **", "dict.get")
def variadic(b, t):
    def total(*items, **named):
        return items[0] + items[1] * named["scale"] + named.get("shift", 7)

    pair = (t, b)
    return total(*pair, scale=3) + total(b, *(t,), scale=2, shift=1)


def outer_helper(x, /, y, *, z=4):
    return x * z - y


@feature("positional-only and keyword-only parameters", "call of a helper")
def parameter_kinds(b, t):
    return outer_helper(t, b) + outer_helper(t, y=b, z=2)


@feature("function as a value")
def passed(b, t):
    def twice(f, x):
        return f(f(x))

    return twice(lambda x: x * 3 + b, t)


def batches() -> Iterator[Batch]:
    yield from feature_batches(FEATURES)
