"""Matrix multiply-accumulate on tiles."""

from __future__ import annotations

from tilewright.tileir import dtypes as dt
from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import DType
from tilewright.tileir.types import TileType, Type

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


def _dims(tile: TileType) -> str:
    return "x".join(map(str, tile.shape))
