"""Which later iterations execute, and with which carried values.

A counted loop's trip count and loop variable are computed without overflow:
`upper - variable` is exact in the loop's own type when the facts say so; else, for types up to 32 bits, in 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.recurrences import Recurrence
from tilewright.tileir.builder import Builder, Constants
from tilewright.tileir.carried import Loop, body_of, carry, condition_of, entries
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import DType, bool_, int64
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, While

MOST_AHEAD = 16  # nobody asks for iterations further ahead


def most_iterations(loop: Loop, known: Facts) -> int | None:
    """An upper bound of the trip count, None if there is none."""
    if not isinstance(loop, For):
        return None
    lower, upper, step = (known[v] for v in (loop.lower, loop.upper, loop.step))
    if upper.high == loop.upper.type.dtype.int_range[1]:
        return None
    return max(0, -(-(upper.high - lower.low) // max(1, step.low)))


def edges(loops: Sequence[For]) -> set[Op]:
    """The loops that do the same as the loop before or after them and some more, over the next part of one range: where
    a mask begins or ends, say. They run few of its iterations."""
    out: set[Op] = set()
    for one, other in pairwise(loops):
        if one.upper is other.lower and one.step is other.step and not set(one.results).isdisjoint(other.init):
            sizes = [len(list(loop.loop.walk())) for loop in (one, other)]
            out.update(loop for loop, size in zip((one, other), sizes, strict=True) if size > min(sizes))
    return out


class Lead:
    """The iteration for which copies start: whether it executes, and the values of the body's parameters in it."""

    def __init__(self, loop: Loop, recurrence: Recurrence, known: Facts, constants: Constants) -> None:
        self.loop = loop
        self.recurrence = recurrence
        self.constants = constants
        self.counted = Iterations(loop, known, constants) if isinstance(loop, For) else None
        starts = dict(zip(entries(loop), loop.init, strict=True))
        self.state = {param: starts[param] for param in recurrence.state}
        self.active: list[Value] = []  # of while loops: whether the previous iteration executes, if that is known

    @property
    def exact(self) -> bool:
        """Whether copies start only for iterations that execute."""
        return self.counted is not None or self.recurrence.condition is not None

    def at(self, b: Builder, number: int, inside: bool) -> tuple[Value, dict[Value, Value]]:
        """Before the loop: iterations 0, 1, ... in this order; inside, the one that is `number` iterations ahead."""
        if self.counted is None:
            return self._enter(b)
        active, variable = (self.counted.later if inside else self.counted.first)(b, number)
        return active, {self.counted.loop.loop.params[0]: variable, **self.state}

    def _enter(self, b: Builder) -> tuple[Value, dict[Value, Value]]:
        """The first block of a while loop."""
        assert isinstance(self.loop, While)
        mapping = dict(self.state)
        clone(b, self.recurrence.head, mapping)
        if self.recurrence.condition is None:
            active = self.constants(True, bool_)
        else:
            active = mapping.get(self.recurrence.condition, self.recurrence.condition)
            for before in self.active:
                active = b.value(arith.And(lhs=before, rhs=active))
            self.active = [active]
        passed = zip(self.loop.after.params, condition_of(self.loop).values, strict=True)
        return active, {**mapping, **{param: mapping.get(v, v) for param, v in passed}}

    def step(self, b: Builder, mapping: dict[Value, Value]) -> None:
        """Go on to the next iteration, from the values of this one."""
        clone(b, self.recurrence.steps, mapping)
        following = dict(zip(entries(self.loop), body_of(self.loop).terminator.operands, strict=False))
        self.state = {param: mapping.get(following[param], following[param]) for param in self.state}

    @property
    def values(self) -> list[Value]:
        """What the loop carries."""
        return [*self.state.values(), *self.active]

    def carry(self) -> None:
        """The loop carries what the next copies need."""
        params, _ = carry(self.loop, self.values, [*(p.hint for p in self.state), *("" for _ in self.active)])
        self.active = params[len(self.state):]
        self.state = dict(zip(self.state, params, strict=False))


def clone(b: Builder, ops: Sequence[Op], mapping: dict[Value, Value]) -> None:
    """Copies of ops that are not in the mapping yet."""
    for op in ops:
        if op.results[0] not in mapping:
            b.emit(op.clone(mapping))


class Iterations:
    """Builds these tests for one loop."""

    def __init__(self, loop: For, known: Facts, constants: Constants) -> None:
        self.loop = loop
        self.constants = constants
        self.left: Value | None = None
        self.known = known
        self.own: DType = loop.lower.type.dtype
        self.dtype = self.own if _exact_in(loop, known, self.own) else int64
        self.upper, self.step = loop.upper, loop.step

    @staticmethod
    def countable(loop: Loop, known: Facts) -> bool:
        """Whether the distance between bounds, if there are bounds, is exact in some type."""
        if not isinstance(loop, For):
            return True
        own = loop.lower.type.dtype
        return own.bitwidth <= 32 or _exact_in(loop, known, own)

    def first(self, b: Builder, number: int) -> tuple[Value, Value]:
        """(whether iteration `number` executes, its loop variable), before the loop. The first call makes the bounds in
        the type of the comparison."""
        if self.left is None:
            lower, self.upper, self.step = (b.cast(v, self.dtype) for v in (self.loop.lower, self.upper, self.step))
            self.left = b.value(arith.Sub(lhs=self.upper, rhs=lower))
        active = b.value(arith.Gt(lhs=self.left, rhs=self._times(b, self.step, number)))
        if not number:
            return active, self.loop.lower
        return active, b.value(arith.Add(lhs=self.loop.lower, rhs=self._times(b, self.loop.step, number)))

    def later(self, b: Builder, number: int) -> tuple[Value, Value]:
        """The same for the iteration that is `number` iterations after the current one, in the body."""
        variable = self.loop.loop.params[0]
        left = b.value(arith.Sub(lhs=self.upper, rhs=b.cast(variable, self.dtype)))
        active = b.value(arith.Gt(lhs=left, rhs=self._times(b, self.step, number)))
        later = b.value(arith.Add(lhs=variable, rhs=self._times(b, self.loop.step, number)))
        most = self.known[variable].high + self.known[self.loop.step].high * number
        if most > self.own.int_range[1]:
            # The sum wraps only if the iteration does not execute; the bound keeps the facts about the index's sign.
            later = b.value(arith.Max(lhs=later, rhs=self.loop.lower))
        return active, later

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
