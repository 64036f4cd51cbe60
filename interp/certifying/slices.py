"""What values are computed from: the slice of the program behind a store, and what of it lies outside of an element.

A stored value is a *function of the element* if it follows from the element's position, the arguments, and arrays that
the kernel does not write. Block numbers may enter it only through the numbers of the tiles that the store writes to:
those the element's position tells. Whichever block computes such a value, its bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from tilewright.interp.certifying.forms import places, told_by
from tilewright.interp.proving.accesses import MemoryUse, accesses
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.linear import Terms, form_of, primitive
from tilewright.tileir.analysis.uses import parents
from tilewright.tileir.carried import condition_of, origins
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops import arith, arrays, control
from tilewright.tileir.ops.atomics import Atomic

Around = tuple[tuple[Op, Block], ...]


class Code:
    """A function and what several questions ask about it."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.dependences = Dependences(function)
        self.parents = parents(function)
        self.uses = accesses(function)
        self.read = {value for op in function.walk() for value in op.operands}
        self._around: dict[Op, Around] = {}
        self._visit(function.body, ())

    def _visit(self, block: Block, around: Around) -> None:
        for op in block.ops:
            self._around[op] = around
            for inner in op.blocks:
                self._visit(inner, (*around, (op, inner)))

    def around(self, op: Op) -> Around:
        """The structured ops around an op, outermost first, each with the body that it is in."""
        return self._around[op]

    def memory(self, array: Value) -> Value:
        """What stands for the memory of an array."""
        return self.dependences.alias_class(array)

    @cached_property
    def written(self) -> frozenset[Value]:
        return frozenset(self.memory(use.array) for use in self.uses if use.writes)

    @cached_property
    def asked_axes(self) -> frozenset[int]:
        """The axes of the grid whose block number the kernel asks for."""
        return frozenset(op.axis for op in self.function.walk() if isinstance(op, arrays.BlockId))

    def of(self, memory: Value) -> list[MemoryUse]:
        """All accesses to it."""
        return [use for use in self.uses if self.memory(use.array) is memory]

    def behind(self, values: Iterable[Value], told: frozenset[Terms] = frozenset()) -> list[Value]:
        """The values, and all that they are computed from; not what numbers with terms in `told` are computed from."""
        def known(value: Value) -> bool:
            return bool(told) and _is_told(value, told)
        return list(origins(values, self.parents, known))

    def ops_behind(self, values: Iterable[Value], told: frozenset[Terms] = frozenset()) -> list[Op]:
        """The ops that compute these, without those of told numbers."""
        return [v.op for v in self.behind(values, told) if v.op is not None and not (told and _is_told(v, told))]

    def decides(self, op: Op) -> list[Value]:
        """The values that decide whether, and how often, an op is executed: conditions and bounds of loops around it,
        and its mask."""
        out: list[Value] = []
        for around, _ in self.around(op):
            out += limits(around)
        mask = getattr(op, "mask", None)
        return [*out, mask] if mask is not None else out

    def where(self, op: Any) -> list[Value]:
        """The values that say where an access is: its indices, and the array, which may be a view."""
        return [*getattr(op, "index", ()), *getattr(op, "indices", ()), op.array]

    def of_element(self, op: Any) -> bool:
        """Whether what a store writes is a function of the element, also where several of its executions write it."""
        told = told_by(places(op))
        behind = self.behind([op.value], told)
        loops = {param for around, _ in self.around(op) for block in around.blocks for param in block.params}
        if any(v in loops and not _is_told(v, told) for v in behind):
            behind = self.behind([op.value, *self.decides(op)], told)
        return not any(isinstance(v.op, arrays.BlockId | arrays.NumBlocks | Atomic) and not _is_told(v, told)
                       for v in behind)


def limits(op: Op) -> list[Value]:
    """What decides how often an op executes its bodies."""
    if isinstance(op, control.For):
        return [op.lower, op.upper, op.step]
    if isinstance(op, control.While):
        return [condition_of(op).cond]
    return [op.cond] if isinstance(op, control.If) else []


def _is_told(value: Value, told: frozenset[Terms]) -> bool:
    form = form_of(value)
    return form is not None and bool(form.terms) and not form.along and primitive(form.terms) in told


def own_items(op: Op) -> frozenset[int]:
    """The axes of the grid over whose blocks a loop shares its iterations: each number below `upper` is one block's.

        for i in range(bid(0), n, num_blocks(0))
        for i in range(bid(0) + bid(1) * num_blocks(0), n, num_blocks(0) * num_blocks(1))
    """
    if not isinstance(op, control.For):
        return frozenset()
    first, step = form_of(op.lower), form_of(op.step)
    if first is None or step is None or first.number or step.number or any(n != 1 for _, n in first.terms):
        return frozenset()
    counts = _counts(v for v, n in step.terms) if {n for _, n in step.terms} == {1} else None
    numbers = sorted(_factors(v) for v in first.unknowns)
    if counts is None or len(step.terms) != 1:
        return frozenset()
    for axes in ((a,) for a in range(3)):
        if numbers == [(("block", axes[0]),)] and counts == axes:
            return frozenset(axes)
    for a, b in ((0, 1), (1, 0), (0, 2), (1, 2), (2, 0), (2, 1)):
        if numbers == sorted([(("block", a),), (("block", b), ("grid", a))]) and counts == tuple(sorted((a, b))):
            return frozenset((a, b))
    return frozenset()


def _counts(values: Iterable[Value]) -> tuple[int, ...] | None:
    """The axes whose numbers of blocks are multiplied."""
    found = [factor for value in values for factor in _factors(value)]
    return tuple(sorted(axis for _, axis in found)) if all(kind == "grid" for kind, _ in found) else None


def _factors(value: Value) -> tuple[tuple[str, int], ...]:
    """The factors of a product of block numbers and numbers of blocks."""
    op = value.op
    if isinstance(op, arith.Mul):
        return tuple(sorted((*_factors(op.lhs), *_factors(op.rhs))))
    if isinstance(op, arrays.BlockId):
        return (("block", op.axis),)
    return (("grid", op.axis),) if isinstance(op, arrays.NumBlocks) else (("other", 0),)
