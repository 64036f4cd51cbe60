"""Helpers, closures, tuples, dataclasses, enums, static evaluation, context managers: what they compute."""

from __future__ import annotations

import contextlib
import enum
import operator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.frontend import value

import tilewright as ct

SCALE = 3
SETTINGS = (2, ("low", 5))


class Mode(enum.Enum):
    FAST = 1
    EXACT = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 4


@dataclass(frozen=True)
class Config:
    rows: int
    columns: int = 4
    dtype: Any = ct.float32

    @property
    def area(self) -> int:
        return self.rows * self.columns

    def scaled(self, factor: int) -> Config:
        return Config(self.rows * factor, self.columns)

    @staticmethod
    def double(x: Any) -> Any:
        return x * 2

    def __getitem__(self, i: Any) -> Any:
        return self.rows + i

    def __call__(self, x: Any) -> Any:
        return x + self.columns


CONFIG = Config(8)


# -- Helpers ---------------------------------------------------------------------------------------------------------


def affine(x, /, a=2, *rest, b, **more):
    for_rest = 0
    if len(rest) > 0:
        for_rest = rest[0]
    return x * a + b + for_rest + more.get("c", 0) + (100 if "d" in more else 0)


def test_every_kind_of_parameter() -> None:
    assert value(lambda: affine(3, b=1)) == 7
    assert value(lambda: affine(3, 4, 5, b=1)) == 18
    assert value(lambda: affine(3, b=1, c=10, d=0)) == 117
    assert value(lambda: affine(*(3, 4), **keywords(b=1))) == 13


def keywords(**kwargs):
    return kwargs


def test_binding_errors() -> None:
    unchecked: Any = affine
    for call, text in ((lambda: unchecked(1), '"b" is missing'), (lambda: affine(1, 2, a=3, b=1), '"a" is given twice'),
                       (lambda: unchecked(x=1, b=1), '"x"')):
        with pytest.raises(ct.TileTypeError, match=text):
            value(call)


def factorial(n):
    return 1 if n == 0 else n * factorial(n - 1)


def test_recursion_that_ends_while_compiling() -> None:
    assert value(lambda: factorial(6)) == 720
    with pytest.raises(ct.TileRecursionError):
        value(lambda: factorial(-1))


def test_closures_see_later_assignments() -> None:
    def compute(x):
        def add(y, step=1):
            return x + y + offset * step

        offset = 10
        first = add(1)
        offset = 20
        return first * 1000 + add(1, step=2)

    assert value(compute, 5) == 16 * 1000 + 46


def test_functions_are_values() -> None:
    def compute(x):
        def twice(f):
            return lambda y: f(f(y))

        g = twice(lambda y: y * SCALE)
        return g(x) + operator.sub(x, 1) + (ct.maximum if x is not None else ct.minimum)(x, 2)

    assert value(compute, 4) == 36 + 3 + 4


@ct.function
def marked(x):
    return x + 1


@ct.function(host=True)
def marked_for_both(x):
    return x + 2


def test_marked_functions() -> None:
    assert value(lambda: marked(1) + marked_for_both(1)) == 5
    assert marked_for_both(1) == 3
    with pytest.raises(RuntimeError):
        marked(1)


def test_globals_are_read_once() -> None:
    global SCALE
    kernel = ct.tile_kernel(reads_scale)
    x = np.zeros(1, np.int32)
    kernel[(1,)](x, 1)
    try:
        SCALE = 50
        kernel[(1,)](x, 2)
    finally:
        SCALE = 3
    assert x[0] == 6


def reads_scale(x, n: ct.Constant[int]):
    ct.store(x, (0,), SCALE * n)


# -- Tuples, dataclasses, enums --------------------------------------------------------------------------------------


def test_tuples() -> None:
    def compute():
        a, (b, c) = SETTINGS
        t = (a, c, *(7, 8)) + (9,)
        same = t[1:3] == (5, 7) and b == "low" and 8 in t and 6 not in t
        return t[-1] * 100 + len(t) * 10 + (1 if same else 0)

    assert value(compute) == 951


def test_dataclasses() -> None:
    def compute():
        c = Config(2, columns=3)
        d = replace(c.scaled(5), columns=7)
        return (c.area, d.area, CONFIG.columns, Config.double(3), c[1], CONFIG(1), d.dtype == ct.float32)

    for i, want in enumerate((6, 70, 4, 6, 3, 5, 1)):
        assert value(lambda i=i: compute()[i]) == want


class Pair(NamedTuple):
    x: Any
    y: Any = 2

    @property
    def total(self) -> Any:
        return self.x + self.y

    def scaled(self, k: Any) -> Pair:
        return Pair(self.x * k, self.y * k)


def test_a_named_tuple_goes_through_branches_and_loops() -> None:
    def compute(n: Any) -> Any:
        p = Pair(n)
        for i in range(3):
            p = p.scaled(2)._replace(y=i)
        if n > 0:
            p = Pair(y=p.x, x=p.y)
        q = p if n < 5 else p._replace(x=0)
        return q.total * 1000 + q[0] * 10 + len(q)

    for n in (-1, 1, 7):
        assert value(lambda n=n: compute(ct.bid(0) + n)) == compute(n)


def test_dataclasses_are_compared_by_their_fields() -> None:
    rows: Any = ct.bid
    assert value(lambda: Config(rows(0) + 8) == CONFIG) and value(lambda: Config(8, 5) != CONFIG)
    assert not value(lambda: Config(8, 5) == CONFIG)


def test_a_dataclass_goes_through_branches_and_loops() -> None:
    def compute(n):
        c = Config(0, n)
        for i in range(3):
            c = Config(c.rows + i, c.columns * 2)
        if n > 2:
            c = replace(c, rows=c.rows + 100)
        return c.rows * 1000 + c.columns

    assert value(compute, 3) == 103 * 1000 + 24
    assert value(compute, 1) == 3 * 1000 + 8


def test_enums() -> None:
    def compute(mode):
        first = 1 if mode == Mode.FAST else 2
        return first * 1000 + mode.value * 100 + Level.HIGH * 10 + (1 if Mode(2) == Mode.EXACT else 0)

    assert value(lambda: compute(Mode.FAST)) == 1141
    assert value(lambda: len(Mode.EXACT.name)) == 5
    with pytest.raises(ct.TileValueError):
        value(lambda: Mode(7).value)


def test_strings_and_getattr() -> None:
    def compute(x):
        name = "sha" + "pe"
        assert_rank = len(getattr(ct.zeros((2, 4), ct.int8), name))
        return assert_rank + (10 if f"{x}-{name}" == "3-shape" else 0)

    assert value(lambda: compute(3)) == 12


# -- Static evaluation -----------------------------------------------------------------------------------------------

TABLE = {"a": [1, 2, 3]}


def test_static_eval_and_iter() -> None:
    def compute(x):
        total = x
        for i, weight in ct.static_iter(enumerate(TABLE["a"])):
            total = total + (i + 1) * weight
        shape = ct.static_eval(tuple(max(2, n) for n in (1, 4)))
        t = ct.zeros(shape, ct.int32)
        ct.static_assert(t.shape == (2, 4))
        squares = tuple(k * k for k in ct.static_iter(range(5)) if k % 2)
        return total + squares[1] + i

    assert value(compute, 1) == 1 + 14 + 9 + 2


def test_loops_over_tuples() -> None:
    def compute(x):
        total = x
        for weight in (2, 3):
            total = total * 10 + weight
        for i, (a, b) in enumerate(zip((1, 2), (x, 4), strict=True), 1):
            total = total * 10 + i * (a * b)
        for nothing in x.shape:
            total = nothing
        return total, sum_of(tuple(a * b for a, b in zip((1, 2), (3, 4), strict=True)))

    def sum_of(items):
        total = 0
        for item in items:
            total = total + item
        return total

    assert value(lambda x: compute(x)[0], 1) == 12326
    assert value(lambda x: compute(x)[1], 1) == 11
    with pytest.raises(ct.TileError, match="zip"):
        value(lambda: tuple(zip((1,), (2, 3), strict=True)))


def test_rows_and_columns_are_taken_as_the_hint_says() -> None:
    def compute():
        t = ct.arange(16, dtype=ct.int32).reshape((4, 4))
        row, column = ct.extract(t, (3, 0), (1, 4)).reshape((4,)), ct.extract(t, (0, 2), (4, 1)).reshape((4,))
        return ct.sum(row) * 100 + ct.sum(column)

    assert value(compute) == (12 + 13 + 14 + 15) * 100 + (2 + 6 + 10 + 14)


def test_static_eval_sees_types_of_tiles() -> None:
    def compute(x):
        t = ct.zeros((4, 8), ct.float16)
        ct.static_assert(repr(t) == "<tile[float16, (4, 8)]>")
        return ct.static_eval(t.shape[1] if t.dtype is ct.float16 else x + 1)

    assert value(compute, 1) == 8


@pytest.mark.parametrize("compute,error", [
    (lambda x: ct.static_eval(bool(x)), ct.TileStaticEvalError), (lambda x: ct.static_eval([1]), ct.TileTypeError),
    (lambda x: ct.static_eval(1 // 0), ct.TileStaticEvalError),
    (lambda x: ct.static_eval(ct.static_eval(1)), ct.TileStaticEvalError),
    (lambda x: ct.static_assert(1), ct.TileTypeError),
    (lambda x: ct.static_assert(2 > 3, "no"), ct.TileStaticAssertionError),
    (lambda x: ct.ensure_constant(x), ct.TileStaticAssertionError),
])
def test_static_errors(compute: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        value(compute, 1)


# -- Context managers ------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def traced(out, first, last=9):
    position = ct.atomic_add(out, 0, 1)
    ct.scatter(out, position + 1, first)
    yield position
    ct.scatter(out, ct.atomic_add(out, 0, 1) + 1, last)


def test_with_runs_both_parts_on_every_way_out() -> None:
    @ct.tile_kernel
    def kernel(out, n: int):
        ct.store(out, (0,), 0)
        for i in range(3):
            with traced(out, 1) as a, traced(out, 2, last=8):
                if n == i:
                    break
                ct.scatter(out, 30 + i, a)
        with traced(out, 3, 7):
            if n == 1:
                return
        ct.scatter(out, 40, 1)

    def trace(n: int) -> list[int]:
        out = np.zeros(50, np.int32)
        kernel.interpret((1,), out, n, mode="single")
        return [*out[1 : out[0] + 1].tolist(), *out[30:33].tolist(), int(out[40])]

    assert trace(1) == [1, 2, 8, 9, 1, 2, 8, 9, 3, 7, 0, 0, 0, 0]
    assert trace(5) == [*[1, 2, 8, 9] * 3, 3, 7, 0, 4, 8, 1]


def test_with_needs_a_context_manager_entered_once() -> None:
    def twice(x):
        manager = traced(x, 1)
        with manager, manager:
            pass
        return 0

    for function, text in ((twice, "entered before"), (lambda x: with_(x), "expected a context manager")):
        with pytest.raises(ct.TileTypeError, match=text):
            value(function, np.zeros(50, np.int32))


def with_(x):
    with x:
        pass
    return 0
