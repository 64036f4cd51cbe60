"""exp, log, sin and their like in float64: within 2**-50 of the exact value, relatively.

NumPy's are as close (at most 4 units in its last place), so both round to one float32, unless that value lies so near a
tie that `settled` is in doubt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tilewright.interp.jit.emit import Emitter, Name, double

D = "double"
_MAGIC = 1.5 * 2.0**52  # added to a number, its last bits are the integer nearest to it
_LN2 = 0.6931471805599453, 2.3190468138462996e-17  # both: the number and what it lacks
_HALF_PI = 1.5707963267948966, 6.123233995736766e-17


def settled(e: Emitter, y: Name) -> Name:
    """float64 as float32; in doubt where a little more or less would round otherwise."""
    around = (e.do("fmul double", y, double(1 + side)) for side in (-2.0**-48, 2.0**-48))
    low, high = (e(f"fptrunc double {v} to float") for v in around)
    e.doubtful(e(f"fcmp one float {low}, {high}"))
    return low


def _fma(e: Emitter, a: Name, b: Name, c: Name) -> Name:
    return e.call("llvm.fma.f64", D, a, b, c)


def _polynomial(e: Emitter, x: Name, coefficients: Sequence[float]) -> Name:
    """Horner's rule; the constant term comes first."""
    out = double(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        out = _fma(e, out, x, double(c))
    return out


def _limited(e: Emitter, x: Name, low: float, high: float) -> Name:
    """x in low..high; NaN stays."""
    x = e.select(e(f"fcmp ogt double {x}, {double(high)}"), D, double(high), x)
    return e.select(e(f"fcmp olt double {x}, {double(low)}"), D, double(low), x)


def _nearest_integer(e: Emitter, x: Name, scale: float) -> tuple[Name, Name]:
    """The integer nearest to x * scale: as bits whose last ones are its, and as float64."""
    t = _fma(e, x, double(scale), double(_MAGIC))
    return e.bits(t, D), e(f"fsub double {t}, {double(_MAGIC)}")


def _less(e: Emitter, x: Name, k: Name, parts: Sequence[float]) -> Name:
    """x - k * (the sum of the parts)."""
    for part in parts:
        x = _fma(e, k, double(-part), x)
    return x


def _scaled(e: Emitter, x: Name, k: Name) -> Name:
    """x * 2**k, where both are normal numbers."""
    return e.bits(e(f"add i64 {e.bits(x, D)}, {e(f'shl i64 {k}, 52')}"), "i64")


def _exp_of_rest(e: Emitter, r: Name, k: Name) -> Name:
    return _scaled(e, _polynomial(e, r, [1 / math.factorial(n) for n in range(14)]), k)


def exp(e: Emitter, x: Name) -> Name:
    """Beyond the limits float32 has zero and infinity."""
    near = _limited(e, x, -120.0, 100.0)
    bits, k = _nearest_integer(e, near, 1 / math.log(2))
    out = _exp_of_rest(e, _less(e, near, k, _LN2), bits)
    return e.select(e.nan(x, D), D, x, out)


def exp2(e: Emitter, x: Name) -> Name:
    near = _limited(e, x, -170.0, 140.0)
    bits, k = _nearest_integer(e, near, 1.0)
    rest = e(f"fmul double {e(f'fsub double {near}, {k}')}, {double(_LN2[0])}")
    return e.select(e.nan(x, D), D, x, _exp_of_rest(e, rest, bits))


def expm1(e: Emitter, x: Name) -> Name:
    near = _limited(e, x, -60.0, 100.0)
    bits, k = _nearest_integer(e, near, 1 / math.log(2))
    r = _less(e, near, k, _LN2)
    square = e(f"fmul double {r}, {r}")
    less_one = _fma(e, square, _polynomial(e, r, [1 / math.factorial(n) for n in range(2, 15)]), r)
    power = _scaled(e, double(1.0), bits)
    out = _fma(e, power, less_one, e(f"fadd double {power}, {double(-1.0)}"))
    return _of_zero_and_nan(e, x, out)


def _of_zero_and_nan(e: Emitter, x: Name, out: Name) -> Name:
    """Functions that give zeros and NaNs back."""
    return e.select(e(f"fcmp ueq double {x}, {double(0.0)}"), D, x, out)


def tanh(e: Emitter, x: Name) -> Name:
    power = expm1(e, _limited(e, e(f"fadd double {x}, {x}"), -60.0, 60.0))
    out = e(f"fdiv double {power}, {e(f'fadd double {power}, {double(2.0)}')}")
    return _of_zero_and_nan(e, x, out)


def sigmoid(e: Emitter, x: Name) -> Name:
    magnitude = e.call("llvm.fabs.f64", D, x)
    power = exp(e, e(f"fneg double {magnitude}"))
    above = e.select(e(f"fcmp olt double {x}, {double(0.0)}"), D, power, double(1.0))
    return e(f"fdiv double {above}, {e(f'fadd double {power}, {double(1.0)}')}")


def _log_parts(e: Emitter, x: Name) -> tuple[Name, Name]:
    """k and log(m), where x = 2**k * m and m is between the roots of 1/2 and 2."""
    bits = e.bits(x, D)
    k = e(f"ashr i64 {e(f'sub i64 {bits}, {0x3FE6A09E667F3BCD}')}, 52")
    m = e.bits(e(f"sub i64 {bits}, {e(f'shl i64 {k}, 52')}"), "i64")
    f = e(f"fadd double {m}, {double(-1.0)}")
    s = e(f"fdiv double {f}, {e(f'fadd double {f}, {double(2.0)}')}")
    z = e(f"fmul double {s}, {s}")
    rest = e(f"fmul double {z}, {_polynomial(e, z, [2 / (2 * n + 1) for n in range(1, 12)])}")
    return e(f"sitofp i64 {k} to double"), _fma(e, s, rest, e(f"fadd double {s}, {s}"))


def _of_log(e: Emitter, x: Name, out: Name) -> Name:
    infinite = e(f"fcmp oeq double {x}, {double(math.inf)}")
    out = e.select(infinite, D, x, out)
    out = e.select(e(f"fcmp oeq double {x}, {double(0.0)}"), D, double(-math.inf), out)
    return e.select(e(f"fcmp ult double {x}, {double(0.0)}"), D, double(math.nan), out)


def log(e: Emitter, x: Name) -> Name:
    k, part = _log_parts(e, x)
    low = _fma(e, k, double(_LN2[1]), part)
    return _of_log(e, x, _fma(e, k, double(_LN2[0]), low))


def log2(e: Emitter, x: Name) -> Name:
    k, part = _log_parts(e, x)
    low = e(f"fmul double {part}, {double(2.0355273740931033e-17)}")
    return _of_log(e, x, e(f"fadd double {k}, {_fma(e, part, double(1.4426950408889634), low)}"))


def _turned(e: Emitter, x: Name, quarters: int) -> Name:
    """sin(x + quarters * pi / 2)."""
    bits, k = _nearest_integer(e, x, 2 / math.pi)
    size = e.call("llvm.fabs.f64", D, x)
    far, finite = e.do("fcmp ogt double", size, double(2.0**20)), e.do("fcmp one double", size, double(math.inf))
    e.doubtful(e.do("and i1", far, finite))
    r = _less(e, x, k, _HALF_PI)
    z = e(f"fmul double {r}, {r}")
    sine = _polynomial(e, z, [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)])
    sine = _fma(e, e(f"fmul double {r}, {z}"), sine, r)
    cosine = _polynomial(e, z, [(-1) ** n / math.factorial(2 * n) for n in range(9)])
    quadrant = e(f"add i64 {bits}, {quarters}")
    odd = e(f"trunc i64 {quadrant} to i1")
    sign = e(f"shl i64 {e(f'lshr i64 {quadrant}, 1')}, 63")
    out = e.bits(e.select(odd, D, cosine, sine), D)
    return e.bits(e(f"xor i64 {out}, {sign}"), "i64")


def sin(e: Emitter, x: Name) -> Name:
    return _of_zero_and_nan(e, x, _turned(e, x, 0))


def cos(e: Emitter, x: Name) -> Name:
    return _turned(e, x, 1)


def rsqrt(e: Emitter, x: Name) -> Name:
    """As the closure does it, in two operations with one rounding each."""
    return e(f"fdiv double {double(1.0)}, {e.call('llvm.sqrt.f64', D, x)}")
