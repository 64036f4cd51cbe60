"""Runs of index tiles: what is claimed of random index arithmetic holds of what the interpreter computes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp import compile_function
from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis.facts import facts
from tilewright.tileir.analysis.runs import Run, runs
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.ops import arith, arrays, control, memory, shape
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.parser import parse
from tilewright.tileir.types import ArrayType, TileType

SHAPE = (8, 32)
BINARY = (arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor, arith.Min, arith.Max)
COMPARE = (arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Eq, arith.Ne)
NUMBERS = (0, 1, 2, 4, 7, 8, 15, 16, 24, 32, -1, -8, -16, 100)
Axes = tuple[int, ...]


class Draw:
    """Random tiles of SHAPE in one integer dtype, made of counting, numbers and one loaded tile."""

    def __init__(self, seed: int, dtype: dt.DType) -> None:
        self.random = random.Random(seed)
        self.dtype = dtype
        body = Block()
        self.given = body.add_param(ArrayType(dtype, SHAPE, (SHAPE[1], 1), disjoint=True), "x")
        self.out = body.add_param(ArrayType(dtype, SHAPE, (SHAPE[1], 1), disjoint=True), "y")
        self.b = Builder(body)
        self.function = Function("k", body)
        self.tiles = [self.counting(0), self.counting(1), self.counting(None), self.loaded()]

    def number(self, value: int, tile: Axes = SHAPE) -> Value:
        low, high = self.dtype.int_range
        return self.b.value(arith.Constant(value=min(max(value, low), high), type=TileType(self.dtype, tile)))

    def counting(self, axis: int | None) -> Value:
        """Along one axis, or over all elements in row-major order."""
        if axis is None:
            count = self.b.value(shape.Iota(size=SHAPE[0] * SHAPE[1], dtype=self.dtype))
            return self.b.value(shape.Reshape(src=count, shape=SHAPE))
        count = self.b.value(shape.Iota(size=SHAPE[axis], dtype=self.dtype))
        line = (SHAPE[0], 1) if axis == 0 else (1, SHAPE[1])
        return self.b.value(shape.Broadcast(src=self.b.value(shape.Reshape(src=count, shape=line)), shape=SHAPE))

    def loaded(self) -> Value:
        zero = self.b.value(arith.Constant(value=0, type=TileType(dt.int32)))
        return self.b.value(memory.Load(array=self.given, index=(zero, zero), shape=SHAPE, steps=SHAPE, order=(0, 1)))

    def block(self) -> Value:
        place = self.b.value(arrays.BlockId(axis=0))
        place = place if self.dtype is dt.int32 else self.b.value(Cast(src=place, dtype=self.dtype))
        return self.b.value(shape.Broadcast(src=place, shape=SHAPE))

    def any(self) -> Value:
        return self.random.choice([*self.tiles, self.number(self.random.choice(NUMBERS)), self.block()])

    def step(self) -> None:
        kinds: list[Callable[[], Value]] = [
            self.binary, self.binary, self.divided, self.shifted, self.chosen, self.turned, self.cast, self.carried]
        self.tiles.append(self.random.choice(kinds)())

    def binary(self) -> Value:
        return self.b.value(self.random.choice(BINARY)(lhs=self.any(), rhs=self.any()))

    def divided(self) -> Value:
        op = self.random.choice((arith.FloorDiv, arith.Mod))
        return self.b.value(op(lhs=self.any(), rhs=self.number(self.random.choice([n for n in NUMBERS if n]))))

    def shifted(self) -> Value:
        op = self.random.choice((arith.Shr, arith.Shl))
        return self.b.value(op(lhs=self.any(), rhs=self.number(self.random.choice((0, 1, 3, 5)))))

    def chosen(self) -> Value:
        cond = self.b.value(self.random.choice(COMPARE)(lhs=self.any(), rhs=self.any()))
        return self.b.value(arith.Select(cond=cond, lhs=self.any(), rhs=self.any()))

    def turned(self) -> Value:
        """A trip through other shapes."""
        value = self.any()
        if self.random.random() < 0.5:
            value = self.b.value(shape.Permute(src=value, axes=(1, 0)))
        middle = self.random.choice([(256,), (4, 64), (2, 4, 32), (16, 1, 16)])
        return self.b.value(shape.Reshape(src=self.b.value(shape.Reshape(src=value, shape=middle)), shape=SHAPE))

    def cast(self) -> Value:
        other = self.random.choice((dt.int8, dt.uint8, dt.int16, dt.int64))
        return self.b.value(Cast(src=self.b.value(Cast(src=self.any(), dtype=other)), dtype=self.dtype))

    def carried(self) -> Value:
        """Changed in each round of a loop."""
        start, body = self.any(), Block()
        variable, tile = body.add_param(TileType(dt.int32)), body.add_param(start.type)
        outer, self.b = self.b, Builder(body)
        self.b.emit(control.Yield(values=(self.b.value(arith.Add(lhs=tile, rhs=self.any())),)))
        self.b = outer
        low, high, step = (self.b.value(arith.Constant(value=n, type=variable.type)) for n in (0, 3, 1))
        return self.b.value(control.For(lower=low, upper=high, step=step, init=(start,), loop=body))

    def finish(self) -> tuple[Function, Value]:
        zero = self.b.value(arith.Constant(value=0, type=TileType(dt.int32)))
        self.b.emit(memory.Store(array=self.out, index=(zero, zero), value=self.tiles[-1], steps=SHAPE, order=(0, 1)))
        self.b.emit(control.Return())
        return self.function, self.tiles[-1]


def holds(tile: np.ndarray[Any, Any], axis: int, run: Run) -> bool:
    lines = np.moveaxis(tile, axis, -1).astype(object)
    rising = lines.reshape(-1, run.rises)
    staying = lines.reshape(-1, run.stays)
    counts = rising[:, :1] + np.arange(run.rises) == rising
    return bool(np.all(counts) and not np.any(rising[:, 0] % run.rises) and np.all(staying == staying[:, :1]))


@pytest.mark.parametrize("dtype", [dt.int32, dt.int64, dt.int8, dt.uint8], ids=str)
def test_claims_hold(dtype: dt.DType) -> None:
    found = 0
    for seed in range(120):
        draw = Draw(seed, dtype)
        for _ in range(draw.random.randint(1, 6)):
            draw.step()
        function, value = draw.finish()
        claims = runs(function, facts(function))[value]
        found += any(run != Run() for run in claims)
        rng = np.random.default_rng(seed)
        x = rng.integers(*dtype.int_range, SHAPE, endpoint=True).astype(str(dtype))
        y = np.zeros_like(x)
        compile_function(function).run((1, 1, 1), [x, y])
        for axis, run in enumerate(claims):
            assert holds(y, axis, run), f"seed {seed}, axis {axis}: {run} of\n{function}\n{y}"
    assert found > 40  # most have something to say


def one(make: Callable[[Draw], Value]) -> tuple[Run, ...]:
    draw = Draw(0, dt.int32)
    draw.tiles.append(make(draw))
    function, value = draw.finish()
    return runs(function, facts(function))[value]


def test_usual_indices() -> None:
    """Columns of a tile, rows and columns of a flat number, an unknown row times a known stride, clamped bounds."""
    eights = lambda d: d.b.value(arith.Mul(lhs=d.block(), rhs=d.number(8)))  # noqa: E731
    assert one(lambda d: d.tiles[1]) == (Run(1, 8), Run(32, 1))
    assert one(lambda d: d.tiles[2]) == (Run(1, 1), Run(32, 1))
    assert one(lambda d: d.b.value(arith.Add(lhs=eights(d), rhs=d.tiles[1]))) == (Run(1, 8), Run(8, 1))
    assert one(lambda d: d.b.value(arith.FloorDiv(lhs=d.tiles[2], rhs=d.number(16))))[1] == Run(1, 16)
    assert one(lambda d: d.b.value(arith.Mod(lhs=d.tiles[2], rhs=d.number(16))))[1] == Run(16, 1)
    assert one(lambda d: d.b.value(arith.Add(lhs=d.tiles[1], rhs=d.number(1)))) == (Run(1, 8), Run(1, 1))
    assert one(lambda d: d.tiles[3]) == (Run(), Run())


def test_an_index_that_a_while_loop_carries() -> None:
    @tw.tile_kernel
    def walk(x, out, n):
        k, i, s = 0, tw.arange(64, dtype=tw.int32), tw.zeros((64,), tw.float32)
        while k < n:
            s += tw.gather(x, i)
            k, i = k + 1, i + 64
        tw.store(out, 0, s)

    function = parse(walk.ir(tw.spec("f32[?]"), tw.spec("f32[?]"), tw.spec("i32")))
    [gather] = [op for op in function.walk() if isinstance(op, memory.Gather)]
    assert runs(function, facts(function))[gather.indices[0]] == (Run(64, 1),)
