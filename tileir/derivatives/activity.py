"""Which values of a kernel change with the arrays that gradients are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.uses import parents
from tilewright.tileir.carried import carried, origins
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.ops.convert import Bitcast
from tilewright.tileir.ops.math import StopGradient
from tilewright.tileir.types import ArrayType, ListType, TileType


def varied_values(function: Function, sources: frozenset[Value]) -> set[Value]:
    """The float tiles that are computed from elements of the parameters `sources`, along paths of floats, or from bits
    of such floats."""
    walk = _Walk(function, sources)
    while True:
        before = len(walk.varied), len(walk.bits)
        walk.over(function.body)
        if before == (len(walk.varied), len(walk.bits)):
            return walk.varied


class _Walk:
    """One walk after the other over a function, until nothing is added."""

    def __init__(self, function: Function, sources: frozenset[Value]) -> None:
        self.dependences = Dependences(function)
        self.classes = {self.dependences.alias_class(source) for source in sources}
        self.varied: set[Value] = set()
        self.bits: set[Value] = set()  # integers that hold bits of varied floats, and what is made of them

    def over(self, block: Block) -> None:
        for op in block.ops:
            for inner in op.blocks:
                self.over(inner)
            if isinstance(op, (For, If, While)):
                for met in carried(op):
                    self.meet(met, [value for value in met if value.owner is op or value.owner in op.blocks])
            elif isinstance(op, StopGradient):
                continue
            elif self.reads(op):
                self.varied.update(op.results)
            else:
                self.meet(op.operands, op.results, bits=isinstance(op, Bitcast))

    def meet(self, sources: Sequence[Value], targets: Sequence[Value], *, bits: bool = False) -> None:
        """What sources are, targets become; a bitcast makes bits of floats, and floats of these bits."""
        floats = any(value in self.varied for value in sources)
        integers = any(value in self.bits for value in sources)
        for value in targets:
            if is_float(value) and (floats or (integers and bits)):
                self.varied.add(value)
            elif not is_float(value) and (integers or (floats and bits)) and isinstance(value.type, TileType):
                self.bits.add(value)

    def reads(self, op: Op) -> bool:
        """Whether an op reads floats from one of the sources."""
        return op.effectful and any(
            isinstance(memory.type, (ArrayType, ListType)) and self.dependences.alias_class(memory) in self.classes
            for memory in op.effects().reads) and all(map(is_float, op.results))


def is_float(value: Value) -> bool:
    return isinstance(value.type, TileType) and value.type.dtype.is_float


def outside_values(*blocks: Block) -> Iterator[Value]:
    """The values from around some bodies that ops inside read, each once."""
    inside: set[Value] = set()
    for block in blocks:
        inside.update(block.params)
        for op in block.walk():
            inside.update(op.results)
            for inner in op.blocks:
                inside.update(inner.params)
    seen = dict.fromkeys(value for block in blocks for op in block.walk() for value in op.operands)
    return (value for value in seen if value not in inside)


def reaching_values(function: Function, seeding: set[Op]) -> set[Value]:
    """The values that outputs, stored by the ops of `seeding`, are computed from, but for what counts as a constant."""
    above = parents(function)
    stored = [value for op in seeding if not op.blocks for value in op.operands]
    return set(origins(stored, above, lambda value: isinstance(value.op, StopGradient)))
