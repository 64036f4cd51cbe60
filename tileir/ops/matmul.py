"""Matrix multiply-accumulate on tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.tileir import dtypes as dt
from tilewright.tileir.analysis.floats import float_format
from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Mul
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.shape import Broadcast, Reshape
from tilewright.tileir.types import TileType, Type

if TYPE_CHECKING:
    from tilewright.tileir.builder import Builder

# Accumulator dtypes that each operand dtype allows, the default first (language page, section 5.8).
ACCUMULATORS: dict[DType, tuple[DType, ...]] = {
    dt.float16: (dt.float16, dt.float32),
    dt.bfloat16: (dt.float32,),
    dt.float32: (dt.float32,),
    dt.tfloat32: (dt.float32,),
    dt.float64: (dt.float64,),
    dt.float8_e4m3fn: (dt.float16, dt.float32),
    dt.float8_e5m2: (dt.float16, dt.float32),
    dt.int8: (dt.int32,),
    dt.uint8: (dt.int32,),
}


class Mma(Op, opcode="mma"):
    """a @ b + acc. a: [..., M, K], b: [..., K, N], acc: [..., M, N]; batch axes are equal (the frontend broadcasts).

    Products are exact and summed in the accumulator's format, in unspecified order. int8 and uint8 may mix.
    """

    a: Value = operand()
    b: Value = operand()
    acc: Value = operand()
    fast_acc: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        a, b, acc = self.a.type.erased(), self.b.type.erased(), self.acc.type.erased()
        require(a.rank >= 2 and a.rank == b.rank == acc.rank, f"mma: ranks differ: a is {a}, b is {b}, acc is {acc}")
        require(a.shape[-1] == b.shape[-2], f"mma: the inner sizes differ: a is {_dims(a)}, b is {_dims(b)}")
        want = (*a.shape[:-2], a.shape[-2], b.shape[-1])
        require(a.shape[:-2] == b.shape[:-2], f"mma: the batch sizes differ: a is {_dims(a)}, b is {_dims(b)}")
        require(acc.shape == want, f"mma: acc is {_dims(acc)}, a @ b is {'x'.join(map(str, want))}")
        mixed = {a.dtype, b.dtype} <= {dt.int8, dt.uint8}
        require(a.dtype is b.dtype or mixed, f"mma: a is {a.dtype}, b is {b.dtype}; they must agree")
        allowed = ACCUMULATORS.get(a.dtype, ())
        names = " or ".join(d.name for d in allowed)
        require(bool(allowed), f"mma: {a.dtype} operands are not supported")
        require(acc.dtype in allowed, f"mma: {a.dtype} operands need a {names} accumulator, not {acc.dtype}")
        return (acc,)


# Operand dtype and scale dtype -> the allowed number of elements that share a scale.
SCALE_BLOCKS: dict[tuple[DType, DType], tuple[int, ...]] = {
    (dt.float8_e4m3fn, dt.float8_e8m0fnu): (32,), (dt.float8_e5m2, dt.float8_e8m0fnu): (32,),
    (dt.float4_e2m1fn, dt.float8_e8m0fnu): (16, 32), (dt.float4_e2m1fn, dt.float8_e4m3fn): (16,),
    (dt.float4_e2m1fn, dt.float8_e5m3fnu): (16, 32),
}


class MmaScaled(Op, opcode="mma_scaled"):
    """(a * a_scale) @ (b * b_scale) + acc, with a scale for each run of elements along K.

    a: [..., M, K], a_scale: [..., M, K/B], b: [..., K, N], b_scale: [..., K/B, N], acc: [..., M, N] of float32; batch
    axes are equal. Products are summed as those of `mma`.
    """

    a: Value = operand()
    a_scale: Value = operand()
    b: Value = operand()
    b_scale: Value = operand()
    acc: Value = operand()

    @property
    def block(self) -> int:
        """How many elements along K share a scale."""
        return int(self.a.type.shape[-1] // self.a_scale.type.shape[-1])

    @property
    def scales_exactly(self) -> bool:
        """Whether even the smallest operand times the smallest scale is a bfloat16."""
        steps = [f.min_exponent - f.mantissa for f in (float_format(v.type.dtype) for v in (self.a, self.a_scale))]
        least = float_format(dt.bfloat16)
        return sum(steps) >= least.min_exponent - least.mantissa

    def of_scaled_operands(self, b: Builder) -> Value:
        """The same as an MMA of bfloat16, whose operands are multiplied by their scales.

        Significands of operands and scales have at most bfloat16's 8 bits together, so the multiplication is exact in
        bfloat16's range, from 2**-133 on: only scales of float8_e8m0fnu can take 8-bit operands below it.
        """
        left, right = _times(b, self.a, self.a_scale, -1), _times(b, self.b, self.b_scale, -2)
        return b.value(Mma(a=left, b=right, acc=self.acc))

    def infer(self) -> tuple[Type, ...]:
        a, b, acc, sa, sb = (v.type.erased() for v in (self.a, self.b, self.acc, self.a_scale, self.b_scale))
        require(acc.rank >= 2 and {a.rank, b.rank, sa.rank, sb.rank} == {acc.rank},
                f"mma_scaled: ranks differ: a is {a}, b is {b}, acc is {acc}, the scales are {sa} and {sb}")
        (m, k), n = a.shape[-2:], b.shape[-1]
        batch = acc.shape[:-2]
        fits = a.shape[:-2] == batch and b.shape == (*batch, k, n) and acc.shape == (*batch, m, n)
        require(fits, f"mma_scaled: the sizes differ: a is {_dims(a)}, b is {_dims(b)}, acc is {_dims(acc)}")
        blocks = SCALE_BLOCKS.get((a.dtype, sa.dtype), ())
        require(a.dtype is b.dtype and sa.dtype is sb.dtype and bool(blocks) and acc.dtype is dt.float32,
                f"mma_scaled: {a.dtype} and {b.dtype} with {sa.dtype} and {sb.dtype} scales and a {acc.dtype} "
                f"accumulator are not supported")
        runs = k // max(1, sa.shape[-1])
        require(runs in blocks and sa.shape == (*batch, m, k // runs) and sb.shape == (*batch, k // runs, n),
                f"mma_scaled: the scales are {_dims(sa)} and {_dims(sb)}; {a.dtype} operands of {_dims(a)} and "
                f"{_dims(b)} have one for each {' or '.join(map(str, blocks))} elements along K")
        return (acc,)


def _times(b: Builder, value: Value, scale: Value, axis: int) -> Value:
    """value * scale as bfloat16, each scale standing for a run of elements along an axis."""
    assert value.type.dtype.mantissa + scale.type.dtype.mantissa + 2 <= dt.bfloat16.mantissa + 1, (value, scale)
    shape, factors = value.type.shape, scale.type.shape
    at = len(shape) + axis
    wide, factor = (b.value(Cast(src=v, dtype=dt.bfloat16), v.hint) for v in (value, scale))
    runs = b.value(Reshape(src=factor, shape=(*factors[: at + 1], 1, *factors[at + 1 :])))
    spread = (*factors[: at + 1], shape[at] // factors[at], *factors[at + 1 :])
    each = b.value(Reshape(src=b.value(Broadcast(src=runs, shape=spread)), shape=shape))
    return b.value(Mul(lhs=wide, rhs=each), value.hint)


def _dims(tile: TileType) -> str:
    return "x".join(map(str, tile.shape))
