"""float32 exp and exp2 on the hardware's ex2.approx, with the argument reduced so that no accuracy is lost."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.vec import Vec, fma, where

# log2(e) as the sum of two floats: one alone costs up to 63 ulp at large arguments.
LOG2E = 1.4426950216293335
LOG2E_LOW = 1.925963033500011e-08
# 1.5 * 2**23: a number of small magnitude added to it is rounded to an integer, which stands in the low bits.
MAGIC = 12582912.0


def ex2(x: Vec) -> Vec:
    """2**x by the hardware (about 2 ulp), subnormal results flushed to zero."""
    return x.lanewise("llvm.nvvm.ex2.approx.ftz.f32")


def rcp(x: Vec) -> Vec:
    """1/x by the hardware (1 ulp), subnormals flushed."""
    return x.lanewise("llvm.nvvm.rcp.approx.ftz.f")


def quotient_normal(x: Vec, y: Vec) -> Vec:
    """x / y within 3 ulp, for divisors within 2**-126 to 2**126, whose reciprocals are not flushed."""
    return x * rcp(y)


def quotient_from_one(x: Vec, y: Vec) -> Vec:
    """x / y within 3 ulp, for divisors from 1 on: where a quarter of x is rounded, the quotient is subnormal, too."""
    return (x * 0.25) * rcp(y * 0.25)


def exp_parts(x: Vec, span: float) -> tuple[Vec, Vec]:
    """(m, j): exp(x) = m * 2**(j - 127), where j stands in the low bits of an integer, 1 <= j <= 1 + span.

    m is in [1, 2] while j is not at an end; there j stops and m shrinks or grows, so that the one product of the
    caller rounds subnormal results correctly and overflows to infinity.
    """
    # The saturation folds into the fma and turns NaN into 0. Rounding down leaves ex2 an argument in [0, 1].
    unit = fma(x, LOG2E / span, 126.0 / span).lanewise("llvm.nvvm.saturate.f")
    shifted = unit.lanewise("llvm.nvvm.fma.rm.f", span, MAGIC + 1.0)
    whole = shifted - (MAGIC + 127.0)
    rest = fma(x, LOG2E_LOW, fma(x, LOG2E, -whole))
    return ex2(rest), shifted.bits()


def exp(x: Vec) -> Vec:
    """e**x in 8 instructions."""
    m, j = exp_parts(x, 253.0)
    return m * (j << 23).as_float("float")


def half_exp(x: Vec) -> Vec:
    """e**x / 2 for x >= 0, which overflows only where sinh and cosh do."""
    m, j = exp_parts(x, 254.0)
    return m * ((j << 23) - (1 << 23)).as_float("float")


def exp_approx(x: Vec) -> Vec:
    """e**x in two instructions: the product's rounding costs |x| / 2 ulp, subnormal results are zero."""
    return ex2(x * LOG2E)


def exp_relative(x: Vec) -> Vec:
    """e**x in 5 instructions, with the error of `exp_approx`; subnormal results stay."""
    return exp2(x * LOG2E)


def exp2(x: Vec) -> Vec:
    """2**x in 4 instructions; results below 2**-126 are made 2**64 larger and scaled down, so that they are rounded,
    not flushed. ptxas predicates the sum and the product that are selected; selects of constants are two more."""
    small = x.lt(-126.0)
    y = ex2(where(small, x + 64.0, x))
    return where(small, y * 2.0**-64, y)
