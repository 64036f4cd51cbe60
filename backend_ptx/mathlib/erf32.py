"""float32 erf and erfc: a polynomial near zero, the exponential elsewhere."""

from __future__ import annotations

from tilewright.backend_ptx.mathlib.exp32 import exp, rcp
from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# erf(x) = x + x*ERF(x*x) on |x| <= 0.93.
ERF = (
    0.12837915122509003, -0.37612485885620117, 0.11281692981719971, -0.026761481538414955, 0.004985092673450708,
    -0.0005947835743427277,
)
# erf(x) = 1 - exp(-x - x*RISE(x)) on 0.92 <= x <= 4.
RISE = (
    0.12851278483867645, 0.6357236504554749, 0.10525479912757874, -0.022885434329509735, 0.0032135378569364548,
    -0.0002138122945325449,
)
# (1 + 2*a) * exp(a*a) * erfc(a) = 1 + TAIL(q), q = (a - 2) / (a + 2), on 0 <= a <= 11 (the form is Shepherd's and
# Laframboise's, Mathematics of Computation 36, 1981).
TAIL = (
    0.27697840332984924, -0.09276395291090012, -0.16603176295757294, 0.16405531764030457, -0.0542009063065052,
    -0.008059804327785969, 0.008619431406259537, 0.0013092078734189272, -0.001215519499965012,
    -0.00039110297802835703,
)


def erf(x: Vec) -> Vec:
    """The error function, within 2 ulp."""
    a = abs(x)
    bounded = a.min(4.0)  # beyond it 1 is the nearest value
    large = 1.0 - exp(fma(polynomial(bounded, RISE), -bounded, -bounded))
    # + 0.0 keeps the sign of -0.
    near = fma(polynomial(x * x, ERF), x, x)
    return where(a.gt(0.927734375), where(x.isnan(), x, large).copysign(x), near)


def erfc(x: Vec) -> Vec:
    """1 - erf(x), without the cancellation; within 4 ulp. Below 2**-149 it is zero."""
    a = abs(x)
    bounded = a.min(10.5)
    denominator = bounded + 2.0
    inverse = rcp(denominator)
    q = (bounded - 2.0) * inverse
    # One step towards the quotient: q + inverse * (a - 2 - q * (a + 2)).
    q = fma(inverse, fma(q + 1.0, -2.0, fma(-q, bounded, bounded)), q)
    p = polynomial(q, TAIL)
    # (1 + p) / (1 + 2a), rounded once.
    inverse = rcp(fma(bounded, 2.0, 1.0))
    ratio = fma(p, inverse, inverse)
    rest = fma(ratio * -2.0, bounded, 1.0) + (p - ratio)
    ratio = fma(rest, inverse, ratio)
    # exp(-a*a): the square's rounding error is its factor 1 + t.
    square = bounded * bounded
    t = fma(-bounded, bounded, square)
    power = exp(-square)
    tail = fma(ratio, power, ratio * power * t)
    result = where(x.lt(0.0), 2.0 - tail, tail)
    return where(x.isnan(), x, result)
