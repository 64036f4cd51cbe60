"""Integer facts: a range and a divisor, and what arithmetic makes of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tilewright.tileir.dtypes import DType


class IntFact(NamedTuple):
    """Every element is in low..high (inclusive) and a multiple of `divisor` (0 for the constant 0, which is a multiple
    of everything). A bool counts as 0 or 1."""

    low: int
    high: int
    divisor: int = 1

    @property
    def constant(self) -> int | None:
        """The one value that is possible."""
        return self.low if self.low == self.high else None

    def divisible_by(self, number: int) -> bool:
        return self.divisor % number == 0

    def within(self, low: int, high: int) -> bool:
        return low <= self.low and self.high <= high


def top(dtype: DType) -> IntFact:
    """What holds of every value of an integer or bool dtype."""
    return IntFact(*dtype.int_range, 1)


def exactly(value: int) -> IntFact:
    return IntFact(value, value, abs(value))


def fit(low: int, high: int, divisor: int, dtype: DType) -> IntFact:
    """The fact of an exact result that is then wrapped to the dtype."""
    least, most = dtype.int_range
    if low < least or high > most:
        return IntFact(least, most, math.gcd(divisor, 1 << dtype.bitwidth))  # wrapping keeps powers of two
    if divisor > 1:
        tight_low, tight_high = -(-low // divisor) * divisor, high // divisor * divisor
        if tight_low <= tight_high:
            low, high = tight_low, tight_high
    return exactly(low) if low == high else IntFact(low, high, divisor)


def join(a: IntFact, b: IntFact) -> IntFact:
    """What holds of both."""
    if a == b:
        return a
    return IntFact(min(a.low, b.low), max(a.high, b.high), math.gcd(a.divisor, b.divisor))


def widen(old: IntFact, new: IntFact, dtype: DType) -> IntFact:
    """A fact that covers both and whose bounds cannot move again."""
    least, most = dtype.int_range
    low = old.low if new.low >= old.low else least
    high = old.high if new.high <= old.high else most
    return IntFact(low, high, math.gcd(old.divisor, new.divisor))


def add(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    return fit(a.low + b.low, a.high + b.high, math.gcd(a.divisor, b.divisor), dtype)


def subtract(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    return fit(a.low - b.high, a.high - b.low, math.gcd(a.divisor, b.divisor), dtype)


def multiply(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return fit(min(corners), max(corners), a.divisor * b.divisor, dtype)


def least(divisor: IntFact) -> int:
    """What the backend divides by in place of 0: a number that divides the others. The interpreter gives 0."""
    return divisor.divisor if 0 < divisor.divisor < 1 << 31 else 1


def _ends(b: IntFact) -> list[int]:
    """The divisors between which all others lie, on either side of 0."""
    step = least(b)
    if not b.low <= 0 <= b.high:
        return [b.low, b.high]
    return [step, max(step, b.high)] + ([-step, b.low] if b.low < 0 else [])


def _quotient(divide: Callable[[int, int], int]) -> Callable[[IntFact, IntFact, DType], IntFact]:
    def rule(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
        corners = [divide(x, y) for x in (a.low, a.high) for y in _ends(b)]
        if b.low <= 0 <= b.high:
            corners += [0, 1]  # what the interpreter gives for 0
        exact = b.constant and a.divisible_by(abs(b.low))
        return fit(min(corners), max(corners), a.divisor // abs(b.low) if exact else 1, dtype)

    return rule


floordiv = _quotient(lambda x, y: x // y)
cdiv = _quotient(lambda x, y: -(-x // y))


def mod(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    if (b.low > 0 and a.low >= 0 and a.high < b.low) or (b.high < 0 and b.high < a.low and a.high <= 0):
        return a
    if b.constant and a.divisible_by(abs(b.low)):
        return exactly(0)
    ends = _ends(b)
    low, high = min(0, min(ends) + 1), max(0, max(ends) - 1)
    return fit(max(low, a.low) if a.high <= 0 else low, min(high, a.high) if a.low >= 0 else high,
               math.gcd(a.divisor, b.divisor), dtype)


def minimum(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    return fit(min(a.low, b.low), min(a.high, b.high), math.gcd(a.divisor, b.divisor), dtype)


def maximum(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    return fit(max(a.low, b.low), max(a.high, b.high), math.gcd(a.divisor, b.divisor), dtype)


def _any_multiple(divisor: int, dtype: DType) -> IntFact:
    low, high = dtype.int_range
    return fit(low, high, divisor, dtype)


def bit_and(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    divisor = max(_low_zeros(a, dtype), _low_zeros(b, dtype))
    bounds = [f.high for f in (a, b) if f.low >= 0]
    if not bounds:
        return _any_multiple(divisor, dtype)
    return fit(0, min(bounds), divisor, dtype) if dtype.bitwidth > 1 else IntFact(a.low & b.low, a.high & b.high)


def bit_or(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    divisor = min(_low_zeros(a, dtype), _low_zeros(b, dtype))
    if a.low < 0 or b.low < 0:
        return _any_multiple(divisor, dtype)
    return fit(max(a.low, b.low), (1 << max(a.high, b.high).bit_length()) - 1, divisor, dtype)


def bit_xor(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    divisor = min(_low_zeros(a, dtype), _low_zeros(b, dtype))
    if a.constant is not None and b.constant is not None:
        return exactly(a.low ^ b.low)
    if a.low < 0 or b.low < 0:
        return _any_multiple(divisor, dtype)
    return fit(0, (1 << max(a.high, b.high).bit_length()) - 1, divisor, dtype)


def _low_zeros(a: IntFact, dtype: DType) -> int:
    """The power of two that divides every value."""
    return a.divisor & -a.divisor if a.divisor else 1 << dtype.bitwidth


def shift_left(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    if not b.within(0, dtype.bitwidth - 1):
        return top(dtype)
    corners = [x << y for x in (a.low, a.high) for y in (b.low, b.high)]
    return fit(min(corners), max(corners), a.divisor << b.low, dtype)


def shift_right(a: IntFact, b: IntFact, dtype: DType) -> IntFact:
    if not b.within(0, dtype.bitwidth - 1):
        return top(dtype)
    return floordiv(a, IntFact(1 << b.low, 1 << b.high, 1 << b.low), dtype)


def less(a: IntFact, b: IntFact) -> IntFact:
    """a < b as a bool."""
    return _truth(a.high < b.low, a.low >= b.high)


def less_equal(a: IntFact, b: IntFact) -> IntFact:
    return _truth(a.high <= b.low, a.low > b.high)


def equal(a: IntFact, b: IntFact) -> IntFact:
    apart = a.high < b.low or b.high < a.low
    for x, y in ((a, b), (b, a)):
        apart = apart or (x.constant is not None and y.divisor > 0 and x.low % y.divisor != 0)
    return _truth(a.constant is not None and a.constant == b.constant, apart)


def negate(truth: IntFact) -> IntFact:
    """The opposite of a bool."""
    return IntFact(1 - truth.high, 1 - truth.low, 1) if truth.high == 0 or truth.low == 1 else truth


def _truth(always: bool, never: bool) -> IntFact:
    return exactly(1) if always else exactly(0) if never else IntFact(0, 1, 1)
