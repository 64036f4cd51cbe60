"""Random loops, branches and products for warpgroups: simulated code and interpreter agree, whatever got a ring."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.thorough import part

from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value, clone_function
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, control, memory, shape
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.reduce import ReduceMax
from tilewright.tileir.plan import Hints
from tilewright.tileir.types import ArrayType, TileType

INDEX = TileType(dt.int32)
TARGET = get_target("sm_90a")
SEEDS = part(range(40), 2)


class Program:
    """Two accumulators go through random control flow; operands are small integers, so that all sums are exact."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.m, self.n, self.k = self.r.choice([(64, 16, 32), (64, 32, 32), (64, 64, 32), (128, 32, 32), (64, 32, 64)])
        self.body = Block()
        self.b = Builder(self.body)
        self.given: list[Any] = []
        self.numbers = [self._number() for _ in range(2)]
        self.left = [self._array(2 * self.m, 5 * self.k + 8) for _ in range(2)]
        self.right = [self._array(5 * self.k + 8, 2 * self.n + 8) for _ in range(2)]
        self.table = self._table()
        self.out = self._results(3)
        self.loaded: dict[tuple[str, int], Value] = {}
        tile = TileType(dt.float32, (self.m, self.n))
        accs = [self.b.value(arith.Constant(value=0.0, type=tile)) for _ in range(2)]
        for _ in range(self.r.randint(1, 3)):
            accs = self._statement(accs, [], 2)
        for array, acc in zip(self.out[:2], accs, strict=True):
            self._store(array, acc)
        self.b.emit(control.Return())
        hints = Hints(num_worker_warps=self.r.choice([4, 8])) if self.r.random() < 0.5 else Hints()
        self.function = Function(f"random{seed}", self.body, hints)

    # ---- parameters ----------------------------------------------------------------------------------------------

    def _number(self) -> Value:
        self.given.append(self.r.randint(0, 3))
        return self.body.add_param(INDEX, "n")

    def _array(self, height: int, width: int) -> Value:
        rng = np.random.default_rng(self.r.randint(0, 99))
        self.given.append(rng.integers(-2, 3, (height, width)).astype(np.float16))
        type_ = ArrayType(dt.float16, (None, None), (None, 1), (1, 1), (8, 1), 16, True, True)
        return self.body.add_param(type_, "x")

    def _table(self) -> Value:
        self.given.append(np.array([2, 0, 3, 1], np.int32))
        return self.body.add_param(ArrayType(dt.int32, (None,), (1,), (1,), (1,), 16, True, True), "table")

    def _results(self, count: int) -> list[Value]:
        type_ = ArrayType(dt.float32, (None, None), (None, 1), (1, 1), (4, 1), 16, True, True)
        self.given += [np.zeros((self.m, self.n), np.float32) for _ in range(count)]
        return [self.body.add_param(type_, "out") for _ in range(count)]

    def arguments(self) -> list[Any]:
        return [a.copy() if isinstance(a, np.ndarray) else a for a in self.given]

    # ---- statements ----------------------------------------------------------------------------------------------

    def constant(self, value: int) -> Value:
        return self.b.value(arith.Constant(value=value, type=INDEX))

    def like(self, tile: Value, value: float) -> Value:
        return self.b.value(arith.Constant(value=value, type=tile.type))

    def _statement(self, accs: list[Value], indices: list[Value], depth: int) -> list[Value]:
        kinds = ["inner"] * 3 + ["step"] + (["outer", "if"] * 2 + ["store"] if depth else [])
        kind = self.r.choice(kinds)
        if kind == "if":
            return self._if(accs, indices, depth)
        if kind == "store":
            self._store(self.out[2], accs[0])
            return accs
        if kind == "step":
            return self._step(accs, indices)
        return self._loop(accs, indices, 0 if kind == "inner" else depth)

    def _bound(self) -> Value:
        way = self.r.choice(["constant", "constant", "number", "table"])
        if way == "constant":
            return self.constant(self.r.choice([0, 1, 2, 3, 5, 8]))
        number = self.r.choice(self.numbers)
        if way == "number":
            return number
        one = self.b.value(memory.Load(
            array=self.table, index=(number,), shape=(1,), steps=(1,), order=(0,), padding=PaddingMode.ZERO))
        return self.b.value(shape.Reshape(src=one, shape=()))

    def _loop(self, accs: list[Value], indices: list[Value], depth: int) -> list[Value]:
        """An innermost loop of steps, or one with statements of less depth."""
        lower, upper = self.constant(self.r.choice([0, 0, 1])), self._bound() if depth == 0 else self.constant(2)
        step = self.constant(self.r.choice([1, 1, 2]))
        with self.b.into([INDEX, *(a.type for a in accs)], ["k", "acc", "acc"]) as loop:
            inside = [*indices, loop.params[0]]
            now = list(loop.params[1:])
            for _ in range(self.r.randint(1, 2)):
                now = self._step(now, inside) if depth == 0 else self._statement(now, inside, depth - 1)
            self.b.emit(control.Yield(values=tuple(now)))
        made = control.For(lower=lower, upper=upper, step=step, init=tuple(accs), loop=loop)
        return list(self.b.emit(made).results)

    def _if(self, accs: list[Value], indices: list[Value], depth: int) -> list[Value]:
        cond = self._condition(accs, indices)
        blocks = []
        for _ in range(2):
            with self.b.into([], []) as block:
                now = self._statement(accs, indices, depth - 1) if self.r.random() < 0.6 else accs
                self.b.emit(control.Yield(values=tuple(now)))
            blocks.append(block)
        return list(self.b.emit(control.If(cond=cond, then=blocks[0], orelse=blocks[1])).results)

    def _condition(self, accs: list[Value], indices: list[Value]) -> Value:
        if self.r.random() < 0.25:  # known to those only who hold the tile
            top = self.b.value(ReduceMax(src=accs[0], axes=(0, 1)))
            return self.b.value(arith.Gt(lhs=top, rhs=self.b.value(arith.Constant(value=9.0, type=top.type))))
        number = self.r.choice([*self.numbers, *indices])
        return self.b.value(arith.Gt(lhs=number, rhs=self.constant(self.r.choice([0, 0, 1]))))

    def _store(self, array: Value, acc: Value) -> None:
        zero, size = self.constant(0), (self.m, self.n)
        self.b.emit(memory.Store(array=array, index=(zero, zero), value=acc, steps=size, order=(0, 1)))

    # ---- steps ---------------------------------------------------------------------------------------------------

    def _step(self, accs: list[Value], indices: list[Value]) -> list[Value]:
        """A product into one of the accumulators, or something that its threads compute."""
        i, b = self.r.randrange(2), self.b
        out = list(accs)
        kind = self.r.choice(["product"] * 5 + ["fresh", "clamp", "registers"])
        if kind == "clamp":
            out[i] = b.value(arith.Max(lhs=accs[i], rhs=self.like(accs[i], -50.0)))
            return out
        if kind == "registers" and self.k == self.n:
            out[i] = b.value(arith.Add(lhs=accs[i], rhs=b.value(Cast(src=self._left(indices), dtype=dt.float32))))
            return out
        left = self._from_sums(accs[1 - i]) if self.k == self.n and self.r.random() < 0.3 else self._left(indices)
        acc = self.like(accs[i], 0.0) if kind == "fresh" else accs[i]
        right = self._operand(self.right, (self.k, self.n), indices)
        made = b.value(Mma(a=left, b=right, acc=acc))
        out[i] = b.value(arith.Max(lhs=accs[i], rhs=made)) if kind == "fresh" else made
        if self.r.random() < 0.3 and kind == "product":  # another product of the same operand
            more = self._operand(self.right, (self.k, self.n), indices)
            out[1 - i] = b.value(Mma(a=left, b=more, acc=accs[1 - i]))
        return out

    def _left(self, indices: list[Value]) -> Value:
        return self._operand(self.left, (self.m, self.k), indices)

    def _from_sums(self, acc: Value) -> Value:
        """An operand that is a former sum, cut off so that it is exact in float16."""
        low = self.b.value(arith.Max(lhs=acc, rhs=self.like(acc, -2.0)))
        return self.b.value(Cast(src=self.b.value(arith.Min(lhs=low, rhs=self.like(acc, 2.0))), dtype=dt.float16))

    def _operand(self, arrays: list[Value], size: tuple[int, int], indices: list[Value]) -> Value:
        """A tile as it is loaded, turned or computed."""
        b, array = self.b, self.r.choice(arrays)
        number = self.r.choice([*indices, *self.numbers, *indices]) if indices else self.constant(1)
        capped = b.value(arith.Min(lhs=number, rhs=self.constant(1 if array in self.left else 5)))
        index = (capped, self.constant(0)) if self.r.random() < 0.5 else (self.constant(0), number)
        turned = self.r.random() < 0.25
        shown = size[::-1] if turned else size
        t = b.value(memory.Load(
            array=array, index=index, shape=shown, steps=shown, order=self.r.choice([(0, 1), (0, 1), (1, 0)]),
            padding=PaddingMode.ZERO, latency=self.r.choice([None, None, 2, 2, 1]),
            allow_tma=self.r.choice([None] * 5 + [False])))
        if turned:
            t = b.value(shape.Permute(src=t, axes=(1, 0)))
        return b.value(arith.Add(lhs=t, rhs=t)) if self.r.random() < 0.2 else t


def ops_of(seed: int) -> list[Op]:
    made = clone_function(Program(seed).function)
    run_passes(made, TARGET)
    return list(made.walk())


def test_the_programs_cover_what_can_happen() -> None:
    found = [{type(op).__name__ for op in ops_of(seed)} for seed in SEEDS]
    for name, least in (("Wgmma", 15), ("TmaLoad", 15), ("MbarrierArrive", 15), ("ProxyFence", 10), ("AsyncLoad", 3)):
        assert sum(name in ops for ops in found) >= least, name


@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_code_agrees_with_the_interpreter(seed: int) -> None:
    program = Program(seed)
    wanted, got = program.arguments(), program.arguments()
    compile_function(program.function).run((1, 1, 1), wanted)
    lowered = lower_function(program.function, TARGET)
    simulate_lowered(lowered, (1,), got, schedule="random", seed=seed)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
