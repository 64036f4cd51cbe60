"""atan2 of float32 and float64."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# atan(t) = t + t*s*P(s), s = t*t, on 0 <= t <= 1.
ATAN32 = (
    -0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950881242752075, -0.08399313688278198,
    0.05788162350654602, -0.031097304075956345, 0.010868877172470093, -0.0017828616546466947,
)
ATAN64 = (
    -0.3333333333333307, 0.19999999999951892, -0.14285714282600984, 0.1111111100781309, -0.09090907017321308,
    0.07692280010762462, -0.06666405487834383, 0.05880536470747083, -0.052535577504834646, 0.04722458608696266,
    -0.04219552214208888, 0.03665008459642575, -0.029918285847075458, 0.022005270912903635, -0.013923313782615802,
    0.007215887216183519, -0.002897010879338116, 0.0008364958425490755, -0.0001535115537233603,
    1.3386770252135538e-05,
)
# pi as the sum of two numbers of the format.
PI32 = (3.1415927410125732, -8.742277657347586e-08)
PI64 = (3.141592653589793, 1.2246467991473532e-16)


def atan2(y: Vec, x: Vec, coefficients: Sequence[float], pi: tuple[float, float]) -> Vec:
    """The angle of the point (x, y), in [-pi, pi], with the special cases of IEEE 754."""
    ax, ay = abs(x), abs(y)
    small, large = ax.min(ay), ax.max(ay)
    same = ax.eq(ay) & ax.ne(0.0)  # also when both are infinite
    t = where(same, 1.0, small / where(large.eq(0.0), 1.0, large))
    s = t * t
    angle = fma(polynomial(s, coefficients) * s, t, t)
    angle = where(ay.gt(ax), (pi[0] / 2 - angle) + pi[1] / 2, angle)
    angle = where(x.bits().lt(0), (pi[0] - angle) + pi[1], angle)
    angle = where(x.isnan() | y.isnan(), math.nan, angle)
    return angle.copysign(y)
