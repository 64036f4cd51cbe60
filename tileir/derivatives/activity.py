"""Which values of a kernel change with the arrays that gradients are asked for."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.carried import carried
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.types import ArrayType, ListType, TileType


def varied_values(function: Function, sources: frozenset[Value]) -> set[Value]:
    """The float tiles that are computed from elements of the parameters `sources`, along paths of floats."""
    dependences = Dependences(function)
    classes = {dependences.alias_class(source) for source in sources}
    varied: set[Value] = set()
    while True:
        before = len(varied)
        _pass(function.body, dependences, classes, varied)
        if len(varied) == before:
            return varied


def _pass(block: Block, dependences: Dependences, classes: set[Value], varied: set[Value]) -> None:
    for op in block.ops:
        for inner in op.blocks:
            _pass(inner, dependences, classes, varied)
        if isinstance(op, (For, If, While)):
            for met in carried(op):
                if any(value in varied for value in met):
                    varied.update(value for value in met if is_float(value))
        elif any(value in varied for value in op.operands) or _reads(op, dependences, classes):
            varied.update(value for value in op.results if is_float(value))


def _reads(op: Op, dependences: Dependences, classes: set[Value]) -> bool:
    return op.effectful and any(
        isinstance(memory.type, (ArrayType, ListType)) and dependences.alias_class(memory) in classes
        for memory in op.effects().reads)


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
