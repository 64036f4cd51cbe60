"""Integer powers of floats, by squaring in the float's own format."""

from __future__ import annotations

from tilewright.backend_ptx.llvm.builder import Builder, Val
from tilewright.backend_ptx.lower.floats import arithmetic


def float_power_of_int(b: Builder, x: Val, y: Val, signed: bool) -> Val:
    """x ** y for an integer exponent, from its lowest bit up; a negative one gives the reciprocal of the power."""
    one = b.like(x, 1.0)
    if y.const is not None:
        power = _constant_power(b, x, abs(int(y.const)))
        return arithmetic(b, "fdiv", one, power) if y.const < 0 else power
    magnitude = b.intrinsic("llvm.abs", [y, b.const("i1", 0)]) if signed else y
    result, square = one, x
    bits = int(y.elem[1:])
    for bit in range(bits):
        odd = b.icmp("ne", b.and_(magnitude, 1 << bit), 0)
        result = b.select(odd, arithmetic(b, "fmul", result, square), result)
        if bit + 1 < bits:
            square = arithmetic(b, "fmul", square, square)
    if not signed:
        return result
    return b.select(b.icmp("slt", y, 0), arithmetic(b, "fdiv", one, result), result)


def _constant_power(b: Builder, x: Val, exponent: int) -> Val:
    result: Val | None = None
    square = x
    while exponent:
        if exponent & 1:
            result = square if result is None else arithmetic(b, "fmul", result, square)
        exponent >>= 1
        if exponent:
            square = arithmetic(b, "fmul", square, square)
    return b.like(x, 1.0) if result is None else result
