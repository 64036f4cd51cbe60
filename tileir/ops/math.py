"""Element-wise functions of one tile."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from tilewright.tileir.core import Op, Value, attribute, operand
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.enums import Form, RoundingMode
from tilewright.tileir.ops.arith import BITS, FLOATS, INTEGERS, NUMBERS, Kind, check_kind
from tilewright.tileir.types import Type


def sigmoid(x: float) -> float:
    """1 / (1 + e**-x) of a Python number."""
    power = math.exp(-abs(x))
    return (power if x < 0 else 1.0) / (1.0 + power)


class Unary(Op, elementwise=True):
    """One tile in, a tile of the same type out."""

    takes: ClassVar[Kind] = NUMBERS

    src: Value = operand()

    def infer(self) -> tuple[Type, ...]:
        check_kind(self.opcode, self.takes, self.src)
        return (self.src.type.erased(),)


class FloatUnary(Unary):
    """A function of floats.

    Class keywords: `on_number`, the same function of a Python number, for constants; `converts`, whether integers may
    be given and become float32 first. The frontend derives the function's call rule from these and from the fields.
    """

    takes = FLOATS
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


class Neg(Unary, opcode="neg", speculatable=True):
    """-src; integers wrap, floats flip the sign bit."""


class Abs(Unary, opcode="abs"):
    """|src|; the most negative integer stays as it is."""


class Not(Unary, opcode="not", speculatable=True):
    """Bitwise complement of integers, logical not of bools."""

    takes = BITS


class Exp(FloatUnary, opcode="exp", on_number=math.exp):
    """e ** src. `rounding` is FULL (accurate) or APPROX (hardware approximation, float32)."""

    rounding: RoundingMode = attribute(default=RoundingMode.FULL, enum=RoundingMode)
    form: Form = attribute(default=Form.USES, enum=Form)


class Exp2(FloatUnary, opcode="exp2", on_number=lambda x: 2.0**x):
    """2 ** src."""

    ftz: bool = attribute(default=False)
    form: Form = attribute(default=Form.USES, enum=Form)


class Log(FloatUnary, opcode="log", on_number=math.log):
    """Natural logarithm."""


class Log2(FloatUnary, opcode="log2", on_number=math.log2):
    """Base-2 logarithm."""


class Sqrt(FloatUnary, opcode="sqrt", on_number=math.sqrt):
    """Square root; `rounding` RN RZ RM RP, or APPROX (float32). `form` is not FLUSHED."""

    rounding: RoundingMode = attribute(default=RoundingMode.RN, enum=RoundingMode)
    ftz: bool = attribute(default=False)
    form: Form = attribute(default=Form.USES, enum=Form)


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


class Asin(FloatUnary, opcode="asin", on_number=math.asin):
    """Angle in [-pi/2, pi/2] whose sine is src; NaN beyond 1."""


class Acos(FloatUnary, opcode="acos", on_number=math.acos):
    """Angle in [0, pi] whose cosine is src; NaN beyond 1."""


class Atan(FloatUnary, opcode="atan", on_number=math.atan):
    """Angle in [-pi/2, pi/2] whose tangent is src."""


class Asinh(FloatUnary, opcode="asinh", on_number=math.asinh):
    """Number whose hyperbolic sine is src."""


class Acosh(FloatUnary, opcode="acosh", on_number=math.acosh):
    """Number, not negative, whose hyperbolic cosine is src; NaN below 1."""


class Atanh(FloatUnary, opcode="atanh", on_number=math.atanh):
    """Number whose hyperbolic tangent is src; infinite at 1, NaN beyond."""


class Log1p(FloatUnary, opcode="log1p", on_number=math.log1p):
    """log(1 + src), accurate near 0."""


class Expm1(FloatUnary, opcode="expm1", on_number=math.expm1):
    """e ** src - 1, accurate near 0."""


class Erf(FloatUnary, opcode="erf", on_number=math.erf):
    """Error function: 2 / sqrt(pi) times the integral of e ** -t**2 from 0 to src."""

    form: Form = attribute(default=Form.USES, enum=Form)


class Erfc(FloatUnary, opcode="erfc", on_number=math.erfc):
    """1 - erf(src), accurate where erf(src) is near 1."""


class Sigmoid(FloatUnary, opcode="sigmoid", on_number=sigmoid):
    """Logistic function 1 / (1 + e ** -src)."""

    form: Form = attribute(default=Form.USES, enum=Form)


class Integral(FloatUnary, converts=False):
    """A float to an integral value; zeros, infinities and NaNs keep their sign."""


class Floor(Integral, opcode="floor", on_number=math.floor):
    """Largest integral value not above src."""


class Ceil(Integral, opcode="ceil", on_number=math.ceil):
    """Smallest integral value not below src."""


class Trunc(Integral, opcode="trunc", on_number=math.trunc):
    """src without its fraction: the integral value next to it toward zero."""


class Round(Integral, opcode="round", on_number=round):
    """Integral value nearest to src, of two equally near ones the even one."""


class StopGradient(FloatUnary, opcode="stop_gradient", on_number=float, converts=False):
    """src itself, as a constant to derivatives."""


class FloatTest(FloatUnary, converts=False):
    """A question about floats: the result is a bool tile."""

    def infer(self) -> tuple[Type, ...]:
        [type_] = super().infer()
        return (type_.with_dtype(bool_),)  # type: ignore[union-attr]


class IsNan(FloatTest, opcode="isnan", on_number=math.isnan):
    """True where src is a NaN."""


class IsInf(FloatTest, opcode="isinf", on_number=math.isinf):
    """True where src is an infinity, of either sign."""


class IsFinite(FloatTest, opcode="isfinite", on_number=math.isfinite):
    """True where src is neither an infinity nor a NaN."""


class BitCount(Unary):
    """A number of bits of each integer, as int32."""

    takes = INTEGERS

    def infer(self) -> tuple[Type, ...]:
        super().infer()
        return (self.src.type.erased().with_dtype(int32),)


class Popcount(BitCount, opcode="popcount"):
    """How many bits of src are 1."""


class Clz(BitCount, opcode="clz"):
    """How many bits stand above the highest 1 of src: the width of its dtype for 0."""
