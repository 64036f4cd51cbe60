"""Ops of random Tile IR functions: one method a kind, and such sequences as rewrites look for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.tileir.operands import DTYPES, FLOATS, INTS, SHAPES, Operands

from tilewright.linking.instructions import inline_ptx
from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import OPS, Op, Value
from tilewright.tileir.diagnostics import TileTypeError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.enums import PaddingMode, RoundingMode
from tilewright.tileir.ops import arith, arrays, convert, foreign, memory, reduce, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.types import TileType

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
    **{c: INTS for c in OPS.values() if issubclass(c, functions.BitCount)},
}
ROUNDINGS = {arith.RoundedBinary: ("RN", "RZ", "RM", "RP"), arith.Fma: ("RN", "RZ"), functions.Sqrt: ("RN", "RP")}
AND_NOT = inline_ptx("lop3.b32 $0, $1, $2, 0, 0x30;", [dt.int32, dt.int32], dt.int32, reference=lambda x, y: x & ~y)


class Ops(Operands):
    """One op, or a few, of random operands."""

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

    def foreign(self) -> None:
        operand = TileType(dt.int32, self.rng.choice(self.shapes))
        self.add(foreign.Foreign(args=(self.of(operand), self.of(operand)), name=AND_NOT.name, dtype=dt.int32))

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

    def reshaped(self) -> None:
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
        if old:
            places = source.type.with_dtype(self.rng.choice([dt.int32, dt.int64, dt.uint8]))
            choices.append(lambda: shape.Take(src=source, index=self.of(places), axis=self.rng.randrange(len(old))))
        if old and source.type.dtype is dt.int32:
            choices.append(lambda: reduce.Histogram(src=source, bins=self.rng.choice([4, 8])))
        if old and source.type.size <= 16:
            choices.append(lambda: shape.Cat(lhs=source, rhs=self.of(source.type), axis=self.rng.randrange(len(old))))
            if all(n == 2 * m for n, m in zip(old, half, strict=True)):
                choices.append(lambda: shape.Extract(src=source, index=index, shape=half))
        self.add(self.rng.choice(choices)())

    def reductions(self) -> None:
        cls: type[Op] = self.rng.choice([*reduce.REDUCTIONS.values(), reduce.ArgMax, reduce.ArgMin])
        source = self.of(self.type((dt.int32, dt.uint8, dt.int64, *FLOATS)))
        if not source.type.shape:
            return
        axis = self.rng.randrange(source.type.rank)
        given: dict[str, Any] = {"axis": axis} if issubclass(cls, reduce.ArgReduction) else {"axes": (axis,)}
        try:
            op = cls(src=source, **given)
        except TileTypeError:
            return  # a reduction of floats alone, say
        self.add(op)

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
            index = (self.index(),)
            loaded = self.add(memory.Load(array=self.arrays[0], index=index, shape=(8,), steps=(8,), order=(0,)))
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
