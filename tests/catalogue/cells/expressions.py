"""Cells of expressions, builtins, compile-time evaluation and rules of typing."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterator

import numpy as np
from catalogue.cells.features import Feature, feature_batches, registering
from catalogue.cells.model import Batch

import tilewright as ct

FEATURES: list[Feature] = []
feature = registering(FEATURES)
LIMIT = 5
PAIR = (3, (4, 5))


# -- Expressions -------------------------------------------------------------------------------------------------------


@feature("expression chained comparison", like=lambda b, t: np.asarray(np.where((t > -5) & (t < 40), t, b), np.int32))
def chained(b, t):
    inside = 1 if 0 <= b < 2 else 0
    return ct.where((t > -5) & (t < 40), t * inside, b)


@feature("operator and", "operator or", "operator not", "expression ternary")
def logic(b, t):
    x = t + 1 if (b == 0 and LIMIT > 2) or b > 7 else t - 1
    return x * 2 if not b > 0 else x


@feature("expression is None", "literal None")
def nothing_given(b, t):
    def shifted(x, by=None):
        return x if by is None else x + by

    y = None
    return shifted(t) + shifted(t, b) if y is None and b is not None else t


@feature("expression in", "expression not in")
def membership(b, t):
    x = t + 1 if b in (1, 4) else t
    return x * 2 if b not in (0, 7) else x


@feature("expression tuple index", "expression tuple slice", "expression tuple +", "expression tuple ==",
         "builtin len", "expression tuple star")
def tuples(b, t):
    items = (1, t, 3) + (b, *PAIR)
    pairs = items[1:3]
    same = (1, 2) == (1, 2) and (1, 2) != (1, 3)
    return items[-2] * pairs[0] + len(items) if same else t


@feature("expression tuple comprehension", "builtin tuple", "static_iter",
         like=lambda b, t: t * 7 + 0 + 2 + 20 + 22)
def comprehension(b, t):
    items = tuple(10 * i + k for i in ct.static_iter((0, 1, 2)) if i != 1 for k in ct.static_iter(range(3)) if k != 1)
    total = t * tuple((5, 6, 7))[2]
    for item in ct.static_iter(items):
        total = total + item
    return total


@feature("literal int", "literal float", "literal bool", "literal str", "loose constants",
         like=lambda b, t: t + 3 + 1)
def literals(b, t):
    name = "x"
    half = 1.5
    return t + int(half * 2) + (1 if True and name == "x" else 0)


@feature("expression attribute", "module constant", like=lambda b, t: t + 3)
def attributes(b, t):
    return t + int(math.pi) if math.inf > 1e9 and np.inf > 0 else t


# -- Builtins and library functions ------------------------------------------------------------------------------------


@feature("builtin min", "builtin max", "builtin abs", "builtin divmod")
def builtins_of_numbers(b, t):
    q, r = divmod(17, 5)
    return abs(t) * q + min(b, 1) - max(r, 2)


@feature("builtin enumerate", "builtin zip", like=lambda b, t: t * 2 + 11)
def pairs_of_tuples(b, t):
    total = t * 0
    for k, (x, y) in enumerate(zip((t, 3), (5, t), strict=True), 1):
        total = total + k * x + y
    return total


@feature("builtin reversed", "builtin sum", "functools.reduce", "expression tuple repetition",
         like=lambda b, t: 4 * t + 21 + 2 * t)
def tuples_from_end_to_end(b, t):
    last = reversed((t, 3))[0]
    total = sum((t, 3) * 4) + sum(i * last for i in reversed(range(3)))
    return functools.reduce(lambda x, y: x + y, (total, t, t))


@feature("builtin int", "builtin float", "builtin bool", "builtin str", "builtin repr", "builtin isinstance",
         like=lambda b, t: t + 7 + 1 + 2 + 1 + 1 + 1)
def constructors(b, t):
    one = int(repr("a") == "'a'") + isinstance(7, int)
    return t + int(7.9) + int(bool(3)) + int(float(2)) + int(str(12) == "12") + one


@feature("operator.add", "operator.sub", "operator.mul", "operator.floordiv", "operator.mod", "operator.and_",
         "operator.or_", "operator.xor", "operator.lshift", "operator.rshift", "operator.neg", "operator.pos",
         "operator.invert", "operator.abs", "operator.pow", "operator.getitem")
def operators(b, t):
    x = operator.add(operator.mul(t, 3), operator.sub(b, 7))
    x = operator.xor(operator.or_(operator.and_(x, 0x7F), 9), operator.lshift(b, 2))
    x = operator.floordiv(x, 3) + operator.mod(x, 5) + operator.rshift(x, 1)
    x = operator.neg(x) + operator.pos(t) + operator.invert(t) + operator.abs(x)
    return operator.getitem((x, t), 0) + operator.pow(t, 2)


@feature("operator.eq", "operator.ne", "operator.lt", "operator.le", "operator.gt", "operator.ge", "operator.not_",
         "operator.truediv",
         like=lambda b, t: np.where(t == 3, 1, np.where(t < 0, 2, np.where(t >= 20, 3, 4))).astype(np.int32))
def comparisons(b, t):
    a = ct.where(operator.eq(t, 3), 1, ct.where(operator.lt(t, 0), 2, ct.where(operator.ge(t, 20), 3, 4)))
    wrong = operator.ne(t, t) | operator.gt(t, t) | operator.not_(operator.le(t, t))
    return ct.where(wrong | (operator.truediv(t, 1.0) != t), 0, a)


@feature("getattr with a constant name", like=lambda b, t: t + 1)
def named_attribute(b, t):
    return t + ct.int32(1)


# -- Compile time ------------------------------------------------------------------------------------------------------


@feature("static_eval", "static_assert", "static_iter", "ensure_constant", "statement for static_iter",
         like=lambda b, t: t * 8 + 6 + 24)
def compile_time(b, t):
    ct.static_assert(t.shape == (4,), "the tile has four elements")
    size = ct.static_eval(sum(t.shape) + len([1, 2]))
    x = t * 0
    for k in ct.static_iter([t, 3, t]):
        x = x + k * 2
    return x * 2 + size + ct.ensure_constant(LIMIT + 7)


SHORT = np.int16(300)


@feature("strictly typed constants", "captured NumPy scalar", "int8", "int16",
         like=lambda b, t: t + np.int32(44) + np.int32(300))
def strict_constants(b, t):
    small, short = ct.int8(300), ct.int16(SHORT)
    strict = small.dtype == ct.int8 and SHORT.dtype == ct.int16
    return t + ct.astype(small, ct.int32) + ct.astype(short, ct.int32) if strict else t


@feature("NumPy dtype as dtype", like=lambda b, t: t + 3)
def foreign_dtypes(b, t):
    # The stubs ask for Tilewright's own dtypes.
    wide = ct.astype(t, np.float64) + ct.full((4,), 3, np.float64)  # type: ignore[arg-type]
    return ct.astype(wide, np.int32)  # type: ignore[arg-type]


@feature("unbound methods", "Tile.reshape", "Tile.astype", like=lambda b, t: t)
def unbound(b, t):
    wide = ct.Tile.reshape(t, (2, 2))
    return ct.Tile.reshape(ct.Tile.astype(wide, ct.int64), (4,))


@feature("joins of branches", "loop-carried variables", "variables that a loop leaves")
def joins(b, t):
    if b == 0:
        x, n = t, 1
    else:
        x, n = t * 2, 5
    last = 0
    for i in range(3):
        x = x + n * i
        last = i
    return x + last


@feature("dead branches of constants", like=lambda b, t: t + 1)
def dead(b, t):
    if t.ndim == 1:
        return t + 1
    return t.no_such_thing


def batches() -> Iterator[Batch]:
    yield from feature_batches(FEATURES)
