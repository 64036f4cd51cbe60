"""Whether a pass has left a function as it was: then what held of it before still holds, and needs no second check."""

from __future__ import annotations

from operator import is_

from tilewright.tileir.core import Block, Function, Op
from tilewright.tileir.plan import MachinePlan


class Snapshot:
    """What stood in a function: its ops in order with all their fields, the types of values, the records beside them.

    Objects count as the same by identity, so that an equal field of another type (1 and True) is a change. They stay
    alive with the snapshot. Fields hold values and immutable facts, never lists (see `attribute` in tileir/core.py).
    """

    __slots__ = ("held",)

    def __init__(self, function: Function) -> None:
        plan = function.plan
        self.held: list[object] = [
            function.aliases, function.hints, function.switches, function.limits,
            *[getattr(plan, name) for name in MachinePlan.__slots__],
        ]
        self._block(function.body)

    def same(self, other: Snapshot) -> bool:
        return len(self.held) == len(other.held) and all(map(is_, self.held, other.held))

    def _block(self, block: Block) -> None:
        held = self.held
        held.append(block)
        for value in block.params:
            held += (value, value.type, value.owner)
        for op in block.ops:
            self._op(op)
        held.append(None)  # the end of the block

    def _op(self, op: Op) -> None:
        held = self.held
        held.append(op)
        held += vars(op).values()
        for value in op.results:
            held += (value, value.type, value.owner)
        for name in op._body_fields:
            self._block(getattr(op, name))
