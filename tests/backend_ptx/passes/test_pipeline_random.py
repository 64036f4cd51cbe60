"""Random loops of loads through the whole backend: simulated code and interpreter agree, whatever was pipelined."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from support.decisions import told

from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import arith, control, memory, shape
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.plan import Hints
from tilewright.tileir.types import ArrayType, TileType

DTYPES = [(dt.float32, np.float32), (dt.float16, np.float16), (dt.int32, np.int32), (dt.int8, np.int8)]
PADDINGS = [PaddingMode.ZERO] * 4 + [PaddingMode.UNDETERMINED, PaddingMode.NEG_ZERO, PaddingMode.NEG_INF]
INDEX = TileType(dt.int32)
SEEDS = range(60)


class Program:
    """A loop that adds up tiles of several arrays, some of them turned; small integers, so that all sums are exact."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.rows, self.columns = self.r.choice([(8, 64), (16, 128), (32, 32), (64, 64), (1, 512)])
        self.dtype, self.held = self.r.choice(DTYPES)
        self.body = Block()
        self.b = Builder(self.body)
        self.given: list[Any] = []
        self.arrays = [self._array(k) for k in range(self.r.randint(1, 3))]
        self.rounds = self.r.choice([0, 1, 2, 3, 4, 7])
        self.step = self.r.choice([1, 1, 1, 2, 3])
        self.lower = self.r.choice([0, 0, 1, -1])
        bounds = self._bounds()
        total = self._loop(*bounds)
        self._store(total)
        self.b.emit(control.Return())
        hints = Hints(num_worker_warps=self.r.choice([1, 2, 4, 8]))
        self.function = Function(f"random{seed}", self.body, hints)

    def constant(self, value: int, b: Builder | None = None) -> Value:
        return (b or self.b).value(arith.Constant(value=value, type=INDEX))

    def _array(self, number: int) -> Value:
        rng = np.random.default_rng([number, self.r.randint(0, 99)])
        height = self.r.choice([self.rows, 2 * self.rows, 3 * self.rows + 5])
        width = self.r.choice([self.columns, 3 * self.columns, 2 * self.columns + 7, self.columns + 12])
        multiple = self.r.choice([16, 16, 8, 4, 1])
        pitch = -(-width // multiple) * multiple
        data = rng.integers(-3, 4, (height, pitch)).astype(self.held)[:, :width]
        self.given.append(data)
        align = min(16, multiple * self.dtype.bytes)
        exact = self.r.random() < 0.3
        type_ = ArrayType(
            self.dtype, (height, width) if exact else (None, None), (None, 1),
            (height, width) if exact else (1, 1), (multiple, 1),
            max(align & -align, self.dtype.bytes), True, self.r.random() < 0.5)
        return self.body.add_param(type_, f"x{number}")

    def _bounds(self) -> tuple[Value, Value, Value]:
        upper = self.lower + self.rounds * self.step - (self.r.randrange(self.step) if self.rounds else 0)
        out = []
        for name, value in (("lower", self.lower), ("upper", upper), ("step", self.step)):
            if self.r.random() < 0.5:
                self.given.append(value)
                out.append(self.body.add_param(INDEX, name))
            else:
                out.append(self.constant(value))
        return out[0], out[1], out[2]

    def _loop(self, lower: Value, upper: Value, step: Value) -> Value:
        tile = TileType(dt.float32, (self.rows, self.columns))
        zero = self.b.value(arith.Constant(value=0.0, type=tile))
        with self.b.into([INDEX, tile], ["k", "acc"]) as loop:
            k, acc = loop.params
            for array in self.arrays:
                acc = self.b.value(arith.Add(lhs=acc, rhs=self._part(array, k)))
            self.b.emit(control.Yield(values=(acc,)))
        return self.b.emit(control.For(lower=lower, upper=upper, step=step, init=(zero,), loop=loop)).results[0]

    def _part(self, array: Value, k: Value) -> Value:
        """A tile whose index depends on k, added as it is or turned."""
        b = self.b
        moved = b.value(arith.Add(lhs=k, rhs=self.constant(self.r.choice([0, 0, 1, -1]))))
        if self.r.random() < 0.3:
            moved = b.value(arith.Min(lhs=moved, rhs=self.constant(2)))
        index = (moved, self.constant(0)) if self.r.random() < 0.5 else (self.constant(0), moved)
        turned = self.r.random() < 0.4
        size = (self.columns, self.rows) if turned else (self.rows, self.columns)
        order = (1, 0) if self.r.random() < 0.2 else (0, 1)
        t = b.value(memory.Load(
            array=array, index=index, shape=size, steps=size, order=order, padding=self.r.choice(PADDINGS),
            latency=self.r.choice([None, None, 1, 3, 10])))
        if turned:
            t = b.value(shape.Permute(src=t, axes=(1, 0)))
        return t if self.dtype is dt.float32 else b.value(Cast(src=t, dtype=dt.float32))

    def _store(self, total: Value) -> None:
        out = self.body.add_param(ArrayType(
            dt.float32, (None, None), (None, 1), (1, 1), (4, 1), 16, True, True), "out")
        self.given.append(np.zeros((self.rows, self.columns), np.float32))
        zero = self.constant(0)
        size = (self.rows, self.columns)
        self.b.emit(memory.Store(array=out, index=(zero, zero), value=total, steps=size, order=(0, 1)))

    def arguments(self) -> list[Any]:
        """In the order of the parameters: arrays, then scalars as they came, then the result."""
        return [*self.given[:-1], self.given[-1].copy()]


def reports() -> list[str]:
    from tilewright.backend_ptx.pipeline import run_passes

    out = []
    for seed in SEEDS:
        f = Program(seed).function
        run_passes(f, get_target("sm_90a"))
        out.append(told(f, "pipeline"))
    return out


def test_the_programs_cover_what_can_happen() -> None:
    found = "\n".join(reports())
    for words in ("each thread its own part", "slots of", "stays a load (padding", "as latency=", "latency=1",
                  "at most", "contiguous"):
        assert words in found, words


@pytest.mark.parametrize("seed", SEEDS)
def test_simulated_code_agrees_with_the_interpreter(seed: int) -> None:
    program = Program(seed)
    wanted, got = program.arguments(), program.arguments()
    compile_function(program.function).run((1, 1, 1), wanted)
    lowered = lower_function(program.function, get_target(("sm_80", "sm_90a")[seed % 2]))
    simulate_lowered(lowered, (1,), got, schedule="random", seed=seed)
    np.testing.assert_array_equal(got[-1], wanted[-1])
