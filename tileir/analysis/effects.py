"""Which memory an op may touch, and which ops must keep their order: the one dependence analysis of all passes.

Alias classes: every array parameter is one, and so is every list (its items may alias each other); a slice belongs to
the class of its source; a shared buffer is a class of its own. Parameters that share memory in the launches that the
function is made for (`Function.aliases`) are one class. Arrays that meet in a branch or are carried by a loop merge the
classes of all that meet there. Different classes never overlap: the launch has looked.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.enums import MemoryOrder, MemoryScope
from tilewright.tileir.types import ArrayType, ListType, SharedType

MEMORY = (ArrayType, ListType, SharedType)
"""The types of values that name memory."""


def written_arrays(function: Function) -> frozenset[int]:
    """Positions of the parameters (arrays, lists) whose memory the function may write.

    The only answer to this question: launches specialise on the arguments that overlap a written one, the PTX promises
    `noalias` for all others, and the interpreter runs blocks side by side only where nothing that is written is read
    elsewhere. A parameter that shares memory with a written one counts as written.
    """
    dependences = Dependences(function)
    return frozenset().union(*(
        dependences.parameters(memory) for op in function.walk() if op.writing for memory in op.effects().writes
    ))


def changing_arrays(function: Function) -> frozenset[int]:
    """Positions of the parameters whose memory may change while the function runs: those that it writes, and all where
    it acquires from the whole system, since then others may tell it what they wrote."""
    if any(map(acquires_from_system, function.walk())):
        return frozenset(i for i, param in enumerate(function.params) if isinstance(param.type, MEMORY))
    return written_arrays(function)


def acquires_from_system(op: Op) -> bool:
    """Does an op receive what other devices, other launches or copies have released?"""
    order, scope = getattr(op, "memory_order", MemoryOrder.WEAK), getattr(op, "memory_scope", MemoryScope.NONE)
    return scope is MemoryScope.SYS and order in (MemoryOrder.ACQUIRE, MemoryOrder.ACQ_REL)


class Summary(NamedTuple):
    """The effects of an op and its bodies; `reads` and `writes` are alias classes, each named by one of its values."""

    reads: frozenset[Value] = frozenset()
    writes: frozenset[Value] = frozenset()
    ordered: bool = False
    io: bool = False

    @property
    def none(self) -> bool:
        return not (self.reads or self.writes or self.ordered or self.io)

    @property
    def only_reads(self) -> bool:
        return not (self.writes or self.ordered or self.io)


NOTHING = Summary()


class Dependences:
    """Alias classes and effects of one function. Ops may be added and moved while it is in use; an op that was asked
    about must keep its effects."""

    def __init__(self, function: Function) -> None:
        self._parent: dict[Value, Value] = {}
        self._summaries: dict[Op, Summary] = {}
        self._params = function.params
        self._body = function.body
        for group in function.aliases.groups:
            self._merge([function.params[position] for position in group])
        self._join(function.body)

    def _join(self, block: Block) -> None:
        """Merge the classes of arrays that meet at results and body parameters of structured ops."""
        for op in block.ops:
            blocks = op.blocks
            if not blocks:
                continue
            met = [v for v in (*op.results, *(p for b in blocks for p in b.params)) if isinstance(v.type, MEMORY)]
            if met:
                sources = [*op.operands, *(v for b in blocks for v in b.terminator.operands)]
                self._merge([*met, *(v for v in sources if isinstance(v.type, MEMORY))])
            for inner in blocks:
                self._join(inner)

    def _merge(self, values: list[Value]) -> None:
        first = self.alias_class(values[0])
        for value in values[1:]:
            other = self.alias_class(value)
            if other is not first:
                self._parent[other] = first

    def alias_class(self, memory: Value) -> Value:
        """The value that stands for the class of an array, list or shared buffer."""
        while True:
            above = self._parent.get(memory)
            if above is not None:
                memory = above
                continue
            op = memory.op
            if op is None or op.blocks:
                return memory
            sources = [v for v in op.operands if isinstance(v.type, MEMORY)]
            if not sources:
                return memory  # an allocation
            for source in sources[1:]:
                self._merge([sources[0], source])
            self._parent[memory] = sources[0]

    def classes(self, function: Function) -> list[list[Value]]:
        """The values of a function that hold memory, by class."""
        out: dict[Value, list[Value]] = {}
        params = (p for op in function.walk() for block in op.blocks for p in block.params)
        for value in (*function.params, *params, *(r for op in function.walk() for r in op.results)):
            if isinstance(value.type, MEMORY):
                out.setdefault(self.alias_class(value), []).append(value)
        return list(out.values())

    def parameters(self, memory: Value) -> frozenset[int]:
        """Positions of the parameters whose memory an array, list or shared buffer may be."""
        found = self.alias_class(memory)
        return frozenset(
            i for i, param in enumerate(self._params)
            if isinstance(param.type, MEMORY) and self.alias_class(param) is found
        )

    def summary(self, op: Op) -> Summary:
        """What the op and its bodies may do."""
        found = self._summaries.get(op)
        if found is None:
            found = self._summaries[op] = self._summarise(op)
        return found

    def _summarise(self, op: Op) -> Summary:
        blocks = op.blocks
        if not blocks and not op.effectful:
            return NOTHING
        own = op.effects()
        if not blocks and own.none:
            return NOTHING
        parts = [self.summary(inner) for block in blocks for inner in block.ops]
        return Summary(
            frozenset(map(self.alias_class, own.reads)).union(*(p.reads for p in parts)),
            frozenset(map(self.alias_class, own.writes)).union(*(p.writes for p in parts)),
            own.ordered or any(p.ordered for p in parts),
            own.io or any(p.io for p in parts),
        )

    @cached_property
    def written(self) -> frozenset[Value]:
        """The alias classes that the function writes, as it is at the first question."""
        memories = (memory for op in self._body.walk() if op.writing for memory in op.effects().writes)
        return frozenset(map(self.alias_class, memories))

    @cached_property
    def changing(self) -> frozenset[Value]:
        """Those that may change while the function runs, as `changing_arrays` has them."""
        if not any(map(acquires_from_system, self._body.walk())):
            return self.written
        return self.written | {self.alias_class(p) for p in self._params if isinstance(p.type, MEMORY)}

    def may_conflict(self, first: Op, second: Op) -> bool:
        """Whether the two ops must stay in their order: one may write what the other touches, or one is an ordered
        access and the other touches memory, or both do output. Values that one uses of the other are not asked."""
        return conflict(self.summary(first), self.summary(second))


def conflict(a: Summary, b: Summary) -> bool:
    if a.io and b.io:
        return True
    if (a.ordered and _touches(b)) or (b.ordered and _touches(a)):
        return True
    return not (a.writes.isdisjoint(b.writes) and a.writes.isdisjoint(b.reads) and b.writes.isdisjoint(a.reads))


def _touches(summary: Summary) -> bool:
    return bool(summary.reads or summary.writes or summary.ordered)
