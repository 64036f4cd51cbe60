"""Whether a later iteration of a counted loop will come, and its loop variable, without overflow.

`upper - variable` is exact in the loop's own type when the facts say so; else, for types up to 32 bits, in 64 bits.
"""

from __future__ import annotations

from tilewright.backend_ptx.passes.pipelining.emit import Constants
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.dtypes import DType, int64
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.convert import Cast

MOST_AHEAD = 16  # no pipeline looks further


def most_iterations(loop: For, known: Facts) -> int | None:
    """The largest number of iterations that is possible, None where nothing is known of it."""
    lower, upper, step = (known[v] for v in (loop.lower, loop.upper, loop.step))
    if upper.high == loop.upper.type.dtype.int_range[1]:
        return None
    return max(0, -(-(upper.high - lower.low) // max(1, step.low)))


class Iterations:
    """Builds the questions of one loop."""

    def __init__(self, loop: For, known: Facts, constants: Constants) -> None:
        self.loop = loop
        self.constants = constants
        self.left: Value | None = None
        self.known = known
        self.own: DType = loop.lower.type.dtype
        self.dtype = self.own if _exact_in(loop, known, self.own) else int64
        self.lower, self.upper, self.step = loop.lower, loop.upper, loop.step

    @staticmethod
    def countable(loop: For, known: Facts) -> bool:
        """Whether the distance between bounds is exact in some type."""
        own = loop.lower.type.dtype
        return own.bitwidth <= 32 or _exact_in(loop, known, own)

    def prepare(self, b: Builder) -> None:
        """Bounds in the type of the comparison."""
        loop = self.loop
        self.lower, self.upper, self.step = (self._wide(b, v) for v in (loop.lower, loop.upper, loop.step))

    def first(self, b: Builder, number: int) -> tuple[Value, Value]:
        """(whether iteration `number` takes place, its loop variable), before the loop."""
        if self.left is None:
            self.left = b.value(arith.Sub(lhs=self.upper, rhs=self.lower))
        active = b.value(arith.Gt(lhs=self.left, rhs=self._times(b, self.step, number)))
        if not number:
            return active, self.loop.lower
        return active, b.value(arith.Add(lhs=self.loop.lower, rhs=self._times(b, self.loop.step, number)))

    def later(self, b: Builder, number: int) -> tuple[Value, Value]:
        """The same for the iteration that is `number` iterations after the current one, in the body."""
        variable = self.loop.loop.params[0]
        left = b.value(arith.Sub(lhs=self.upper, rhs=self._wide(b, variable)))
        active = b.value(arith.Gt(lhs=left, rhs=self._times(b, self.step, number)))
        later = b.value(arith.Add(lhs=variable, rhs=self._times(b, self.loop.step, number)))
        most = self.known[variable].high + self.known[self.loop.step].high * number
        if most > self.own.int_range[1]:
            # The sum wraps only where the iteration does not come; the bound keeps what is known of the index's sign.
            later = b.value(arith.Max(lhs=later, rhs=self.loop.lower))
        return active, later

    def _wide(self, b: Builder, value: Value) -> Value:
        return value if self.dtype is self.own else b.value(Cast(src=value, dtype=self.dtype))

    def _times(self, b: Builder, step: Value, number: int) -> Value:
        dtype = step.type.dtype
        constant = self.known[self.loop.step].constant
        if constant is not None or not number:
            constant = constant or 0
            return self.constants(min(constant * number, dtype.int_range[1]), dtype)
        return step if number == 1 else b.value(arith.Mul(lhs=step, rhs=self.constants(number, dtype)))


def _exact_in(loop: For, known: Facts, dtype: DType) -> bool:
    """Whether upper - lower and a few steps fit the type."""
    lower, upper, step = (known[v] for v in (loop.lower, loop.upper, loop.step))
    low, high = dtype.int_range
    fits = low <= upper.low - lower.high and upper.high - lower.low <= high
    return dtype.is_signed and fits and step.high * MOST_AHEAD <= high
