"""Values of random Tile IR functions: choosing operands among what is there, making constants, storing results."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops import arith, convert, memory, shape
from tilewright.tileir.types import TileType

INTS = (dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64)
FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
STORED = (dt.float8_e4m3fn, dt.float8_e5m2)
DTYPES = (dt.bool_, dt.int8, dt.int32, dt.int64, dt.uint8, dt.uint32, *FLOATS, *STORED)
PLACES = 64  # of kept values in an output array, 16 elements each
SHAPES = ((), (1,), (4,), (8,), (2, 4), (1, 8), (4, 1), (4, 4), (2, 1, 4))


class Operands:
    """A function that grows: what it has computed, and where its results go (`outputs`, by dtype)."""

    arrays: list[Value]
    lists: list[Value]
    outputs: dict[DType, Value]

    def __init__(self, rng: random.Random, size: int) -> None:
        self.rng = rng
        self.left = size
        self.values: list[Value] = []
        self.build = Builder(Block())
        self.depth = 0
        self.kept = 0
        # Few types in one program, so that values find partners and what is computed is used again.
        self.dtypes = (dt.bool_, dt.int32, dt.float32, *rng.sample(DTYPES, 2))
        self.shapes = ((), *rng.sample(SHAPES[1:], 2))

    def add(self, op: Op) -> Value:
        value = self.build.emit(op, self.rng.choice(["", "", "t", "v"])).result
        if isinstance(value.type, TileType):
            self.values.append(value)
        return value

    def constant(self, type_: TileType) -> Value:
        dtype = type_.dtype
        if dtype.is_bool:
            value: Any = self.rng.random() < 0.5
        elif dtype.is_int:
            value = self.rng.choice([0, 1, 2, 3, 7, 8, dtype.int_range[0], dtype.int_range[1]])
        else:
            infinity = [float("inf")] * dtype.has_inf
            value = self.rng.choice([0.0, -0.0, 1.0, -1.5, 2.0, 0.5, 4.0, float("nan"), *infinity])
        return self.add(arith.Constant(value=value, type=type_))

    def any_of(self, fits: Callable[[TileType], bool], otherwise: TileType) -> Value:
        found = [v for v in self.values if fits(v.type)]
        if not found or self.rng.random() < 0.1:
            return self.constant(otherwise)
        return self.rng.choice(found[-self.rng.choice([1, 3, 8]) :])

    def type(self, dtypes: tuple[DType, ...]) -> TileType:
        found = [v.type for v in self.values if v.type.dtype in dtypes]
        if found and self.rng.random() < 0.9:
            return self.rng.choice(found[-10:])
        mine = [d for d in self.dtypes if d in dtypes]
        return TileType(self.rng.choice(mine or dtypes), self.rng.choice(self.shapes))

    def of(self, type_: TileType) -> Value:
        return self.any_of(lambda t: t == type_, type_)

    def index(self) -> Value:
        return self.of(TileType(dt.int32))

    def keep_some(self, count: int) -> None:
        """Store what was computed last, so that it can be seen."""
        for value in self.values[-count:]:
            self.keep(value)

    def keep(self, value: Value) -> None:
        if value.type.size > 16 or (value.op is not None and isinstance(value.op, arith.Constant)):
            return
        dtype = value.type.dtype
        if dtype not in self.outputs:
            wanted = dt.float64 if dtype in (dt.float64, dt.int64, dt.uint32, dt.uint64) else dt.float32
            wanted = wanted if dtype.is_float else dt.int32
            value = self.build.value(convert.Cast(src=value, dtype=wanted))
        size = value.type.size
        flat = self.build.value(shape.Reshape(src=value, shape=(size,)))
        place = self.build.value(arith.Constant(value=self.kept % PLACES * 16 // size, type=TileType(dt.int32)))
        self.kept += 1
        array = self.outputs[flat.type.dtype]
        self.build.emit(memory.Store(array=array, index=(place,), value=flat, steps=(size,), order=(0,)))
