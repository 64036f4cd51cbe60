"""Rounding as the definitions say it, in exact fractions: the reference of conversions and of rounding modes.

Slow and plain on purpose; nothing of the package under test is used.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from catalogue.cells.formats import LIMITS

Array = np.ndarray[Any, Any]
MODES = ("RN", "RZ", "RM", "RP", "RA")


def exponent_of(x: Fraction) -> int:
    """e with 2**e <= x < 2**(e + 1), of a positive x."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def rounded(x: Fraction, mode: str, negative: bool) -> int:
    """A magnitude to an integer; `negative` is its sign, for the directed modes."""
    low = x.numerator // x.denominator
    rest = x - low
    if rest == 0 or mode == "RZ" or (mode == "RM" and not negative) or (mode == "RP" and negative):
        return low
    if mode in ("RM", "RP"):
        return low + 1
    half = Fraction(1, 2)
    if rest == half:
        return low + 1 if mode == "RA" else low + low % 2
    return low + 1 if rest > half else low


def round_number(x: Fraction, name: str, mode: str = "RN", saturate: bool = False) -> float:
    """The value of the format next to x. Overflow is IEEE's, or with `saturate` the largest value."""
    limits = LIMITS[name]
    negative = x < 0
    assert limits.has_sign or not negative
    magnitude = abs(x)
    if not limits.has_zero and magnitude < limits.smallest:
        return float(limits.smallest)
    if magnitude == 0:
        return 0.0
    unit = Fraction(2) ** (max(exponent_of(magnitude), limits.lowest) - limits.mantissa)
    if limits.mantissa == 0:
        # Powers of two alone: halfway is halfway in value, and no neighbour is the even one, so that ties go up.
        low = Fraction(2) ** exponent_of(magnitude)
        out = low * (rounded(magnitude / low, mode, negative))
    else:
        out = unit * rounded(magnitude / unit, mode, negative)
    if out > limits.largest:
        toward_zero = mode == "RZ" or (mode == "RM" and not negative) or (mode == "RP" and negative)
        out_float = float(limits.largest) if saturate or toward_zero or not limits.has_inf else math.inf
    else:
        out_float = float(out)
    return -out_float if negative else out_float


def to_format(x: Array, name: str, mode: str = "RN") -> Array:
    """float64 numbers rounded to a format, as `astype` does: the small formats saturate."""
    limits = LIMITS[name]
    # Language, 15.14: float to e4m3fn, e5m2 and e2m1fn saturates; the others without infinity have no choice.
    saturate = name.startswith(("float8", "float4"))
    numbers = np.asarray(x, np.float64).ravel().tolist()
    flat = [_convert(v, math.copysign(1.0, v), name, mode, saturate) for v in numbers]
    assert limits.has_nan or not any(map(math.isnan, flat))
    return np.array(flat, np.float64).reshape(np.shape(x))


@functools.lru_cache(1 << 18)  # samples repeat: of a small format there are but few numbers
def _convert(v: float, sign: float, name: str, mode: str, saturate: bool) -> float:
    """`v` rounded; `sign` is its own, so that zeros of both are kept apart."""
    limits = LIMITS[name]
    if math.isnan(v):
        return v if limits.has_nan else float(limits.largest)
    if v < 0 and not limits.has_sign:
        return math.nan  # nothing stands for a negative number
    if math.isinf(v):
        if limits.has_inf and not saturate:
            return v
        return math.copysign(float(limits.largest), sign)
    out = round_number(Fraction(v), name, mode, saturate)
    return math.copysign(out, sign) if limits.has_sign else out


def directed(op: str, x: Array, y: Array, name: str, mode: str) -> Array:
    """x op y rounded once in a mode: "add", "sub", "mul", "div", or "sqrt" of x. Both hold values of the format."""
    flat = [_operate(op, float(a), float(b), name, mode)
            for a, b in zip(*(v.ravel() for v in np.broadcast_arrays(x, y)), strict=True)]
    return np.array(flat, np.float64).reshape(np.broadcast_shapes(np.shape(x), np.shape(y)))


def _operate(op: str, a: float, b: float, name: str, mode: str) -> float:
    if not (math.isfinite(a) and math.isfinite(b)) or (op == "div" and b == 0) or (op == "sqrt" and a <= 0):
        return _special(op, a, b)
    x, y = Fraction(a), Fraction(b)
    if op == "sqrt":
        return _root(x, name, mode)
    exact = {"add": x + y, "sub": x - y, "mul": x * y, "div": x / y if y else x}[op]
    if exact == 0:
        return _zero(op, a, b, mode)
    return round_number(exact, name, mode) if exact > 0 else math.copysign(round_number(exact, name, mode), -1)


def _special(op: str, a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        x, y = np.float64(a), np.float64(b)
        return float({"add": x + y, "sub": x - y, "mul": x * y, "div": x / y, "sqrt": np.sqrt(x)}[op])


def _zero(op: str, a: float, b: float, mode: str) -> float:
    """The sign of an exact zero (IEEE 754, 6.3)."""
    if op in ("mul", "div"):
        return math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b))
    b = -b if op == "sub" else b
    if math.copysign(1, a) == math.copysign(1, b) and a == 0 and b == 0:
        return a
    return -0.0 if mode == "RM" else 0.0


def _root(x: Fraction, name: str, mode: str) -> float:
    """The square root through integers: enough bits, and one more that says whether something is left."""
    shift = 2 * max(0, 80 - (exponent_of(x) // 2))
    scaled = x * Fraction(4) ** (shift // 2)
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    exact = root * root == scaled
    near = Fraction(2 * root + (0 if exact else 1), 2) / Fraction(2) ** (shift // 2)
    return round_number(near, name, mode)
