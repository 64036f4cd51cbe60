"""Element-wise functions of one tile."""

from __future__ import annotations

from tilewright.tileir.core import Op, Value, attribute, operand, require
from tilewright.tileir.dtypes import bool_
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.types import Type


class Unary(Op, elementwise=True):
    """One tile in, a tile of the same type out."""

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        return (self.src.type.erased(),)


class FloatUnary(Unary):
    """A function of floats."""

    def infer(self) -> tuple[Type, ...]:
        require(self.src.type.dtype.is_float, f"{self.opcode}: expected floats, got {self.src.type}")
        return (self.src.type.erased(),)


class Neg(Unary, opcode="neg"):
    """-src; integers wrap, floats flip the sign bit."""


class Abs(Unary, opcode="abs"):
    """|src|; the most negative integer stays as it is."""


class Not(Unary, opcode="not"):
    """Bitwise complement of integers, logical not of bools."""

    def infer(self) -> tuple[Type, ...]:
        require(not self.src.type.dtype.is_float, f"not: expected integers or bools, got {self.src.type}")
        return (self.src.type.erased(),)


class Exp(FloatUnary, opcode="exp"):
    """e ** src. `rounding` is FULL (accurate) or APPROX (hardware approximation, float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.FULL, enum=RoundingMode)


class Exp2(FloatUnary, opcode="exp2"):
    """2 ** src."""

    ftz: bool = attribute(default=False)


class Log(FloatUnary, opcode="log"):
    """Natural logarithm."""


class Log2(FloatUnary, opcode="log2"):
    """Base-2 logarithm."""


class Sqrt(FloatUnary, opcode="sqrt"):
    """Square root; `rounding` RN RZ RM RP, or APPROX (float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class Rsqrt(FloatUnary, opcode="rsqrt"):
    """1 / sqrt(src)."""

    ftz: bool = attribute(default=False)


class Sin(FloatUnary, opcode="sin"):
    """Sine of radians."""


class Cos(FloatUnary, opcode="cos"):
    """Cosine of radians."""


class Tan(FloatUnary, opcode="tan"):
    """Tangent of radians."""


class Sinh(FloatUnary, opcode="sinh"):
    """Hyperbolic sine."""


class Cosh(FloatUnary, opcode="cosh"):
    """Hyperbolic cosine."""


class Tanh(FloatUnary, opcode="tanh"):
    """Hyperbolic tangent. `rounding` is FULL or APPROX (float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.FULL, enum=RoundingMode)


class Floor(FloatUnary, opcode="floor"):
    """Largest integral value not above src."""


class Ceil(FloatUnary, opcode="ceil"):
    """Smallest integral value not below src."""


class IsNan(FloatUnary, opcode="isnan"):
    """True where src is a NaN."""

    def infer(self) -> tuple[Type, ...]:
        [type_] = super().infer()
        return (type_.with_dtype(bool_),)  # type: ignore[union-attr]
