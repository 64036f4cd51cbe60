"""What can be computed without tiles: by a thread that runs ahead of those that hold them."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import condition_of, maker_of, origins
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.types import ArrayType


def deciding(op: Op) -> Sequence[Value]:
    """The values that decide whether and how often the bodies of a structured op run."""
    if isinstance(op, While):
        return [condition_of(op).cond]
    return [op.cond] if isinstance(op, If) else op.operands[:3]


def known_without_tiles(values: Sequence[Value], unit: Unit) -> bool:
    """Whether a thread that holds no tiles can compute the values itself."""
    dependences, parents = unit.dependences, unit.parents

    def computable(value: Value) -> bool:
        op = maker_of(value, parents)
        if op is None:
            return True
        if not isinstance(value.type, ArrayType) and getattr(value.type, "size", 1) > 1:
            return False
        if op.blocks or not op.effectful:
            return isinstance(op, (For, While, If)) or not op.blocks
        effects = op.effects()
        return not (effects.kept or any(dependences.alias_class(m) in dependences.changing for m in effects.reads))

    return all(map(computable, origins(values, parents)))
