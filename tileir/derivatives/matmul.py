"""Adjoints of matrix multiply-accumulates: two of them, with one operand transposed in each."""

from __future__ import annotations

from tilewright.tileir.core import Value
from tilewright.tileir.derivatives.reverse import Reverse
from tilewright.tileir.derivatives.rules import adjoint
from tilewright.tileir.dtypes import DType, bfloat16
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.matmul import ACCUMULATORS, Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute, Reshape
from tilewright.tileir.types import TileType


@adjoint(Mma)
def mma(op: Mma, g: Value, r: Reverse) -> None:
    """g @ b^T and a^T @ g, or the transpose of g^T @ a, accumulated as widely as the operands' dtype allows."""
    dtype = _multiplied(op.a.type.dtype)
    narrow = r.once(lambda: r.b.cast(g, dtype))
    r.give(op.a, lambda: _product(r, narrow(), _transposed(r, r.b.cast(r.now(op.b), dtype))))
    if _loaded(op.a) and g.op is not None and not _loaded(g):
        # What is computed in registers goes first.
        back = lambda: _transposed(r, _product(r, _transposed(r, narrow()), r.b.cast(r.now(op.a), dtype)))  # noqa: E731
    else:
        back = lambda: _product(r, _transposed(r, r.b.cast(r.now(op.a), dtype)), narrow())  # noqa: E731
    r.give(op.b, back)
    r.give(op.acc, g)


def _loaded(value: Value) -> bool:
    """Whether a tile comes from memory as it is."""
    while isinstance(value.op, (Cast, Reshape, Permute)):
        value = value.op.src
    return isinstance(value.op, Load)


def _multiplied(dtype: DType) -> DType:
    """The dtype in which an adjoint is multiplied: bfloat16 for 8-bit operands, all of which it holds, as an adjoint
    does not fit these."""
    return bfloat16 if dtype.bitwidth < 16 else dtype


def _product(r: Reverse, a: Value, b: Value) -> Value:
    wide = ACCUMULATORS[a.type.dtype][-1]
    shape = (*a.type.shape[:-1], b.type.shape[-1])
    return r.b.value(Mma(a=a, b=b, acc=r.b.constant(0.0, TileType(wide, shape))))


def _transposed(r: Reverse, value: Value) -> Value:
    batch = tuple(range(value.type.rank - 2))
    return r.b.value(Permute(src=value, axes=(*batch, len(batch) + 1, len(batch))))
