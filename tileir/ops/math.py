"""Element-wise functions of one tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

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
    """A function of floats.

    Class keywords: `on_number`, the same function of a Python number, for constants; `converts`, whether integers may
    be given and become float32 first. The frontend derives the function's call rule from these and from the fields.
    """

    on_number: ClassVar[Callable[[Any], Any]]
    converts: ClassVar[bool] = True

    def __init_subclass__(
        cls, *, on_number: Callable[[Any], Any] | None = None, converts: bool | None = None, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        if on_number is not None:
            cls.on_number = staticmethod(on_number)
        if converts is not None:
            cls.converts = converts

    def infer(self) -> tuple[Type, ...]:
        require(self.src.type.dtype.is_float, f"{self.opcode}: expected floats, got {self.src.type}")
        return (self.src.type.erased(),)


class Neg(Unary, opcode="neg", speculatable=True):
    """-src; integers wrap, floats flip the sign bit."""


class Abs(Unary, opcode="abs"):
    """|src|; the most negative integer stays as it is."""


class Not(Unary, opcode="not", speculatable=True):
    """Bitwise complement of integers, logical not of bools."""

    def infer(self) -> tuple[Type, ...]:
        require(not self.src.type.dtype.is_float, f"not: expected integers or bools, got {self.src.type}")
        return (self.src.type.erased(),)


class Exp(FloatUnary, opcode="exp", on_number=math.exp):
    """e ** src. `rounding` is FULL (accurate) or APPROX (hardware approximation, float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.FULL, enum=RoundingMode)


class Exp2(FloatUnary, opcode="exp2", on_number=lambda x: 2.0**x):
    """2 ** src."""

    ftz: bool = attribute(default=False)


class Log(FloatUnary, opcode="log", on_number=math.log):
    """Natural logarithm."""


class Log2(FloatUnary, opcode="log2", on_number=math.log2):
    """Base-2 logarithm."""


class Sqrt(FloatUnary, opcode="sqrt", on_number=math.sqrt):
    """Square root; `rounding` RN RZ RM RP, or APPROX (float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)


class Rsqrt(FloatUnary, opcode="rsqrt", on_number=lambda x: 1.0 / math.sqrt(x)):
    """1 / sqrt(src)."""

    ftz: bool = attribute(default=False)


class Sin(FloatUnary, opcode="sin", on_number=math.sin):
    """Sine of radians."""


class Cos(FloatUnary, opcode="cos", on_number=math.cos):
    """Cosine of radians."""


class Tan(FloatUnary, opcode="tan", on_number=math.tan):
    """Tangent of radians."""


class Sinh(FloatUnary, opcode="sinh", on_number=math.sinh):
    """Hyperbolic sine."""


class Cosh(FloatUnary, opcode="cosh", on_number=math.cosh):
    """Hyperbolic cosine."""


class Tanh(FloatUnary, opcode="tanh", on_number=math.tanh):
    """Hyperbolic tangent. `rounding` is FULL or APPROX (float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.FULL, enum=RoundingMode)


class Integral(FloatUnary, converts=False):
    """A float to an integral value; zeros, infinities and NaNs keep their sign."""


class Floor(Integral, opcode="floor", on_number=math.floor):
    """Largest integral value not above src."""


class Ceil(Integral, opcode="ceil", on_number=math.ceil):
    """Smallest integral value not below src."""


class Trunc(Integral, opcode="trunc", on_number=math.trunc):
    """src without its fraction: the integral value next to it toward zero."""


class IsNan(FloatUnary, opcode="isnan", on_number=math.isnan, converts=False):
    """True where src is a NaN."""

    def infer(self) -> tuple[Type, ...]:
        [type_] = super().infer()
        return (type_.with_dtype(bool_),)  # type: ignore[union-attr]
