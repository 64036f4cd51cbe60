"""Random chains of shape changes and reductions: the simulated code computes what the interpreter does."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.backend_ptx.simulator import simulate_function
from tilewright.interp import compile_function
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType, float32, float64, int16, int32
from tilewright.tileir.ops.arith import Add, Constant
from tilewright.tileir.ops.control import Return
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.ops.reduce import ArgMax, ReduceMax, ReduceSum
from tilewright.tileir.ops.shape import Broadcast, Cat, Extract, Permute, Reshape
from tilewright.tileir.plan import Hints
from tilewright.tileir.types import ArrayType, TileType

SIZES = (1, 2, 4, 8, 32)
LARGEST = 2048


class Chain:
    """Builds the body of a function, one random op after another."""

    def __init__(self, draw: st.DrawFn, dtype: DType) -> None:
        self.draw = draw
        self.dtype = dtype
        self.ops: list[Op] = []
        self.zero = self.add(Constant(value=0, type=TileType(int32)))
        self.scalars: list[Value] = [self.zero, self.add(Constant(value=1, type=TileType(int32)))]

    def add(self, op: Op) -> Value:
        self.ops.append(op)
        return op.results[0]

    def step(self, x: Value) -> Value:
        shape: tuple[int, ...] = x.type.shape
        axes = range(len(shape))
        match self.draw(st.sampled_from(("permute", "reshape", "broadcast", "cat", "extract", "reduce", "arg"))):
            case "permute":
                return self.add(Permute(src=x, axes=tuple(self.draw(st.permutations(axes)))))
            case "reshape":
                return self.add(Reshape(src=x, shape=self.factors(x.type.size)))
            case "broadcast":
                wider = tuple(n if n > 1 or x.type.size > LARGEST // 8 else self.draw(st.sampled_from((1, 8)))
                              for n in shape)
                return self.add(Add(lhs=(y := self.add(Broadcast(src=x, shape=wider))), rhs=y))
            case "cat" if shape and x.type.size < LARGEST:
                other = self.add(Add(lhs=x, rhs=x))
                return self.add(Cat(lhs=x, rhs=other, axis=self.draw(st.sampled_from(axes))))
            case "extract" if shape:
                lengths = tuple(max(1, n // self.draw(st.sampled_from((1, 2, 4)))) for n in shape)
                index = tuple(self.scalars[self.draw(st.integers(0, n // m > 1))]
                              for n, m in zip(shape, lengths, strict=True))
                return self.add(Extract(src=x, index=index, shape=lengths))
            case "reduce" if len(shape) > 1:
                chosen = tuple(sorted(self.draw(st.sets(st.sampled_from(axes), min_size=1))))
                return self.add(self.draw(st.sampled_from((ReduceSum, ReduceMax)))(src=x, axes=chosen))
            case "arg" if len(shape) > 1 and self.dtype is int32:
                return self.add(ArgMax(src=x, axis=self.draw(st.sampled_from(axes))))
        return x

    def factors(self, size: int) -> tuple[int, ...]:
        out: list[int] = []
        while size > 1 and len(out) < 3:
            out.append(self.draw(st.sampled_from([n for n in (2, 4, 16, size) if n <= size])))
            size //= out[-1]
        return (*out, size)


@st.composite
def functions(draw: st.DrawFn) -> tuple[Function, tuple[int, ...], tuple[int, ...]]:
    """(function, shape of its input array, shape of its output array)."""
    dtype = draw(st.sampled_from((float32, int32, int16, float64)))
    chain = Chain(draw, dtype)
    small = st.lists(st.sampled_from(SIZES), min_size=1, max_size=3).filter(lambda s: np.prod(s) <= LARGEST)
    shape = tuple(draw(small))
    source = Value(array_type(dtype, len(shape)), "x")
    rank = len(shape)
    zeros = (chain.zero,) * rank
    x = chain.add(Load(array=source, index=zeros, shape=shape, steps=shape, order=tuple(range(rank))))
    for _ in range(draw(st.integers(1, 6))):
        x = chain.step(x)
    if not x.type.shape:
        x = chain.add(Reshape(src=x, shape=(1,)))
    order = tuple(draw(st.permutations(range(len(x.type.shape)))))
    out = tuple(x.type.shape[order.index(k)] for k in range(len(order)))
    target = Value(array_type(x.type.dtype, len(out)), "out")
    zeros = (chain.zero,) * len(out)
    chain.ops.append(Store(array=target, index=zeros, value=x, steps=x.type.shape, order=order))
    warps = draw(st.sampled_from((None, 1, 4)))
    body = Block([source, target], [*chain.ops, Return()])
    return Function("random_shapes", body, Hints(num_worker_warps=warps)), shape, out


def array_type(dtype: DType, rank: int) -> ArrayType:
    strides = (None,) * (rank - 1) + (1,)
    return ArrayType(dtype, (None,) * rank, strides, disjoint=True)


@settings(max_examples=60, deadline=None)
@given(functions(), st.integers(0, 99))
def test_shape_changes(case: tuple[Function, tuple[int, ...], tuple[int, ...]], seed: int) -> None:
    function, shape, out = case
    rng = np.random.default_rng(seed)
    source, target = (np.dtype(p.type.dtype.name) for p in function.params)
    x = rng.integers(-20, 20, shape).astype(source)
    wanted, got = np.zeros(out, target), np.zeros(out, target)
    args: list[Any] = [x, wanted]
    compile_function(function).run((1, 1, 1), args)
    simulate_function(function, 1, [x, got], "sm_90a", schedule="random", seed=seed)
    np.testing.assert_array_equal(got, wanted, err_msg=str(function))
