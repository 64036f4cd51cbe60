"""Control flow in the simulator gives the interpreter's results: bounds, steps, carried values, nesting."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from tilewright.backend_ptx.simulator import simulate_function
from tilewright.interp import compile_function
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arith, arrays, control, memory, shape
from tilewright.tileir.types import ArrayType, TileType

INT = TileType(dt.int32)


class Kernel:
    """A kernel of integer scalars in, one array out; every call makes one op."""

    def __init__(self, scalars: int, type: TileType = INT, result: TileType | None = None) -> None:
        self.body = Block()
        self.type = type
        out = (result or type).dtype
        self.out = self.body.add_param(ArrayType(out, (None,), (1,), disjoint=True, small=True), "out")
        self.scalars = [self.body.add_param(type, f"s{i}") for i in range(scalars)]
        self.b = Builder(self.body)

    def number(self, value: int, type: TileType | None = None) -> Value:
        return self.b.value(arith.Constant(value=value, type=type or self.type))

    def __call__(self, cls: type[Op], lhs: Value, rhs: Value) -> Value:
        return self.b.value(cls(lhs=lhs, rhs=rhs))

    @contextmanager
    def loop(
        self, lower: Value, upper: Value, step: Value, init: Sequence[Value],
    ) -> Iterator[tuple[list[Value], list[Value]]]:
        """The body's parameters, and a list to put the yielded values and then the results in."""
        handed: list[Value] = []
        with self.b.into([lower.type, *(v.type for v in init)]) as body:
            yield body.params, handed
            self.b.emit(control.Yield(values=tuple(handed)))
        op = self.b.emit(control.For(lower=lower, upper=upper, step=step, init=tuple(init), loop=body))
        handed[:] = op.results

    def finish(self, *values: Value) -> Function:
        """Store scalars as out[0], out[1], ...; tiles as one tile from there on."""
        for i, value in enumerate(values):
            value = value if value.type.shape else self.b.value(shape.Reshape(src=value, shape=(1,)))
            place, length = self.number(i, INT), value.type.shape
            self.b.emit(memory.Store(array=self.out, index=(place,), value=value, steps=length, order=(0,)))
        self.b.emit(control.Return())
        return Function("k", self.body)


def check(function: Function, *scalars: int, size: int = 4) -> np.ndarray:
    """Both executors give the same; returns it."""
    kind = np.dtype(function.params[0].type.dtype.name)
    want, got = np.zeros(size, kind), np.zeros(size, kind)
    compile_function(function).run((1, 1, 1), [want, *scalars])
    simulate_function(function, 1, [got, *scalars], "sm_90a", max_steps=10_000)
    assert np.array_equal(got, want), (scalars, got, want)
    return got


def counting(type: TileType = INT) -> Function:
    """Iterations, sum and last value of a loop over range(s0, s1, s2)."""
    k = Kernel(3, type)
    zero = k.number(0)
    lower, upper, step = k.scalars
    with k.loop(lower, upper, step, [zero, zero, zero]) as (params, handed):
        i, count, total, _ = params
        handed += [k(arith.Add, count, k.number(1)), k(arith.Add, total, i), i]
    return k.finish(*handed)


@pytest.mark.parametrize("bounds", [
    (0, 0, 1), (0, 1, 1), (0, 10, 1), (3, 10, 4), (3, 11, 4), (5, 3, 1), (-7, 8, 5), (0, 7, 100),
    (2**31 - 5, 2**31 - 1, 3), (-(2**31), -(2**31) + 10, 7), (2**31 - 3, 2**31 - 1, 1), (-(2**31), 2**31 - 1, 2**30),
])
def test_for(bounds: tuple[int, int, int]) -> None:
    got = check(counting(), *bounds)
    assert got[0] == len(range(*bounds))


@pytest.mark.parametrize("bounds", [(0, 5, 2), (2**32 - 6, 2**32 - 1, 4), (2**31 - 2, 2**31 + 3, 2), (7, 3, 1)])
def test_unsigned_for(bounds: tuple[int, int, int]) -> None:
    got = check(counting(TileType(dt.uint32)), *bounds)
    assert got[0] == len(range(*bounds))


def test_64_bit_for() -> None:
    check(counting(TileType(dt.int64)), 2**40, 2**40 + 10, 3)


def test_nested_for_with_a_tile() -> None:
    k = Kernel(2)
    start = k.b.value(shape.Iota(size=64, dtype=dt.int32))
    zero, one = k.number(0), k.number(1)
    with k.loop(zero, k.scalars[0], one, [start]) as ((i, outer), result):
        with k.loop(i, k.scalars[1], one, [outer]) as ((j, tile), inner):
            inner.append(k(arith.Add, tile, k.b.value(shape.Broadcast(src=j, shape=(64,)))))
        result.append(inner[0])
    got = check(k.finish(result[0]), 3, 5, size=64)
    assert list(got) == [n + sum(range(0, 5)) + sum(range(1, 5)) + sum(range(2, 5)) for n in range(64)]


@pytest.mark.parametrize("start", [1, 6, 7, 27])
def test_while(start: int) -> None:
    """Collatz: length and largest value."""
    k = Kernel(1)
    one = k.number(1)
    with k.b.into([INT] * 3) as before:
        n, length, most = before.params
        k.b.emit(control.Condition(cond=k(arith.Ne, n, one), values=(n, length, most)))
    with k.b.into([INT] * 3) as after:
        n, length, most = after.params
        odd = k(arith.Eq, k(arith.And, n, one), one)
        with k.b.into() as then:
            k.b.emit(control.Yield(values=(k(arith.Add, k(arith.Mul, n, k.number(3)), one),)))
        with k.b.into() as orelse:
            k.b.emit(control.Yield(values=(k(arith.Shr, n, one),)))
        new = k.b.emit(control.If(cond=odd, then=then, orelse=orelse)).result
        k.b.emit(control.Yield(values=(new, k(arith.Add, length, one), k(arith.Max, most, new))))
    loop = k.b.emit(control.While(init=(k.scalars[0], k.number(0), k.scalars[0]), before=before, after=after))
    got = check(k.finish(*loop.results[1:]), start)
    assert (start, *got[:2]) in {(1, 0, 1), (6, 8, 16), (7, 16, 52), (27, 111, 9232)}


def test_if_loads_from_one_of_two_arrays() -> None:
    """Loads inside branches; tiles and scalars meet at the join."""
    body = Block()
    types = [ArrayType(dt.float32, (None,), (stride,), disjoint=True) for stride in (1, None, 1)]
    x, y, out = (body.add_param(t, n) for t, n in zip(types, "xyo", strict=True))
    flag = body.add_param(TileType(dt.bool_), "flag")
    b = Builder(body)
    blocks = []
    for array in (x, y):
        with b.into() as block:
            zero = b.value(arith.Constant(value=0, type=INT))
            tile = b.value(memory.Load(array=array, index=(zero,), shape=(32,), steps=(32,), order=(0,)))
            count = b.value(arrays.Extent(array=array, axis=0))
            b.emit(control.Yield(values=(tile, count)))
        blocks.append(block)
    chosen = b.emit(control.If(cond=flag, then=blocks[0], orelse=blocks[1]))
    zero = b.value(arith.Constant(value=0, type=INT))
    b.emit(memory.Store(array=out, index=(zero,), value=chosen.results[0], steps=(32,), order=(0,)))
    b.emit(control.Return())
    function = Function("k", body)
    data = [np.arange(20, dtype=np.float32), np.arange(60, dtype=np.float32)[::-2]]
    for flag_value in (True, False):
        got, want = np.zeros(32, np.float32), np.zeros(32, np.float32)
        compile_function(function).run((1, 1, 1), [*data, want, flag_value])
        simulate_function(function, 1, [*data, got, flag_value], "sm_90a")
        assert np.array_equal(got, want)


def carried_array() -> Function:
    """A loop that carries a view and shortens it from the left: x[1:][1:]..., whose first elements are added up."""
    body = Block()
    view = ArrayType(dt.int32, (None,), (None,), disjoint=True)
    x = body.add_param(view, "x")
    out = body.add_param(ArrayType(dt.int32, (None,), (1,)), "out")
    b = Builder(body)

    def number(value: int) -> Value:
        return b.value(arith.Constant(value=value, type=INT))

    zero, one = number(0), number(1)
    length = b.value(arrays.Extent(array=x, axis=0))
    with b.into([INT, view, INT]) as loop:
        _, rest, total = loop.params
        first = b.value(memory.Load(array=rest, index=(number(0),), shape=(1,), steps=(1,), order=(0,)))
        total = b.value(arith.Add(lhs=total, rhs=b.value(shape.Reshape(src=first, shape=()))))
        stop = b.value(arrays.Extent(array=rest, axis=0))
        shorter = b.value(arrays.SliceArray(array=rest, start=one, stop=stop, axis=0, type=view))
        b.emit(control.Yield(values=(shorter, total)))
    done = b.emit(control.For(lower=zero, upper=length, step=one, init=(x, zero), loop=loop))
    left = b.value(arrays.Extent(array=done.results[0], axis=0))
    for i, value in enumerate((done.results[1], left)):
        tile = b.value(shape.Reshape(src=value, shape=(1,)))
        b.emit(memory.Store(array=out, index=(number(i),), value=tile, steps=(1,), order=(0,)))
    b.emit(control.Return())
    return Function("k", body)


@pytest.mark.parametrize("make", [lambda: np.arange(9, dtype=np.int32), lambda: np.arange(40, dtype=np.int32)[::-3]])
def test_a_loop_carries_an_array(make: Callable[[], np.ndarray]) -> None:
    x, out = make(), np.full(2, -1, np.int32)
    simulate_function(carried_array(), 1, [x, out], "sm_90a")
    assert list(out) == [x.sum(), 0]
