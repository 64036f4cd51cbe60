"""What can be computed without tiles: by a thread that runs ahead of those that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.carried import condition_of, maker_of, origins
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops.control import For, If, While
from tilewright.tileir.types import ArrayType


def deciding(op: Op) -> Sequence[Value]:
    """The values that decide whether and how often the bodies of a structured op run."""
    if isinstance(op, While):
        return [condition_of(op).cond]
    return [op.cond] if isinstance(op, If) else op.operands[:3]


class Scalars:
    """What a thread that holds no tiles can compute itself, in a function as it is."""

    def __init__(self, dependences: Dependences, parents: Mapping[Block, Op]) -> None:
        self._dependences, self._parents = dependences, parents
        self._known: set[Value] = set()  # with all that they are computed from

    def known(self, values: Sequence[Value]) -> bool:
        """Whether such a thread can compute the values."""
        found = list(origins(values, self._parents, self._known.__contains__))
        if not all(map(self._computable, found)):
            return False
        self._known.update(found)
        return True

    def _computable(self, value: Value) -> bool:
        op = None if value in self._known else maker_of(value, self._parents)
        if op is None:
            return True
        if not isinstance(value.type, ArrayType) and getattr(value.type, "size", 1) > 1:
            return False
        if op.blocks or not op.effectful:
            return isinstance(op, (For, While, If)) or not op.blocks
        effects, changing = op.effects(), self._dependences.changing
        return not (effects.kept or any(self._dependences.alias_class(m) in changing for m in effects.reads))
