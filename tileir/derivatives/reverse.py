"""The reverse pass: a kernel's ops once more, and after them, from the last to the first, what becomes of adjoints.

Of a value of the forward kernel, `now` is the value that has been recomputed in the derived one. Its adjoint is how
the result changes with it; `give` adds to that, `take` ends it, when everything that reads the value has given.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.derivatives.counting import without_effects
from tilewright.tileir.derivatives.emitter import Emitter, adjoint_type
from tilewright.tileir.derivatives.padding import SOMEWHERE, ZERO, Derived, Lanes, unbounded
from tilewright.tileir.derivatives.rules import rule_of
from tilewright.tileir.dtypes import float32
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops import shape
from tilewright.tileir.ops.arith import Eq
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.types import TileType, Type

Given = Value | Callable[[], Value]
_MOVING = (Load, Gather, Cast, shape.Reshape, shape.Permute, shape.Broadcast, shape.Cat, shape.Extract, shape.Take)


class Keeping(Protocol):
    """How a loop keeps what it carries; `Kept` in keeping.py is it."""

    def forward(self, r: Reverse) -> None: ...

    def start(self, r: Reverse, trip: Value) -> tuple[Value, list[Value]]: ...


class Reverse:
    """The state of a reverse pass. `b` appends to the derived kernel."""

    def __init__(self, block: Block, varied: set[Value], seeding: set[Op]) -> None:
        self.b = Emitter(block)
        self.varied = varied
        self.seeding = seeding  # the ops that bring cotangents in, and those around them
        self.cotangents: Mapping[Value, Value] = {}  # of parameters: the arrays that hold these
        self.gradients: Mapping[Value, Value] = {}
        self.reaching: set[Value] = set()  # those of `varied` that outputs change with
        self.alone: frozenset[Value] = frozenset()  # parameters whose gradients are stored, not added
        self.by_tiles = False  # whether gradients are stored where they are to be added up: see by_tiles.py
        self.apart: frozenset[Value] = frozenset()  # parameters whose elements one block and lane reads
        self.parts: Mapping[Value, Value] = {}  # of parameters: the arrays of partial gradients, one per block
        self.lanes: Mapping[Value, Lanes] = {}  # what values may be beyond the ends of arrays: see padding.py
        self._derived = Derived(block)
        self._whole: Value | None = None  # an adjoint whose zeros stay zero, whatever they are multiplied by
        # Loops that compute what a forward loop carries, up to an iteration: that loop, and their results.
        self.recomputing: dict[Op, tuple[Op, tuple[Value, ...]]] = {}
        self.saved: Mapping[Value, Value] = {}  # what stands for values of the forward kernel: see residuals.py
        self.kept: Mapping[Op, Keeping] = {}  # loops that keep what they carry in the workspace
        self._now: dict[Value, Value] = {}
        self.adjoints: dict[Value, Value] = {}

    # ---- values of the forward kernel

    def now(self, value: Value) -> Value:
        """The value, as it has been recomputed here."""
        return self._now[value]

    def know(self, values: Sequence[Value], now: Sequence[Value]) -> None:
        """From here on these stand for values of the forward kernel."""
        self._now.update(zip(values, now, strict=True))

    def replay(self, ops: Sequence[Op], *, keep: bool = False) -> None:
        """Append the ops again, without what they do beside computing results; with `keep`, their adjoints follow, and
        loops store for these what they carry."""
        for op in ops:
            if keep and op in self.kept:
                self.kept[op].forward(self)
                self._save(op)
                continue
            if op.acts:
                continue
            copy = op.clone(self._now)
            _settle(copy)
            self.b.block.ops.append(copy)
            self._save(op)

    def _save(self, op: Op) -> None:
        """From here on what was saved stands for the results of an op."""
        for result in op.results:
            if result in self.saved:
                self._now[result] = self.now(self.saved[result])

    def replay_body(self, block: Block, values: Sequence[Value], *, keep: bool = False) -> list[Value]:
        """Append the ops of a body, its parameters being these values; gives what it hands back."""
        self.know(block.params, values)
        self.replay(block.ops[:-1], keep=keep)
        return [self.now(value) for value in block.terminator.operands]

    # ---- adjoints

    def wants(self, value: Value) -> bool:
        """Whether the value has an adjoint: it changes with an array that a gradient is asked for."""
        return value in self.varied

    def give(self, value: Value, adjoint: Given) -> None:
        """Add to the adjoint of a value, where it has one; a function is called only then."""
        if value not in self.varied:
            return
        made = adjoint() if callable(adjoint) else adjoint
        if self._whole is not None and made is not self._whole:
            zero = self.b.compare(Eq, self._whole, self.b.like(self._whole, 0.0))
            made = self.b.select(zero, self.b.like(made, 0.0), made)
            self._derived.guarded(made, self._whole)
        made = self.b.cast(made, self.adjoint_type(value).dtype)
        before = self.adjoints.get(value)
        now = self.adjoints[value] = made if before is None else self.b.sum_of(before, made)
        now.hint = now.hint or (f"d_{value.hint}" if value.hint else "")

    def take(self, value: Value) -> Value:
        """The adjoint of a value; zero where nothing has given."""
        found = self.adjoints.pop(value, None)
        return self.zero(value) if found is None else found

    def zero(self, value: Value) -> Value:
        """An adjoint of the value that is zero."""
        return self.b.constant(0.0, self.adjoint_type(value))

    def adjoint_type(self, value: Value) -> TileType:
        """The type of a value's adjoint. Where a value is only moved, nothing is computed with it and its adjoint, and
        a narrow one's is added up in float32."""
        moved = isinstance(value.op, _MOVING) and value.type.dtype.is_float and value.type.dtype.bitwidth < 32
        return TileType(float32, value.type.shape) if moved else adjoint_type(value.type)

    @contextlib.contextmanager
    def kept_zero(self, factors: Sequence[Value], divisors: Sequence[Value], g: Value) -> Iterator[None]:
        """Where these may be infinite, or zero where they divide, in lanes where the adjoint is zero, it stays zero in
        what is given meanwhile."""
        spoilt = any(self._spoils(value, g, False) for value in factors) or any(
            self._spoils(value, g, True) for value in divisors)
        self._whole = g if spoilt else None
        try:
            yield
        finally:
            self._whole = None

    def _spoils(self, factor: Value, g: Value, divides: bool) -> bool:
        """Whether an adjoint times a value of its shape may be NaN where it is zero beyond the ends of arrays."""
        lanes = self.lanes.get(self.saved.get(factor, factor), {})
        axes = [axis for axis, lane in lanes.items() if divides or unbounded(lane)]
        zeros = self._derived.of(g) if axes else None
        if zeros is None or SOMEWHERE in axes or SOMEWHERE in zeros:
            return bool(axes)
        return any(zeros.get(axis) == ZERO for axis in axes)

    def same(self, params: Sequence[Value], values: Sequence[Value]) -> None:
        """Adjoints that a loop hands on as they are."""
        for param, value in zip(params, values, strict=False):
            self._derived.same(param, value)

    def once(self, make: Callable[[], Value]) -> Callable[[], Value]:
        """The same function, whose ops are appended at its first call only."""
        made: list[Value] = []

        def get() -> Value:
            if not made:
                made.append(make())
            return made[0]

        return get

    # ---- the walk

    def reverse(self, block: Block) -> None:
        """The adjoints of a block's ops, from the last to the first."""
        for op in reversed(block.ops[:-1]):
            if op in self.seeding or any(result in self.adjoints for result in op.results):
                with self.b.at(op.span):
                    rule_of(op)(op, self)

    @contextlib.contextmanager
    def inside(self, params: Sequence[Type] = (), hints: Sequence[str] = ()) -> Iterator[Block]:
        """A new body, in which no value has an adjoint yet; what is known in it is forgotten behind it."""
        known, adjoints = self._now, self.adjoints
        self._now, self.adjoints = dict(known), {}
        try:
            with self.b.into(params, hints) as block:
                yield block
        finally:
            self._now, self.adjoints = known, adjoints


def _settle(op: Op) -> None:
    """Leave out what the bodies of an op do beside computing results. Padding that may be anything becomes zero: beyond
    the ends of arrays adjoints are zero, and a zero times a NaN would not be."""
    for block in op.blocks:
        without_effects(block)
    for inner in (op, *op.inside()):
        if isinstance(inner, Load) and inner.padding is PaddingMode.UNDETERMINED:
            inner.padding = PaddingMode.ZERO
