"""Indices of one launch as sums: a multiple of each block number, of the turns of loops, and a rest between two bounds.

With the grid and the scalar arguments known, most index arithmetic is such a sum. Where the multiples are larger than
all smaller terms together, as the digits of a number are, an element tells which block it belongs to: no two blocks
meet there, and their accesses need no log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from tilewright.interp.arrays import ArrayRef
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import arith, arrays, atomics, control, convert, memory, shape
from tilewright.tileir.rules import RuleTable

Turns = tuple[tuple[int, int], ...]


class Form(NamedTuple):
    """low..high + sum(blocks[a] * block number along a) + sum(step * t, with t in 0..count-1, of `turns`)."""

    low: int
    high: int
    blocks: tuple[int, int, int] = (0, 0, 0)
    turns: Turns = ()

    @property
    def number(self) -> int | None:
        """Its value, if it is the same everywhere."""
        return self.low if self.low == self.high and not any(self.blocks) and not self.turns else None

    def plus(self, other: Form) -> Form:
        one, two, three = (a + b for a, b in zip(self.blocks, other.blocks, strict=True))
        return Form(self.low + other.low, self.high + other.high, (one, two, three), self.turns + other.turns)

    def times(self, factor: int) -> Form:
        low, high = sorted((self.low * factor, self.high * factor))
        one, two, three = (b * factor for b in self.blocks)
        if factor < 0:  # count turns from the last one, so that steps stay positive
            back = sum(step * (count - 1) for step, count in self.turns) * factor
            low, high = low + back, high + back
        turns = tuple((step * abs(factor), count) for step, count in self.turns) if factor else ()
        return Form(low, high, (one, two, three), turns)

    def bounds(self, grid: Sequence[int]) -> tuple[int, int]:
        """The least and the largest value."""
        reach = [b * (n - 1) for b, n in zip(self.blocks, grid, strict=True)]
        most = sum(step * (count - 1) for step, count in self.turns)
        return self.low + sum(min(r, 0) for r in reach), self.high + sum(max(r, 0) for r in reach) + most


RULES: RuleTable[Callable[[Any, Any], Form | None]] = RuleTable("sum of an index")


class Forms:
    """The forms of the values of a function in one launch; None for those that have none."""

    def __init__(self, function: Function, grid: tuple[int, int, int], arguments: Sequence[Any]) -> None:
        self.grid = grid
        self.arguments = dict(zip(function.params, arguments, strict=True))
        self._loops = {op.loop.params[0]: op for op in function.walk() if isinstance(op, control.For)}
        self._known: dict[Value, Form | None] = {}

    def of(self, value: Value) -> Form | None:
        if value not in self._known:
            found = self._make(value)
            self._known[value] = found if found is not None and self._fits(found, value) else None
        return self._known[value]

    def _fits(self, form: Form, value: Value) -> bool:
        """Nothing wraps."""
        bits = value.type.dtype.bitwidth
        least, limit = (-(1 << bits - 1), 1 << bits - 1) if value.type.dtype.is_signed else (0, 1 << bits)
        low, high = form.bounds(self.grid)
        return least <= low and high < limit

    def _make(self, value: Value) -> Form | None:
        if not value.type.dtype.is_int:
            return None
        if value in self.arguments:
            number = int(self.arguments[value])
            return Form(number, number)
        if value in self._loops:
            return self._turn(self._loops[value])
        rule = None if value.op is None else RULES.of(value.op)
        return None if rule is None else rule(value.op, self)

    def _turn(self, loop: control.For) -> Form | None:
        first, end, step = (self.of(v) for v in (loop.lower, loop.upper, loop.step))
        if first is None or end is None or step is None or not step.number or step.number < 0:
            return None
        length = end.bounds(self.grid)[1] - first.bounds(self.grid)[0]
        return first.plus(Form(0, 0, turns=((step.number, max(-(-length // step.number), 1)),)))


def own_axes(forms: Forms, root: Value, accesses: Iterable[Op]) -> frozenset[int]:
    """The grid axes along which different blocks access different elements of an array, by all of these ops."""
    argument = forms.arguments.get(root)
    if isinstance(argument, ArrayRef) and argument.repeats:
        return frozenset()
    sums = [_indices(op, forms) if getattr(op, "array", None) is root else None for op in accesses]
    found: set[int] = set()
    for axis in range(root.type.rank):
        along = [None if each is None else each[axis] for each in sums]
        one = along[0]
        if one is None or any(each is None or each.blocks != one.blocks for each in along):
            continue
        every = [each for each in along if each is not None]
        turns: dict[int, int] = {}
        for step, count in (turn for each in every for turn in set(each.turns)):
            turns[step] = max(turns.get(step, 1), count)
        if any(len({step for step, _ in each.turns}) < len(each.turns) for each in every):
            continue  # two loops of equal steps
        both = Form(min(e.low for e in every), max(e.high for e in every), one.blocks, tuple(turns.items()))
        found |= told_apart(both, forms.grid)
    return frozenset(found)


def told_apart(form: Form, grid: tuple[int, int, int]) -> set[int]:
    """The axes of the block numbers that a value of this form gives away."""
    terms: list[tuple[int, int, int]] = [(1, form.high - form.low + 1, -1), *((s, n, -1) for s, n in form.turns)]
    terms += [(abs(b), n, axis) for axis, (b, n) in enumerate(zip(form.blocks, grid, strict=True)) if b]
    told: set[int] = set()
    reach = 0  # of all smaller terms together
    for size, count, axis in sorted(term for term in terms if term[1] > 1):
        if reach >= size:
            told.clear()
        elif axis >= 0:
            told.add(axis)
        reach += size * (count - 1)
    return told


def _indices(op: Any, forms: Forms) -> list[Form | None] | None:
    """By axis of the array: where an op accesses it."""
    if isinstance(op, memory.Gather | memory.Scatter | atomics.Atomic):
        return [forms.of(v) for v in op.indices]
    if not isinstance(op, memory.Load | memory.Store):
        return None
    out: list[Form | None] = [None] * len(op.index)
    lengths = op.shape if isinstance(op, memory.Load) else op.value.type.shape
    for axis, value, step, length in zip(op.order, op.index, op.steps, lengths, strict=True):
        tile = forms.of(value)
        out[axis] = None if tile is None else tile.times(step).plus(Form(0, length - 1))
    return out


@RULES.register(arith.Constant)
def constant(op: arith.Constant, forms: Forms) -> Form:
    return Form(int(op.value), int(op.value))


@RULES.register(arrays.BlockId)
def block_id(op: arrays.BlockId, forms: Forms) -> Form:
    counts = forms.grid[op.axis] > 1  # the number of an only block is 0
    one, two, three = (int(counts and axis == op.axis) for axis in range(3))
    return Form(0, 0, (one, two, three))


@RULES.register(arrays.NumBlocks)
def num_blocks(op: arrays.NumBlocks, forms: Forms) -> Form:
    return Form(forms.grid[op.axis], forms.grid[op.axis])


@RULES.register(arrays.Extent)
def extent(op: arrays.Extent, forms: Forms) -> Form | None:
    ref = forms.arguments.get(op.array)
    return Form(int(ref.extents[op.axis]), int(ref.extents[op.axis])) if isinstance(ref, ArrayRef) else None


@RULES.register(shape.Iota)
def iota(op: shape.Iota, forms: Forms) -> Form:
    return Form(0, op.size - 1)


@RULES.register(shape.Broadcast)
@RULES.register(shape.Reshape)
@RULES.register(shape.Permute)
@RULES.register(convert.Cast)
@RULES.register(arrays.AssumeDivisible)
def same(op: Any, forms: Forms) -> Form | None:
    return forms.of(op.src)


@RULES.register(arith.Add)
def add(op: arith.Add, forms: Forms) -> Form | None:
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    return None if one is None or other is None else one.plus(other)


@RULES.register(arith.Sub)
def sub(op: arith.Sub, forms: Forms) -> Form | None:
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    return None if one is None or other is None else one.plus(other.times(-1))


@RULES.register(arith.Mul)
def mul(op: arith.Mul, forms: Forms) -> Form | None:
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    if one is None or other is None:
        return None
    if other.number is not None:
        return one.times(other.number)
    return None if one.number is None else other.times(one.number)


@RULES.register(arith.Shl)
def shl(op: arith.Shl, forms: Forms) -> Form | None:
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    by = None if other is None else other.number
    return one.times(1 << by) if one is not None and by is not None and 0 <= by < 64 else None


@RULES.register(arith.FloorDiv)
@RULES.register(arith.CeilDiv)
@RULES.register(arith.Mod)
def division(op: Any, forms: Forms) -> Form | None:
    """Of a number, or of a rest alone; a remainder is a rest."""
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    by = None if other is None else other.number
    if one is None or by is None or by <= 0:
        return None
    low, high = one.bounds(forms.grid)
    if isinstance(op, arith.Mod):
        return one if low >= 0 and high < by else Form(0, by - 1)
    if any(one.blocks):
        return None
    return Form(low // by, high // by) if isinstance(op, arith.FloorDiv) else Form(-(-low // by), -(-high // by))


@RULES.register(arith.Min)
@RULES.register(arith.Max)
def extreme(op: Any, forms: Forms) -> Form | None:
    """Of numbers: the ends of loops and slices."""
    one, other = forms.of(op.lhs), forms.of(op.rhs)
    if one is None or other is None or any(one.blocks) or any(other.blocks):
        return None
    choose = min if isinstance(op, arith.Min) else max
    ends = [choose(a, b) for a, b in zip(one.bounds(forms.grid), other.bounds(forms.grid), strict=True)]
    return Form(ends[0], ends[1])
