"""A reduction whose partial results another one merges, declared here alone: no pass names it.

The sum of squares of squares would be wrong wherever partial results are reduced once more: across the warps of a CTA,
and across the CTAs of a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.compile import Attempt
from tilewright.backend_ptx.ops.cluster import ClusterExchange
from tilewright.backend_ptx.simulator import simulate_lowered
from tilewright.interp import compile_function
from tilewright.interp.formats import format_of
from tilewright.interp.handlers.reduce import axes_of
from tilewright.interp.lowering import HANDLERS, impl
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import OPS, Function, Op, Value
from tilewright.tileir.machine_ops.reduce import ReduceBits
from tilewright.tileir.ops.arith import Mul
from tilewright.tileir.ops.math import Neg
from tilewright.tileir.ops.reduce import REDUCTIONS, ReduceMax, ReduceSum, Reduction
from tilewright.tileir.plan import Hints, Limits
from tilewright.tileir.rewrite import Rewriter, rewrite


@pytest.fixture
def squares() -> Iterator[type[Reduction]]:
    class ReduceSquares(Reduction, opcode="reduce_squares", kind="squares", merged_by=ReduceSum):
        """The sum of squares."""

        def prepared(self, b: Builder, src: Value) -> Value:
            return b.value(Mul(lhs=src, rhs=src))

    @impl(ReduceSquares)
    def handler(op: Any, low: Any) -> Any:
        axes, rounded = axes_of(op, low), format_of(op.src.type.dtype).round
        return lambda x: rounded((x * x).sum(axis=axes, dtype=x.dtype))

    yield ReduceSquares
    del OPS["reduce_squares"], REDUCTIONS["squares"], HANDLERS["reduce_squares"]


@tw.tile_kernel
def row_sums(x, y, width: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(y, (i, 0), tw.sum(tw.load(x, (i, 0), (1, width)), axis=1, keepdims=True))


@tw.tile_kernel
def negated(x, y):
    tw.store(y, (0,), -tw.load(x, (0,), (64,)))


def of_squares(function: Function, kind: type[Reduction]) -> Function:
    """With squares in place of sums and, along no axis, of negations."""
    def rule(rewriter: Rewriter, op: Op) -> None:
        axes = op.axes if isinstance(op, ReduceSum) else ()
        rewriter.replace(op.result, rewriter.value(kind(src=op.operands[0], axes=axes)))

    rewrite(function, {ReduceSum: rule, Neg: rule})
    return function


@pytest.mark.parametrize("target, width, ctas, dtype", [
    ("sm_80", 64, 1, np.float32), ("sm_80", 4096, 1, np.float32), ("sm_90a", 8192, 2, np.float32),
    ("sm_90a", 4096, 1, ml_dtypes.bfloat16), ("sm_90a", 16384, 4, np.int32), ("sm_80", 2048, 1, np.float64),
])
def test_sums_of_squares(squares: type[Reduction], target: str, width: int, ctas: int, dtype: Any) -> None:
    x = np.random.default_rng(3).integers(-3, 4, (2, width)).astype(dtype)
    want = (x.astype(np.float64) ** 2).sum(axis=1, keepdims=True).astype(dtype)
    arrays = x, np.zeros((2, 1), dtype)
    stages = row_sums.lower(*arrays, width, target=target)
    function = of_squares(stages.tile_ir(), squares)
    function.hints = Hints(num_ctas=ctas)
    plan = Attempt(function, stages.target, Limits())
    ops = list(plan.machine.walk())
    assert any(isinstance(op, ClusterExchange) for op in ops) == (ctas > 1), "a row is cut along the reduced axis"
    assert any(isinstance(op, ReduceBits) for op in ops) == (width > 64), "a long row crosses warps"
    simulate_lowered(plan.lowered, (2, 1, 1), stages.values)
    np.testing.assert_array_equal(arrays[1], want)
    for made in (function, plan.machine):
        arrays[1][:] = 0
        compile_function(made).run((2, 1, 1), arrays)
        np.testing.assert_array_equal(arrays[1], want)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, np.int8])
def test_along_no_axis_elements_are_prepared(squares: type[Reduction], dtype: Any) -> None:
    x = np.arange(-11, 53).astype(dtype)
    arrays = x, np.zeros(64, dtype)
    stages = negated.lower(*arrays, target="sm_90a")
    function = of_squares(stages.tile_ir(), squares)
    plan = Attempt(function, stages.target, Limits())
    simulate_lowered(plan.lowered, (1, 1, 1), stages.values)
    np.testing.assert_array_equal(arrays[1], (x.astype(np.int32) ** 2).astype(dtype))
    arrays[1][:] = 0
    compile_function(function).run((1, 1, 1), arrays)
    np.testing.assert_array_equal(arrays[1], (x.astype(np.int32) ** 2).astype(dtype))


def test_what_merges_needs_prepared_elements() -> None:
    with pytest.raises(TypeError, match="Half: a reduction declares both merged_by, which combines partial results"):
        class Half(Reduction, opcode="reduce_half", kind="half", merged_by=ReduceMax):
            """It does not say what an element is."""
    assert "reduce_half" not in OPS and "half" not in REDUCTIONS
