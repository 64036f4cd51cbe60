"""Random well-typed Tile IR functions, deterministic from a seed, and inputs to run them on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from interp_cases import array_dtype

from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import OPS, Block, Function, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode, RoundingMode
from tilewright.tileir.ops import arith, arrays, control, convert, memory, reduce, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.types import ArrayType, ListType, TileType, Type

INTS = (dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.uint32, dt.uint64)
FLOATS = (dt.float16, dt.bfloat16, dt.float32, dt.float64)
STORED = (dt.float8_e4m3fn, dt.float8_e5m2)
DTYPES = (dt.bool_, dt.int8, dt.int32, dt.int64, dt.uint8, dt.uint32, *FLOATS, *STORED)
PLACES = 64  # of kept values in an output array, 16 elements each
SHAPES = ((), (1,), (4,), (8,), (2, 4), (1, 8), (4, 1), (4, 4), (2, 1, 4))

# Which dtypes each element-wise op takes; the type rules leave that to the frontend.
NUMBERS, BITS = (*INTS, *FLOATS), (dt.bool_, *INTS)
_TAKES: dict[type[Op], tuple[DType, ...]] = {
    **{c: NUMBERS for c in (arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max, arith.FloorDiv, arith.Mod)},
    **{c: FLOATS for c in (arith.Div, arith.Fma, arith.Atan2)},
    **{c: INTS for c in (arith.CeilDiv, arith.Shl, arith.Shr, arith.Pow, arrays.AssumeDivisible)},
    **{c: BITS for c in (arith.And, arith.Or, arith.Xor, functions.Not)},
    **{c: NUMBERS for c in (functions.Neg, functions.Abs)},
    **{c: DTYPES for c in (arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge, arith.Select)},
    **{c: FLOATS for c in OPS.values() if issubclass(c, functions.FloatUnary)},
}
ROUNDINGS = {arith.RoundedBinary: ("RN", "RZ", "RM", "RP"), arith.Fma: ("RN", "RZ"), functions.Sqrt: ("RN", "RP")}


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
        extents = tuple(rng.integers(3, 21, type_.rank)) if type_.extents.count(None) else type_.extents
        return _numbers(type_.dtype, tuple(map(int, extents)), rng)
    return _numbers(type_.dtype, (1,), rng)[0]


def _numbers(dtype: DType, extents: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype.is_bool:
        return rng.integers(0, 2, extents).astype(np.bool_)
    if dtype.is_int:
        return rng.integers(0 if not dtype.is_signed else -9, 20, extents).astype(array_dtype(dtype))
    values = (rng.standard_normal(extents) * 4).astype(np.float32)
    special = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0], np.float32), extents)
    return np.where(rng.random(extents) < 0.4, special, values).astype(array_dtype(dtype))


class _Programs:
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
        return Function("random", body, {"occupancy": 2} if self.rng.random() < 0.3 else {})

    def ops(self) -> None:
        while self.left > 0:
            self.left -= 1
            self.rng.choice(_MAKERS)(self)
            if self.depth and self.rng.random() < 0.15:
                return

    # --- choosing operands -----------------------------------------------------------------------------------------

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
        if value.type.size > 16 or value.op is not None and isinstance(value.op, arith.Constant):
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

    # --- makers, one a kind of op ----------------------------------------------------------------------------------

    def elementwise(self) -> None:
        cls = self.rng.choice(list(_TAKES))
        type_ = self.type(_TAKES[cls])
        given: dict[str, Any] = {}
        for name, field in cls.fields.items():
            if field.kind == "operand":
                given[name] = self.of(type_.with_dtype(dt.bool_)) if name == "cond" else self.of(type_)
            elif name == "rounding":
                modes = next((m for base, m in ROUNDINGS.items() if issubclass(cls, base)), None)
                if modes and type_.dtype.is_float and self.rng.random() < 0.3:
                    given[name] = RoundingMode[self.rng.choice(modes)]
            elif name == "propagate_nan":
                given[name] = self.rng.random() < 0.5
            elif name == "divisor":
                given[name] = 1
        if cls in (arith.FloorDiv, arith.Mod, arith.CeilDiv) and type_.dtype.is_int:
            given["rhs"] = self.add(arith.Constant(value=self.rng.choice([1, 2, 3, 8]), type=type_))
        self.add(cls(**given))

    def cast(self) -> None:
        self.add(convert.Cast(src=self.of(self.type(DTYPES)), dtype=self.rng.choice(self.dtypes)))

    def bitcast(self) -> None:
        source = self.of(self.type(INTS))  # the bits of a NaN are nobody's promise
        same = [d for d in DTYPES[1:] if d.bitwidth == source.type.dtype.bitwidth]
        self.add(convert.Bitcast(src=source, dtype=self.rng.choice(same)))

    def constants(self) -> None:
        self.constant(TileType(self.rng.choice(self.dtypes), self.rng.choice(self.shapes)))

    def questions(self) -> None:
        array = self.rng.choice(self.arrays)
        axis = self.rng.randrange(array.type.rank)
        self.add(self.rng.choice([
            arrays.BlockId(axis=self.rng.randrange(3)), arrays.NumBlocks(axis=self.rng.randrange(3)),
            arrays.Extent(array=array, axis=axis), arrays.Stride(array=array, axis=axis),
            arrays.ListLength(list=self.lists[0]),
        ]))

    def views(self) -> None:
        if self.rng.random() < 0.5:
            index = self.add(arith.Constant(value=self.rng.randrange(3), type=TileType(dt.int32)))
            array = self.add(arrays.ListItem(list=self.lists[0], index=index))
        else:
            source = self.rng.choice(self.arrays[:2])
            bounds = [self.add(arith.Constant(value=v, type=TileType(dt.int32))) for v in (1, self.rng.choice([1, 3]))]
            array = self.add(arrays.SliceArray(array=source, start=bounds[0], stop=bounds[1], axis=0, type=source.type))
        self.load_from(array)
        if self.rng.random() < 0.3:
            self.store_to(array)

    def load(self) -> None:
        self.load_from(self.rng.choice(self.arrays))

    def store(self) -> None:
        self.store_to(self.rng.choice(self.arrays))

    def load_from(self, array: Value) -> None:
        rank = array.type.rank
        tile = self.rng.choice([s for s in SHAPES if len(s) == rank])
        order = tuple(self.rng.sample(range(rank), rank))
        index = tuple(self.index() for _ in range(rank))
        padding = self.rng.choice([PaddingMode.ZERO, PaddingMode.UNDETERMINED] + [PaddingMode.NEG_INF] * (
            array.type.dtype.is_float))
        self.add(memory.Load(array=array, index=index, shape=tile, steps=tile, order=order, padding=padding))

    def store_to(self, array: Value) -> None:
        rank = array.type.rank
        tile = TileType(array.type.dtype, self.rng.choice([s for s in SHAPES if len(s) == rank]))
        index = tuple(self.index() for _ in range(rank))
        self.build.emit(memory.Store(array=array, index=index, value=self.of(tile), steps=tile.shape,
                                     order=tuple(range(rank))))

    def gather(self) -> None:
        array = self.rng.choice(self.arrays)
        tile = self.rng.choice(SHAPES)
        indices = tuple(self.of(TileType(dt.int32, tile)) for _ in range(array.type.rank))
        mask = self.of(TileType(dt.bool_, tile)) if self.rng.random() < 0.5 else None
        padding = self.of(TileType(array.type.dtype, tile))
        self.add(memory.Gather(array=array, indices=indices, mask=mask, padding=padding, shape=tile))

    def scatter(self) -> None:
        size = self.rng.choice([4, 8])
        index = self.add(shape.Iota(size=size, dtype=dt.int32))
        mask = self.of(TileType(dt.bool_, (size,))) if self.rng.random() < 0.5 else None
        value = self.of(TileType(dt.float32, (size,)))
        self.build.emit(memory.Scatter(array=self.arrays[0], indices=(index,), value=value, mask=mask, shape=(size,)))

    def shapes(self) -> None:
        source = self.of(self.type(DTYPES))
        old = source.type.shape
        flat = (source.type.size,)
        wider = tuple(4 if n == 1 else n for n in old) if old else self.rng.choice(SHAPES)
        half = tuple(max(1, n // 2) for n in old)
        index = tuple(self.add(arith.Constant(value=1, type=TileType(dt.int32))) for _ in old)
        choices: list[Callable[[], Op]] = [
            lambda: shape.Broadcast(src=source, shape=wider),
            lambda: shape.Reshape(src=source, shape=self.rng.choice([flat, (1, *flat), (*flat, 1)])),
            lambda: shape.Permute(src=source, axes=tuple(self.rng.sample(range(len(old)), len(old)))),
            lambda: shape.Iota(size=self.rng.choice([1, 4, 8]), dtype=self.rng.choice([dt.int32, dt.int64, dt.uint8])),
        ]
        if old and source.type.size <= 16:
            choices.append(lambda: shape.Cat(lhs=source, rhs=self.of(source.type), axis=self.rng.randrange(len(old))))
            if all(n == 2 * m for n, m in zip(old, half, strict=True)):
                choices.append(lambda: shape.Extract(src=source, index=index, shape=half))
        self.add(self.rng.choice(choices)())

    def reductions(self) -> None:
        cls = self.rng.choice([reduce.ReduceSum, reduce.ReduceProd, reduce.ReduceMax, reduce.ReduceMin,
                               reduce.ArgMax, reduce.ArgMin])
        source = self.of(self.type((dt.int32, dt.uint8, dt.int64, *FLOATS)))
        if not source.type.shape:
            return
        axis = self.rng.randrange(source.type.rank)
        self.add(cls(src=source, axis=axis) if issubclass(cls, reduce.ArgReduction) else cls(src=source, axes=(axis,)))

    # --- what rewrites look for --------------------------------------------------------------------------------------

    def neutral(self) -> None:
        """Arithmetic with 0, 1, -1 and the like, on either side."""
        type_ = self.type(NUMBERS)
        dtype = type_.dtype
        number = self.rng.choice([0, 1, 2, 3, *dtype.int_range] if dtype.is_int else [0.0, -0.0, 1.0, -1.0, 4.0])
        constant = self.add(arith.Constant(value=number, type=type_))
        sides = [self.of(type_), constant] if self.rng.random() < 0.7 else [constant, self.of(type_)]
        if self.rng.random() < 0.2:
            sides = [sides[0], sides[0]]
        choices = [arith.Add, arith.Sub, arith.Mul, arith.Min, arith.Max, arith.Lt, arith.Ge, arith.Eq, arith.Ne]
        choices += [arith.Div] if dtype.is_float else [arith.And, arith.Or, arith.Xor, arith.Shl, arith.Shr]
        result = self.add(self.rng.choice(choices)(lhs=sides[0], rhs=sides[1]))
        if result.type.dtype.is_bool and self.rng.random() < 0.5:
            self.add(functions.Not(src=result))

    def twice(self) -> None:
        """The same kind of change two times."""
        value = self.of(self.type(NUMBERS))
        if self.rng.random() < 0.3:  # something to move about, in a shape where orders differ
            place = {"index": (self.index(),), "shape": (8,), "steps": (8,), "order": (0,)}
            loaded = self.add(memory.Load(array=self.arrays[0], **place))
            value = self.add(shape.Reshape(src=loaded, shape=(2, 1, 4)))
        kind = self.rng.randrange(5)
        for _ in range(2):
            rank = value.type.rank
            unary: list[Callable[[], Op]] = [
                lambda v=value: functions.Neg(src=v), lambda v=value: functions.Abs(src=v),
                lambda v=value: convert.Cast(src=v, dtype=self.rng.choice(NUMBERS)),
                lambda v=value, r=rank: shape.Permute(src=v, axes=tuple(self.rng.sample(range(r), r))),
                lambda v=value: shape.Reshape(src=v, shape=self.rng.choice([(v.type.size,), (1, v.type.size), (
                    v.type.size, 1)])),
            ]
            value = self.add(unary[kind]())
        self.keep(value)

    def reload(self) -> None:
        """Two loads of one place, with or without a write between them, perhaps in a loop."""
        array, index = self.arrays[self.rng.randrange(2)], self.add(arith.Constant(value=0, type=TileType(dt.int32)))
        given: dict[str, Any] = {"shape": (4,), "steps": (4,), "order": (0,)}
        before = self.add(memory.Load(array=array, index=(index,), **given))
        if self.rng.random() < 0.6:
            changed = self.add(arith.Add(lhs=before, rhs=before))
            target = array if self.rng.random() < 0.7 else self.arrays[self.arrays[0] is array]
            if target is array:
                self.build.emit(memory.Store(array=target, index=(index,), value=changed, steps=(4,), order=(0,)))
        after = self.add(memory.Load(array=array, index=(index,), **given))
        self.keep(before)
        self.keep(after)

    def bounded(self) -> None:
        """Numbers of which a range is known, and a question about it."""
        i32 = TileType(dt.int32)
        start = self.add(self.rng.choice([arrays.BlockId(axis=0), arrays.NumBlocks(axis=0), arrays.Extent(
            array=self.arrays[0], axis=0), shape.Iota(size=8, dtype=dt.int32)]))
        value, type_ = start, start.type
        for _ in range(self.rng.randrange(1, 4)):
            number = self.add(arith.Constant(value=self.rng.choice([1, 2, 3, 8, 1 << 20, -5]), type=type_))
            cls = self.rng.choice([arith.Add, arith.Sub, arith.Mul, arith.FloorDiv, arith.Mod, arith.CeilDiv, arith.Min,
                                   arith.Max, arith.And, arith.Or, arith.Xor])
            value = self.add(cls(lhs=value, rhs=number))
        limit = self.add(arith.Constant(value=self.rng.choice([0, 1, 2, 8, 100, -1]), type=type_))
        self.keep(value)
        self.keep(self.add(self.rng.choice([arith.Lt, arith.Ge, arith.Eq])(lhs=value, rhs=limit)))
        if type_ == i32:
            self.keep(self.add(arith.Max(lhs=value, rhs=limit)))

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
    *[_Programs.elementwise] * 8, *[_Programs.shapes] * 2, _Programs.cast, _Programs.cast, _Programs.bitcast,
    _Programs.constants, _Programs.constants, _Programs.questions, _Programs.views, _Programs.load, _Programs.load,
    _Programs.store, _Programs.gather, _Programs.scatter, _Programs.reductions, _Programs.branch, _Programs.counted,
    _Programs.repeated, *[_Programs.neutral] * 4, *[_Programs.twice] * 2, _Programs.reload, _Programs.bounded,
]
