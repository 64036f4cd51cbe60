"""Changes of dtype."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import DType, bool_, float4_e2m1fn, uint8
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.types import Type


class Cast(Op, opcode="cast", elementwise=True, cheap=True, speculatable=True):
    """Convert values. Integers wrap; float to integer truncates and saturates, NaN gives 0; anything to bool is != 0;
    float to float rounds by `rounding`; to float8_e4m3fn, e5m2, e2m1fn saturates to the largest finite value."""

    src: Value = operand()
    dtype: DType = attribute()
    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)

    def infer(self) -> tuple[Type, ...]:
        return (self.src.type.erased().with_dtype(self.dtype),)


class Bitcast(Op, opcode="bitcast", elementwise=True):
    """Reinterpret the bits of each element as another dtype of the same width; bool is refused.

    A four-bit float counts as the uint8 that holds it, whose upper bits are zero.
    """

    src: Value = operand()
    dtype: DType = attribute()

    def infer(self) -> tuple[Type, ...]:
        old, new = self.src.type.dtype, self.dtype
        fits = old.bitwidth == new.bitwidth or {old, new} == {float4_e2m1fn, uint8}
        require(fits, f"bitcast: {old} has {old.bitwidth} bits, {new} has {new.bitwidth}")
        require(old is not bool_ and new is not bool_, "bitcast: bool_ has no fixed bits")
        return (self.src.type.erased().with_dtype(self.dtype),)
