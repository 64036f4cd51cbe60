"""float32 atan2."""

from __future__ import annotations

import math

from tilewright.backend_ptx.mathlib.vec import Vec, fma, polynomial, where

# atan(t) = t + t*s*P(s), s = t*t, on 0 <= t <= 1.
ATAN = (
    -0.33333298563957214, 0.1999852955341339, -0.14264015853405, 0.10950881242752075, -0.08399313688278198,
    0.05788162350654602, -0.031097304075956345, 0.010868877172470093, -0.0017828616546466947,
)
PI, PI_LOW = 3.1415927410125732, -8.742277657347586e-08


def atan2(y: Vec, x: Vec) -> Vec:
    """The angle of the point (x, y), in [-pi, pi], with the special cases of IEEE 754."""
    ax, ay = abs(x), abs(y)
    small, large = ax.min(ay), ax.max(ay)
    same = ax.eq(ay) & ax.ne(0.0)  # also when both are infinite
    t = where(same, 1.0, small / where(large.eq(0.0), 1.0, large))
    s = t * t
    angle = fma(polynomial(s, ATAN) * s, t, t)
    angle = where(ay.gt(ax), (PI / 2 - angle) + PI_LOW / 2, angle)
    angle = where(x.bits().lt(0), (PI - angle) + PI_LOW, angle)
    angle = where(x.isnan() | y.isnan(), math.nan, angle)
    return angle.copysign(y)
