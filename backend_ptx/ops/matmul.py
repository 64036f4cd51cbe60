"""Matrix products after the instruction was chosen."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.types import Type


class Product(Op):
    """a @ b + acc. a: [..., M, K], b: [..., K, N], acc: [..., M, N], batch axes equal."""

    a: Value = operand()
    b: Value = operand()
    acc: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        a, b, acc = self.a.type.shape, self.b.type.shape, self.acc.type.shape
        ok = len(a) == len(b) == len(acc) >= 2 and a[:-2] == b[:-2] == acc[:-2]
        ok = ok and (a[-2], b[-1], a[-1]) == (acc[-2], acc[-1], b[-2])
        require(ok, f"{self.opcode}: shapes do not fit: {self.a.type}, {self.b.type}, {self.acc.type}")
        return (self.acc.type.erased(),)


class MmaSync(Product, opcode="mma_sync", collective=True):
    """By tensor cores: `instruction` names a record of backend_ptx/instructions/tensor_core.py."""

    instruction: str = attribute()


class MmaFma(Product, opcode="mma_fma"):
    """By multiply-adds of each thread, in the dtype of acc: float32, float64 or int32 operands."""
