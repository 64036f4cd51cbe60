"""Which ops of a block become one loop.

Ops of one shape that vary alike and have emitters gather in a group, and reductions of rows of their results. The group
runs where something else first asks for one of its results, or at the end of the block: element-wise ops have no
effects, and tiles that are views of memory are views of what nobody writes, so later is as good. Other ops stay in
their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tilewright.interp.jit.emit import EMITTERS, HALVES, can_emit, holds
from tilewright.interp.jit.folds import may_fold
from tilewright.interp.liveness import captured
from tilewright.tileir.core import Op, Value
from tilewright.tileir.ops import arith, math

# One of these alone is as fast in NumPy; every other emitter saves more than one array.
_PLAIN = (arith.Add, arith.Sub, arith.Mul, arith.And, arith.Or, arith.Xor, arith.Compare, math.Neg, math.Abs, math.Not)
Key = tuple[tuple[int, ...], bool, int | None]


class Group:
    """Ops that run as one loop, in their order."""

    def __init__(self, key: Key) -> None:
        self.key = key
        self.shape, self.varies, self.thin = key
        self.ops: list[Op] = []
        self.members: set[Op] = set()
        self.folds: set[Op] = set()  # the reductions among them

    def add(self, op: Op) -> None:
        self.ops.append(op)
        self.members.add(op)
        if may_fold(op):
            self.folds.add(op)

    def pays(self, stored: bool) -> bool:
        """Is a loop faster than the closures? `stored`: it would write the result where it belongs."""
        [op, *more] = self.ops
        dtype = op.results[0].type.dtype
        return stored or bool(more) or not isinstance(op, _PLAIN) or dtype in HALVES


def find_groups(
    ops: Sequence[Op], varies: Callable[[Value], bool], thin: Mapping[Value, int] | None = None, folds: bool = True
) -> list[Op | Group]:
    """The ops and their groups, in an order in which they may run. `folds`: may reductions be part of them?"""
    order: list[Op | Group] = []
    open_: dict[Key, Group] = {}
    home: dict[Value, Group] = {}

    def close(group: Group) -> None:
        if open_.get(group.key) is group:
            del open_[group.key]
            order.append(group)

    for op in ops:
        if folds and may_fold(op):
            folded = home.get(op.operands[0])
            if folded is not None and open_.get(folded.key) is folded and op.operands[0].type.shape == folded.shape:
                folded.add(op)
                home[op.results[0]] = folded
                continue
        key = _key(op, varies, thin or {})
        for value in (*op.operands, *captured(*op.blocks)):
            group = home.get(value)
            if group is not None and (key is None or group is not open_.get(key)):
                close(group)
        if key is None:
            if op.terminator:
                for group in list(open_.values()):
                    close(group)
            order.append(op)
            continue
        group = open_.setdefault(key, Group(key))
        group.add(op)
        home[op.results[0]] = group
    return order


def _key(op: Op, varies: Callable[[Value], bool], thin: Mapping[Value, int]) -> Key | None:
    """The shape of an op that may be part of a loop, whether it varies between blocks, and along which axis alone."""
    if EMITTERS.of(op) is None or isinstance(op, arith.Constant):
        return None
    [result] = op.results
    shape = result.type.shape
    if not shape or not all(holds(v.type.dtype) for v in (*op.operands, result)) or not can_emit(op):
        return None
    return tuple(shape), varies(result), thin.get(result)
