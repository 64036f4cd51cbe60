"""float64 exp and exp2 by polynomials: the hardware approximates in float32 only."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.vec import Vec, fma, like, polynomial, scale, where

# exp(r) = 1 + r + r*r*EXP(r) on |r| <= ln(2)/2; 2**d = 1 + d*EXP2(d) on |d| <= 1/2.
EXP = (0.5000000000000011, 0.16666666666666316, 0.041666666666524216, 0.008333333333560684, 0.001388888894556428,
       0.0001984126935523776, 2.4801490789332503e-05, 2.755771815554689e-06, 2.763116730884785e-07,
       2.4962353839751742e-08)
EXP2 = (0.6931471805599453, 0.2402265069591007, 0.05550410866482338, 0.009618129107630225, 0.0013333558146032874,
        0.00015403530388918352, 1.525273416814994e-05, 1.321549127152529e-06, 1.0177931326670591e-07,
        7.05299148837839e-09, 4.473542868218796e-10, 2.8635374535480128e-11)
LN2, LN2_LOW = 0.6931471805599453, 2.3190468138462996e-17
LOG2E = 1.4426950408889634
# 1.5 * 2**52: a smaller number added to it is rounded to an integer, which stands in the low bits.
MAGIC = 6755399441055744.0


def whole_part(x: Vec) -> tuple[Vec, Vec]:
    """x, of at most 2**31, rounded to an integer: as a float64 and as i32."""
    shifted = x + MAGIC
    return shifted - MAGIC, shifted.bits().cast("trunc", "i32")


def exp(x: Vec, shift: int = 0) -> Vec:
    """e**x * 2**shift, which overflows only where this does."""
    bounded = x.max(-1000.0).min(1000.0)
    whole, n = whole_part(bounded * LOG2E)
    r = fma(whole, -LN2_LOW, fma(whole, -LN2, bounded))
    p = fma(polynomial(r, EXP), r * r, r) + 1.0
    return where(x.isnan(), x, scale(p, n + shift))


def exp2(x: Vec) -> Vec:
    """2**x."""
    return where(x.isnan(), x, exp2_pair(x.max(-1100.0).min(1100.0), like(x, 0.0)))


def exp2_pair(high: Vec, low: Vec) -> Vec:
    """2**(high + low) for |high| <= 2000 and a low part below its last place."""
    whole, n = whole_part(high)
    d = (high - whole) + low
    return scale(fma(polynomial(d, EXP2), d, 1.0), n)
