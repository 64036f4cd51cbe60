"""Which accesses are shown to touch different elements: those of different blocks, and of different iterations.

All of it rests on one question: given the indices of an access, which integers can be told from them? Two runs of the
access that differ in such an integer differ in an index, and tiles that do not overlap lie at different indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, combinations_with_replacement
from math import gcd, inf, prod
from typing import Any

from tilewright.tileir.analysis.uses import parents
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.arith import Add, CeilDiv, Constant, FloorDiv, Mod, Mul, Shl, Sub
from tilewright.tileir.ops.arrays import AssumeDivisible, BlockId, Extent, NumBlocks, SliceArray, Stride
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store, TileAccess
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape

_EVERYWHERE = (Constant, Extent, Stride, NumBlocks)
_ARITHMETIC = (Add, Sub, Mul, FloorDiv, CeilDiv, Mod, Shl, Cast, AssumeDivisible)


class Places:
    """What is known of the accesses of one function."""

    def __init__(self, function: Function) -> None:
        self._params = set(function.params)
        self._parents = parents(function)
        self._homes = {op: block for block in _blocks(function.body) for op in block.ops}
        self._axes = {op.axis for op in function.walk() if isinstance(op, BlockId)}
        self._pairs = _pairs(function)

    def apart(self, accesses: Sequence[Op]) -> bool:
        """Whether no two blocks touch the same element by these accesses."""
        if len({_whole(op) for op in accesses}) > 1 or not all(map(self._known, accesses)):
            return False
        if not self._axes:
            return True  # all blocks do the same, so there is but one
        return all(self._apart(one, other) for one, other in combinations_with_replacement(accesses, 2))

    def _known(self, op: Any) -> bool:
        """Whether an access touches elements of a parameter, or of a slice of one, by tiles that do not overlap or by
        indices."""
        array = op.array.op.array if isinstance(op.array.op, SliceArray) else op.array
        return array.op is None and (isinstance(op, Gather) or (isinstance(op, Load) and _steps_over(op)))

    def _apart(self, first: Op, second: Op) -> bool:
        """Whether two accesses, by different blocks, touch different elements."""
        if _follow(first, second) or _follow(second, first):
            return True
        ours, theirs = self._coordinates(first), self._coordinates(second)
        pairs = [(mine, other) for mine, *tiling in ours for other, *same in theirs if tiling == same]
        if any(_never_equal(mine, other) for mine, other in pairs):
            return True
        told = self._told((value for value, other in pairs if value is other), self._same_everywhere)
        return self._axes <= {v.op.axis for v in told if isinstance(v.op, BlockId)}

    def _coordinates(self, op: Any) -> list[tuple[Value, int, int, int, Value | None]]:
        """What `_indices` says, and where the slice starts. Gathered elements lie, along an axis where all have one
        index, in a tile of length 1."""
        view = op.array.op if isinstance(op.array.op, SliceArray) else None
        found = _indices(op) if isinstance(op, Load) else [
            (_scalar(index), axis, 1, 1) if _uniform(index) else (index, axis, 0, 0)
            for axis, index in enumerate(op.indices)]
        starts = [(*entry, view.start if view is not None and view.axis == entry[1] else None) for entry in found]
        return [entry for entry in starts if entry[-1] is None or self._same_everywhere(entry[-1])]

    def lanes_differ(self, op: Gather) -> bool:
        """Whether the elements of one gather differ: positions along a line follow from the indices."""
        count = prod(op.shape)
        if count > max(op.shape, default=1):
            return False
        told = self._told(op.indices, self._same_everywhere) if count > 1 else ()
        return count == 1 or any(isinstance(value.op, Iota) and value.op.size == count for value in told)

    def rerun(self, access: Op) -> For | None:
        """A loop in whose iterations the access is not shown to touch different elements; None if there is no such."""
        told = self._told(_told_by(access), self._same_in_block)
        return next((loop for loop in self._loops(access) if loop.loop.params[0] not in told), None)

    def overlapping(self, accesses: Sequence[Op]) -> tuple[Op, Op] | None:
        """Two accesses that may touch the same element within a block, the later one second; None if none do."""
        for first, second in combinations(accesses, 2):
            if not self._exclusive(first, second) and not self._differ(first, second):
                return first, second
        return None

    def _differ(self, first: Op, second: Op) -> bool:
        """Whether two accesses of one block touch different elements: their indices along an axis lie apart."""
        if not (isinstance(first, (Load, Store)) and isinstance(second, (Load, Store)) and _tiled(first)
                and _tiled(second) and first.array is second.array):
            return False
        there = {axis: (value, step) for value, axis, _, step in _indices(second)}
        return any(
            step == there[axis][1] and self._differing(value, there[axis][0])
            for value, axis, _, step in _indices(first))

    def _differing(self, first: Value, second: Value) -> bool:
        """Whether two integers differ, also in different iterations: by a constant, from a base that stays the same, or
        from multiples of a larger number."""
        (base, offset), (other, distance) = _offset(first), _offset(second)
        stays = base is other and offset != distance and (base is None or self._same_in_block(base))
        return stays or _never_equal(first, second)

    def _loops(self, op: Op) -> list[For]:
        return [around for around in self._around(op) if isinstance(around, For)]

    def _around(self, op: Op) -> list[Op]:
        """The ops in whose bodies an op stands, from the inside out."""
        out: list[Op] = []
        above = self._parents.get(self._homes[op])
        while above is not None:
            out.append(above)
            above = self._parents.get(self._homes[above])
        return out

    def _exclusive(self, first: Op, second: Op) -> bool:
        """Whether the ops stand in the two branches of one decision."""
        chains = [[op, *self._around(op)] for op in (first, second)]
        for around in chains[0]:
            if isinstance(around, If) and around in chains[1]:
                inner = [chain[chain.index(around) - 1] for chain in chains]
                return self._homes[inner[0]] is not self._homes[inner[1]]
        return False

    # ---- what indices tell

    def _told(self, values: Iterable[Value], same: Callable[[Value], bool]) -> set[Value]:
        """All integers that follow from these, and from those that are the same wherever the access runs."""
        told: set[Value] = set()
        work = list(values)
        while work:
            value = work.pop()
            if value not in told:
                told.add(value)
                work += self._sources(value, same)
                work += self._joined(value, told)
        return told

    def _sources(self, value: Value, same: Callable[[Value], bool]) -> list[Value]:
        op = value.op
        if isinstance(op, (Add, Sub)):
            return self._terms(op.lhs, op.rhs, same)
        if isinstance(op, (Broadcast, Reshape)):
            return [op.src]
        if isinstance(op, Mul):
            return [a for a, b in ((op.lhs, op.rhs), (op.rhs, op.lhs)) if _nonzero(b)]
        if isinstance(op, Shl):
            return [op.lhs] if _constant(op.rhs) is not None else []
        if isinstance(op, Cast):
            wide = op.src.type.dtype.is_int and op.dtype.is_int and op.dtype.bitwidth >= op.src.type.dtype.bitwidth
            return [op.src] if wide else []
        if isinstance(op, AssumeDivisible):
            return [op.src]
        return self._start_of(value) if op is None else []

    def _terms(self, first: Value, second: Value, same: Callable[[Value], bool]) -> list[Value]:
        """Those of two terms that their sum or difference tells."""
        if self._reach(first) <= _factor(second) or self._reach(second) <= _factor(first):
            return [first, second]
        return [a for a, b in ((first, second), (second, first)) if _uniform(b) and same(b)]

    def _reach(self, value: Value) -> int | float:
        """How many values from 0 on an integer, or the elements of a tile, may have; infinity if that is not known."""
        op = value.op
        if isinstance(op, Iota):
            return op.size if op.size - 1 <= op.dtype.int_range[1] else inf
        if isinstance(op, (Broadcast, Reshape, Cast)):
            return self._reach(op.src)
        if isinstance(op, Add):
            return self._reach(op.lhs) + self._reach(op.rhs) - 1
        if isinstance(op, Mul):
            times = _constant(op.rhs) or 0
            return (self._reach(op.lhs) - 1) * times + 1 if times > 0 else inf
        if isinstance(op, Mod):
            divisor = _constant(op.rhs)
            return divisor if divisor is not None and divisor > 0 else inf
        loop = self._parents.get(value.owner) if isinstance(value.owner, Block) else None
        if not isinstance(loop, For) or value is not loop.loop.params[0]:
            return inf
        first, end = _constant(loop.lower), _constant(loop.upper)
        return max(end, 1) if first is not None and end is not None and first >= 0 else inf

    def _start_of(self, value: Value) -> list[Value]:
        """Of `for i in range(block, n, blocks)`, i tells the block."""
        loop = self._parents.get(value.owner) if isinstance(value.owner, Block) else None
        if not isinstance(loop, For) or value is not loop.loop.params[0]:
            return []
        start, step = loop.lower.op, loop.step.op
        strided = isinstance(start, BlockId) and isinstance(step, NumBlocks) and start.axis == step.axis
        return [loop.lower] if strided else []

    def _joined(self, value: Value, told: set[Value]) -> list[Value]:
        """Quotient and remainder tell the dividend."""
        pair = self._pairs.get(value)
        return [] if pair is None or not pair[0] <= told else [pair[1]]

    def _same_in_block(self, value: Value) -> bool:
        """Whether a value is the same in all iterations of one block's loops."""
        return self._same_everywhere(value) or (value.op is not None and not any(
            isinstance(around, (For, While)) for around in self._around(value.op)))

    def _same_everywhere(self, value: Value) -> bool:
        """Whether a value is the same in all blocks and iterations."""
        op = value.op
        if op is None:
            return value in self._params
        if isinstance(op, _EVERYWHERE):
            return True
        return isinstance(op, _ARITHMETIC) and all(map(self._same_everywhere, op.operands))


def _blocks(block: Block) -> Iterable[Block]:
    yield block
    for op in block.ops:
        for inner in op.blocks:
            yield from _blocks(inner)


def _pairs(function: Function) -> dict[Value, tuple[set[Value], Value]]:
    """Quotients and remainders of the same operands: both, and the dividend."""
    out: dict[Value, tuple[set[Value], Value]] = {}
    found: dict[Any, Value] = {}
    for op in function.walk():
        if not isinstance(op, (FloorDiv, Mod)):
            continue
        divisor = _constant(op.rhs)
        by = op.rhs if divisor is None else divisor
        found[type(op), op.lhs, by] = op.result
        both = [found.get((kind, op.lhs, by)) for kind in (FloorDiv, Mod)]
        if None not in both:
            for value in both:
                assert value is not None
                out[value] = {v for v in both if v is not None}, op.lhs
    return out


def _tiled(op: TileAccess) -> bool:
    """Whether tiles at different indices do not overlap, of an array that is a parameter."""
    return op.array.op is None and _steps_over(op)


def _steps_over(op: TileAccess) -> bool:
    """Whether tiles at different indices do not overlap."""
    return all(n <= step for n, step in zip(op.tile.type.shape, op.steps, strict=True))


def _whole(op: Any) -> Value:
    """The array of an access, or the one that it is a slice of."""
    array: Value = op.array.op.array if isinstance(op.array.op, SliceArray) else op.array
    return array


def _follow(first: Any, second: Any) -> bool:
    """Whether the second access is to a slice that starts where that of the first stops."""
    ours, theirs = first.array.op, second.array.op
    return (isinstance(ours, SliceArray) and isinstance(theirs, SliceArray) and ours.axis == theirs.axis
            and ours.stop is theirs.start)


def _scalar(index: Value) -> Value:
    """The one number of a tile whose elements are all the same."""
    while isinstance(index.op, (Broadcast, Reshape)) and index.type.shape:
        index = index.op.src
    return index


def _indices(op: TileAccess) -> list[tuple[Value, int, int, int]]:
    """Per axis: the index, the axis of the array, the tile's length and the step."""
    return list(zip(op.index, op.order, op.tile.type.shape, op.steps, strict=True))


def _told_by(op: Op) -> Sequence[Value]:
    """The integers that two runs of an access share if they touch the same element; none where that is not known."""
    if isinstance(op, (Gather, Scatter)):
        return op.indices if op.array.op is None else ()
    return op.index if isinstance(op, TileAccess) and _tiled(op) else ()


def _uniform(value: Value) -> bool:
    """Whether a value is a scalar, or a tile whose elements are all one."""
    op = value.op
    return not value.type.shape or isinstance(op, Constant) or (
        isinstance(op, (Broadcast, Reshape)) and _uniform(op.src))


def _factor(value: Value | None) -> int:
    """A number of which the value is a multiple, 1 where none is known."""
    op = None if value is None else value.op
    if isinstance(op, (Broadcast, Reshape, Cast)):
        return _factor(op.src)
    if isinstance(op, (Add, Sub)):
        return gcd(_factor(op.lhs), _factor(op.rhs))
    return abs(_constant(op.rhs) or 1) if isinstance(op, Mul) else 1


def _never_equal(first: Value, second: Value) -> bool:
    """Whether two integers differ wherever each is computed: constants, or others between the same multiples."""
    (base, offset), (other, distance) = _offset(first), _offset(second)
    return base is other and offset != distance and (base is None or abs(offset - distance) < _factor(base))


def _offset(value: Value) -> tuple[Value | None, int]:
    """The value as a base and a constant; a constant has no base."""
    number = _constant(value)
    if number is not None:
        return None, number
    op = value.op
    if isinstance(op, (Add, Sub)):
        more = _constant(op.rhs)
        if more is not None:
            base, offset = _offset(op.lhs)
            return base, offset + (more if isinstance(op, Add) else -more)
    return value, 0


def _constant(value: Value) -> int | None:
    op = value.op
    return int(op.value) if isinstance(op, Constant) else None


def _nonzero(value: Value) -> bool:
    return _constant(value) not in (None, 0)
