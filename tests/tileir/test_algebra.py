"""Every rule of canonicalise keeps every bit: all pairs of op, special constant and side, on values of every kind."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.interp_cases import assert_same, elementwise, samples

from tilewright.interp import compile_function
from tilewright.interp.formats import array_dtype
from tilewright.tileir.analysis.convert import convert_constant
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.dtypes import DType, bfloat16, bool_, float16, float32, float64, int8, int32, int64, uint8
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.ops import arith, convert, memory, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.passes.canonicalise import canonicalise
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.types import TileType

INTS = (int8, int32, int64, uint8)
FLOATS = (float16, bfloat16, float32, float64)
COUNT = 128
ON_INTS = (arith.Add, arith.Sub, arith.Mul, arith.FloorDiv, arith.CeilDiv, arith.Mod, arith.Min, arith.Max, arith.And,
           arith.Or, arith.Xor, arith.Shl, arith.Shr)
ON_FLOATS = (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Min, arith.Max)
COMPARE = tuple(arith.Compare.__subclasses__())
MODES = (RoundingMode.RN, RoundingMode.RZ, RoundingMode.RM, RoundingMode.RP)


class Trial:
    """A kernel of two loaded tiles whose result is made by `make`, which may call `self` to add ops."""

    def __init__(self, make: Callable[[Trial, Value, Value], Op], dtype: DType, output: DType) -> None:
        self.new: list[Op] = []
        self.function: Function = elementwise(lambda a, b: make(self, a, b), (dtype, dtype), output)
        ops = self.function.body.ops
        at = next(i for i, op in enumerate(ops) if op.opcode == "load") + 2
        ops[at:at] = self.new
        self.data = [samples(dtype, COUNT, seed) for seed in (1, 2)]
        self.output = output

    def __call__(self, op: Op) -> Value:
        self.new.append(op)
        return op.result

    def constant(self, number: float, like: Value) -> Value:
        dtype = like.type.dtype
        return self(arith.Constant(value=convert_constant(number, dtype), type=like.type))

    def run(self) -> np.ndarray:
        out = np.zeros(COUNT, array_dtype(self.output))
        compile_function(self.function).run((1, 1, 1), [*self.data, out])
        return out

    def check(self) -> None:
        before = self.run()
        canonicalise(Unit(self.function))
        dce(Unit(self.function))
        assert_same(self.run(), before, *self.data)


def with_constant(cls: type[Op], number: float, left: bool, **given: Any) -> Callable[[Trial, Value, Value], Op]:
    def make(trial: Trial, a: Value, b: Value) -> Op:
        constant = trial.constant(number, a)
        return cls(lhs=constant, rhs=a, **given) if left else cls(lhs=a, rhs=constant, **given)

    return make


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_with_constants(dtype: DType) -> None:
    numbers = (0, 1, 2, 3, 7, -1, *dtype.int_range)
    for cls, number, left in itertools.product(ON_INTS, numbers, (False, True)):
        division = cls in (arith.FloorDiv, arith.CeilDiv, arith.Mod)
        if division and (left or number in (0, -1)):
            continue  # division by zero, and the one that overflows, are left open
        Trial(with_constant(cls, number, left), dtype, dtype).check()
        if not division and not left:
            Trial(lambda t, a, b, c=cls, n=number: c(lhs=t(c(lhs=a, rhs=t.constant(n, a))), rhs=t.constant(3, a)),
                  dtype, dtype).check()
    for cls, number, left in itertools.product(COMPARE, numbers, (False, True)):
        Trial(with_constant(cls, number, left), dtype, bool_).check()


@pytest.mark.parametrize("mode", MODES, ids=lambda m: m.name)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_with_constants(dtype: DType, mode: RoundingMode) -> None:
    numbers = (0.0, -0.0, 1.0, -1.0, 2.0, 0.25, -8.0, 3.0, 2.0**-130, 2.0**100, float("inf"), float("nan"))
    for cls, number, left in itertools.product(ON_FLOATS, numbers, (False, True)):
        given = {"rounding": mode} if issubclass(cls, arith.RoundedBinary) else {}
        Trial(with_constant(cls, number, left, **given), dtype, dtype).check()


@pytest.mark.parametrize("dtype", (*INTS, *FLOATS), ids=str)
def test_equal_sides_and_comparisons(dtype: DType) -> None:
    for cls in ON_FLOATS if dtype.is_float else ON_INTS:
        Trial(lambda t, a, b, c=cls: c(lhs=a, rhs=a), dtype, dtype).check()
    for cls in COMPARE:
        Trial(lambda t, a, b, c=cls: c(lhs=a, rhs=a), dtype, bool_).check()
        Trial(lambda t, a, b, c=cls: functions.Not(src=t(c(lhs=a, rhs=b))), dtype, bool_).check()
        Trial(lambda t, a, b, c=cls: arith.Select(cond=t(functions.Not(src=t(c(lhs=a, rhs=b)))), lhs=a, rhs=b),
              dtype, dtype).check()
    signs = (functions.Neg, functions.Abs)
    for outer, inner in itertools.product(signs, signs):
        Trial(lambda t, a, b, o=outer, i=inner: o(src=t(i(src=a))), dtype, dtype).check()


def test_bools() -> None:
    words: list[type[Op]] = [arith.And, arith.Or, arith.Xor, *COMPARE]
    for cls, truth, left in itertools.product(words, (0, 1), (0, 1)):
        Trial(with_constant(cls, truth, bool(left)), bool_, bool_).check()
    for yes, no in itertools.product((0, 1), (0, 1)):
        Trial(lambda t, a, b, y=yes, n=no: arith.Select(cond=a, lhs=t.constant(y, a), rhs=t.constant(n, a)),
              bool_, bool_).check()


@pytest.mark.parametrize("source", (bool_, *INTS, *FLOATS), ids=str)
def test_two_casts(source: DType) -> None:
    every = (bool_, *INTS, *FLOATS)
    for middle, last in itertools.product(every, every):
        Trial(lambda t, a, b, m=middle, x=last: convert.Cast(src=t(convert.Cast(src=a, dtype=m)), dtype=x),
              source, last).check()


@pytest.mark.parametrize(("source", "last", "first"), [
    (float32, bfloat16, "cast"), (float64, float16, "cast"), (bfloat16, float32, "reshape"), (float32, int8, "reshape"),
], ids=str)
def test_floats_are_rounded_before_they_have_another_shape(source: DType, last: DType, first: str) -> None:
    def make(t: Trial, a: Value, b: Value) -> Op:
        turned = t(shape.Permute(src=t(shape.Reshape(src=a, shape=(COUNT // 2, 2))), axes=(1, 0)))
        cast = t(convert.Cast(src=t(shape.Reshape(src=turned, shape=(COUNT, 1))), dtype=last))
        return shape.Reshape(src=t(shape.Permute(src=cast, axes=(1, 0))), shape=(COUNT,))

    trial = Trial(make, source, last)
    trial.check()
    found = [op.opcode for op in trial.function.walk()]
    assert next(name for name in found[found.index("permute"):] if name in ("cast", "reshape")) == first, found


def test_two_permutations() -> None:
    orders = list(itertools.permutations(range(3)))
    for first, second in itertools.product(orders, orders):
        def make(t: Trial, a: Value, b: Value, first: tuple[int, ...] = first, second: tuple[int, ...] = second) -> Op:
            cube = t(shape.Reshape(src=a, shape=(2, 4, 16)))
            turned = t(shape.Permute(src=t(shape.Permute(src=cube, axes=first)), axes=second))
            return shape.Reshape(src=turned, shape=(COUNT,))

        Trial(make, float32, float32).check()


def test_arithmetic_on_splats() -> None:
    def make(t: Trial, a: Value, b: Value) -> Op:
        scalar = t(shape.Reshape(src=t(shape.Extract(src=a, index=(index(t),), shape=(1,))), shape=()))
        splat = t(shape.Broadcast(src=scalar, shape=(COUNT,)))
        third = t.constant(1 / 3, a)
        return arith.Fma(a=t(functions.Neg(src=splat)), b=t(arith.Mul(lhs=third, rhs=splat)), c=third)

    trial = Trial(make, float32, float32)
    trial.check()
    tiles = [op.opcode for op in trial.function.walk() for r in op.results if r.type.shape == (COUNT,)]
    assert tiles == ["load", "broadcast"]


def index(t: Trial) -> Value:
    return t(arith.Constant(value=3, type=TileType(int32)))


# -- What each rule makes, as a golden: a rule that is lost changes no bit.

GOLDEN = Path(__file__).parent / "passes" / "algebra.txt"


def shown(value: Value) -> str:
    """A value as an expression of the two tiles that the kernel loads."""
    op: Any = value.op
    if isinstance(op, memory.Load):
        body: Any = op.array.owner
        return "ab"[body.params.index(op.array)]
    if isinstance(op, arith.Constant):
        return f"{op.value!r}"
    more = [str(op.dtype)] if isinstance(op, convert.Cast) else []
    more += ["down"] if getattr(op, "rounding", None) is RoundingMode.RM else []
    return f"{op.opcode}({', '.join([*map(shown, op.operands), *more])})"


def simplified(make: Callable[[Trial, Value, Value], Op], dtype: DType, output: DType) -> str | None:
    """before -> after, None where nothing changes."""
    function = Trial(make, dtype, output).function
    [store] = [op for op in function.walk() if isinstance(op, memory.Store)]
    before = shown(store.value)
    canonicalise(Unit(function))
    dce(Unit(function))
    after = shown(store.value)
    return None if after == before else f"{dtype}: {before} -> {after}"


def trials(dtype: DType) -> Iterator[tuple[Callable[[Trial, Value, Value], Op], DType]]:
    numbers: tuple[float, ...] = (0, 1, 2, 3, 7, -1, *(() if dtype.is_float else dtype.int_range))
    if dtype.is_float:
        numbers = (0.0, -0.0, 1.0, -1.0, 2.0, 0.25, 3.0, 2.0**100)
    ops = ON_FLOATS if dtype.is_float else ON_INTS
    for cls, number, left in itertools.product(ops, numbers, (False, True)):
        yield with_constant(cls, number, left), dtype
        if dtype.is_float and issubclass(cls, arith.RoundedBinary):
            yield with_constant(cls, number, left, rounding=RoundingMode.RM), dtype
        yield lambda t, a, b, c=cls, n=number: c(lhs=t(c(lhs=a, rhs=t.constant(n, a))), rhs=t.constant(3, a)), dtype
    for cls, number in itertools.product(COMPARE, (*numbers[:2], *numbers[-2:])):
        yield with_constant(cls, number, False), bool_
        yield with_constant(cls, number, True), bool_
    for cls in ops:
        yield lambda t, a, b, c=cls: c(lhs=a, rhs=a), dtype
    for cls in COMPARE:
        yield lambda t, a, b, c=cls: c(lhs=a, rhs=a), bool_
        yield lambda t, a, b, c=cls: functions.Not(src=t(c(lhs=a, rhs=b))), bool_
        yield lambda t, a, b, c=cls: arith.Select(cond=t(functions.Not(src=t(c(lhs=a, rhs=b)))), lhs=a, rhs=b), dtype
        yield lambda t, a, b, c=cls: arith.Select(cond=t(c(lhs=a, rhs=b)), lhs=a, rhs=a), dtype
    for outer, inner in itertools.product((functions.Neg, functions.Abs), repeat=2):
        yield lambda t, a, b, o=outer, i=inner: o(src=t(i(src=a))), dtype
    for middle, last in itertools.product((bool_, int8, uint8, int32, int64, float16, bfloat16, float32), repeat=2):
        yield lambda t, a, b, m=middle, x=last: convert.Cast(src=t(convert.Cast(src=a, dtype=m)), dtype=x), last


def test_what_each_rule_makes(update_golden: bool) -> None:
    found = [simplified(make, dtype, output) for dtype in (int32, uint8, float32, float16)
             for make, output in trials(dtype)]
    words: list[type[Op]] = [arith.And, arith.Or, arith.Xor, *COMPARE]
    for cls, truth, left in itertools.product(words, (0, 1), (False, True)):
        found.append(simplified(with_constant(cls, truth, left), bool_, bool_))
    for yes, no in itertools.product((0, 1), repeat=2):
        found.append(simplified(lambda t, a, b, y=yes, n=no: arith.Select(
            cond=a, lhs=t.constant(y, a), rhs=t.constant(n, a)), bool_, bool_))
    text = "\n".join(dict.fromkeys(line for line in found if line)) + "\n"
    if update_golden:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
