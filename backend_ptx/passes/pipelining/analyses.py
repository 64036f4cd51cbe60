"""The pipeliner's analyses of a function, among them which values the producer can compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.runs import Runs, runs
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops import control
from tilewright.tileir.types import ArrayType


class Analyses:
    """The unit's analyses and the pipeliner's own, all made before the function changes."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.function = unit.function
        self.params = set(unit.function.params)
        self.dependences = unit.dependences

    @property
    def users(self) -> Mapping[Value, list[Op]]:
        return self.unit.uses

    @property
    def known(self) -> Facts:
        return self.unit.facts

    @cached_property
    def runs(self) -> Runs:
        """Only gathers ask."""
        return runs(self.function, self.known)

    @property
    def owner(self) -> Mapping[Block, Op]:
        return self.unit.parents

    @cached_property
    def block_of(self) -> dict[Op, Block]:
        blocks = [self.function.body, *self.owner]
        return {op: block for block in blocks for op in block.ops}

    @cached_property
    def written(self) -> set[Value]:
        """The alias classes that the function writes."""
        acting = (op for op in self.function.walk() if op.effectful)
        return {self.dependences.alias_class(m) for op in acting for m in op.effects().writes}

    def around(self, op: Op) -> list[Op]:
        """The structured ops around an op, innermost first."""
        out = []
        block = self.block_of[op]
        while block in self.owner:
            out.append(self.owner[block])
            block = self.block_of[out[-1]]
        return out

    def at_level(self, op: Op, block: Block) -> Op:
        """The op of a block that is, or contains, another one."""
        while self.block_of[op] is not block:
            op = self.owner[self.block_of[op]]
        return op

    def known_to_producer(self, values: Iterable[Value]) -> bool:
        """Whether a producer, which holds no tiles, can compute the values itself."""
        work, seen = list(values), set[Value]()
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            needed = self._needs(value)
            if needed is None:
                return False
            work += needed
        return True

    def _needs(self, value: Value) -> Iterable[Value] | None:
        """The values from which a value is computed, None if only the consumers know it."""
        if value in self.params:
            return []
        if not isinstance(value.type, ArrayType) and getattr(value.type, "size", 1) > 1:
            return None
        owner = value.owner
        if isinstance(owner, Block):
            return _param_needs(self.owner[owner], owner, value)
        assert isinstance(owner, Op)
        if isinstance(owner, control.For):
            return _param_needs(owner, owner.loop, owner.loop.params[1 + owner.results.index(value)])
        if owner.blocks:
            return None
        effects = owner.effects()
        if effects.kept or any(self.dependences.alias_class(m) in self.written for m in effects.reads):
            return None
        return owner.operands


def _param_needs(op: Op, block: Block, value: Value) -> list[Value] | None:
    if not isinstance(op, control.For):
        return None
    bounds = [op.lower, op.upper, op.step]
    number = block.params.index(value)
    if number == 0:
        return bounds
    return [*bounds, op.init[number - 1], block.terminator.operands[number - 1]]
