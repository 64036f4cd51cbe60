"""Random well-typed Tile IR functions, deterministic from a seed, and inputs to run them on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from support.interp_cases import array_dtype
from support.tileir.operands import PLACES
from support.tileir.ops import Ops

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, control
from tilewright.tileir.plan import Decision, Hints, Limits, MachinePlan, Role, Switches
from tilewright.tileir.types import ArrayType, ListType, TileType, Type


def random_function(seed: int, size: int = 25) -> Function:
    """A function of about `size` ops over arrays (f32, i32, bf16; one of rank 2), a list of arrays, and scalars."""
    return _Programs(random.Random(seed), size).function()


def arguments(function: Function, seed: int) -> list[Any]:
    """Arguments of such a function: extents that are no multiple of a tile, some strided views."""
    rng = np.random.default_rng(seed)
    return [_argument(p.type, rng) for p in function.params]


def _argument(type_: Type, rng: np.random.Generator) -> Any:
    if isinstance(type_, ListType):
        return [_argument(type_.element, rng) for _ in range(3)]
    if isinstance(type_, ArrayType):
        known = [n for n in type_.extents if n is not None]
        extents = known if len(known) == type_.rank else rng.integers(3, 21, type_.rank).tolist()
        return _numbers(type_.dtype, tuple(extents), rng)
    assert isinstance(type_, TileType)
    return _numbers(type_.dtype, (1,), rng)[0]


def _numbers(dtype: DType, extents: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype.is_bool:
        return rng.integers(0, 2, extents).astype(np.bool_)
    if dtype.is_int:
        return rng.integers(0 if not dtype.is_signed else -9, 20, extents).astype(array_dtype(dtype))
    values = (rng.standard_normal(extents) * 4).astype(np.float32)
    special = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], np.float32), extents)
    return np.where(rng.random(extents) < 0.4, special, values).astype(array_dtype(dtype))


class _Programs(Ops):
    """Whole functions: parameters, blocks of random ops, branches and loops."""

    def function(self) -> Function:
        body = self.build.block
        one, two = ((None,), (1,)), ((None, None), (None, 1))
        self.arrays = [
            body.add_param(ArrayType(dt.float32, *one, extent_div=(1,)), "x"),
            body.add_param(ArrayType(dt.int32, *one), "y"),
            body.add_param(ArrayType(dt.float32, *two, align=16), "z"),
            body.add_param(ArrayType(dt.bfloat16, (16,), (1,)), "w"),
        ]
        # Results go here, each to a place of its own.
        self.outputs = {
            dtype: body.add_param(ArrayType(dtype, (PLACES * 16,), (1,)), f"out_{dtype.ir}")
            for dtype in (dt.float32, dt.int32, dt.float64)
        }
        self.lists = [body.add_param(ListType(ArrayType(dt.float32, *one)), "xs")]
        for name, dtype in (("n", dt.int32), ("f", dt.float32), ("b", dt.bool_)):
            self.values.append(body.add_param(TileType(dtype), name))
        self.ops()
        self.keep_some(12)
        self.build.emit(control.Return())
        function = Function("random", body, Hints(occupancy=2) if self.rng.random() < 0.3 else Hints())
        if self.rng.random() < 0.3:
            function.switches, function.limits = Switches(allow_tma_stores=False), Limits(max_stages=3)
            function.plan = MachinePlan(8, stages=(4, 2), roles=(Role("one", 4, 40), Role("other", 1)))
            function.decisions = [Decision("num_warps", 8, 'a "reason"\n\\ \u2192'), Decision("rings", "none")]
        return function

    def ops(self) -> None:
        while self.left > 0:
            self.left -= 1
            self.rng.choice(_MAKERS)(self)
            if self.depth and self.rng.random() < 0.15:
                return

    # --- control flow ------------------------------------------------------------------------------------------------

    def body(self, params: list[Type]) -> Any:
        """A context that collects ops into a new block, with its own scope."""
        return _Body(self, params)

    def carried(self) -> list[Value]:
        return [self.rng.choice(self.values[-12:]) for _ in range(self.rng.randrange(4))]

    def branch(self) -> None:
        if self.depth > 2:
            return
        cond = self.of(TileType(dt.bool_))
        types = [v.type for v in self.carried()]
        blocks = []
        for _ in range(2):
            with self.body([]) as block:
                self.ops()
                self.keep_some(self.rng.randrange(3))
                self.build.emit(control.Yield(values=tuple(self.of(t) for t in types)))
            blocks.append(block)
        self.finish(control.If(cond=cond, then=blocks[0], orelse=blocks[1]))

    def counted(self) -> None:
        if self.depth > 2:
            return
        i32 = TileType(dt.int32)
        lower, step = (self.add(arith.Constant(value=v, type=i32)) for v in (self.rng.randrange(3), 2))
        if self.rng.random() < 0.5:
            upper = self.add(arith.Constant(value=self.rng.randrange(6), type=i32))
        else:  # what the data say, at most 5
            upper = self.add(arith.Min(lhs=self.index(), rhs=self.add(arith.Constant(value=5, type=i32))))
        init = self.carried()
        with self.body([i32, *(v.type for v in init)]) as block:
            self.ops()
            self.keep_some(self.rng.randrange(3))
            self.build.emit(control.Yield(values=self.next_values(block.params[1:])))
        self.finish(control.For(lower=lower, upper=upper, step=step, init=tuple(init), loop=block))

    def next_values(self, params: list[Value]) -> tuple[Value, ...]:
        return tuple(p if self.rng.random() < 0.2 else self.of(p.type) for p in params)

    def repeated(self) -> None:
        """A while loop with a counter that ends it after at most four iterations."""
        if self.depth > 1:
            return
        i32 = TileType(dt.int32)
        zero, four, one = (self.add(arith.Constant(value=v, type=i32)) for v in (0, 4, 1))
        init = [zero, *self.carried()]
        with self.body([v.type for v in init]) as before:
            more = self.build.value(arith.Lt(lhs=before.params[0], rhs=four))
            self.values.append(more)
            data = self.of(TileType(dt.bool_))
            go_on = self.build.value(arith.And(lhs=more, rhs=data))
            self.build.emit(control.Condition(cond=go_on, values=tuple(before.params)))
        with self.body([v.type for v in init]) as after:
            self.ops()
            following = self.build.value(arith.Add(lhs=after.params[0], rhs=one))
            self.build.emit(control.Yield(values=(following, *self.next_values(after.params[1:]))))
        self.finish(control.While(init=tuple(init), before=before, after=after))

    def finish(self, op: Op) -> None:
        self.build.emit(op)
        self.values += op.results


class _Body:
    def __init__(self, programs: _Programs, params: list[Type]) -> None:
        self.programs, self.params = programs, params

    def __enter__(self) -> Block:
        programs = self.programs
        self.outside = list(programs.values)
        self.context = programs.build.into(self.params)
        block = self.context.__enter__()
        programs.values += block.params
        programs.depth += 1
        return block

    def __exit__(self, *error: Any) -> None:
        self.context.__exit__(*error)
        self.programs.values = self.outside
        self.programs.depth -= 1


_MAKERS: list[Callable[[_Programs], None]] = [
    *[_Programs.elementwise] * 8, *[_Programs.reshaped] * 2, _Programs.cast, _Programs.cast, _Programs.bitcast,
    _Programs.foreign, _Programs.constants, _Programs.constants, _Programs.questions, _Programs.views, _Programs.load,
    _Programs.load, _Programs.store, _Programs.gather, _Programs.scatter, _Programs.reductions, _Programs.branch,
    _Programs.counted, _Programs.repeated, *[_Programs.neutral] * 4, *[_Programs.twice] * 2, _Programs.reload,
    _Programs.bounded,
]
