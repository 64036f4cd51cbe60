"""Which values are the same in all CTAs of a cluster, and the TMA multicast of tiles that all of them read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.bulk import inner_axis, part_of_slot
from tilewright.backend_ptx.passes.clusters.parts import AXIS
from tilewright.backend_ptx.passes.layouts.classes import carried
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Transfer
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops.arith import Constant, FloorDiv
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.ops.control import For
from tilewright.tileir.plan import Decision


class Ranks:
    """Which values depend on a CTA's rank in its cluster: those computed from its block index along the axis of
    clusters, but not from the index of the cluster alone."""

    def __init__(self, function: Function) -> None:
        self.ctas = function.plan.cluster
        self._variables: dict[Value, Sequence[Value]] = {}
        for op in function.walk():
            for group in carried(op):
                self._variables.update((v, group) for v in group if v.op is None or v.op is op)
            if isinstance(op, For):
                self._variables[op.loop.params[0]] = op.lower, op.upper, op.step

    def alike(self, values: Iterable[Value]) -> bool:
        """Whether all CTAs of a cluster have the same values, in the same iteration of each loop."""
        work, seen = list(values), set[Value]()
        while work:
            value = work.pop()
            if value in seen:
                continue
            seen.add(value)
            if isinstance(value.op, BlockId) and value.op.axis == AXIS:
                return False
            work += self._sources(value)
        return True

    def _sources(self, value: Value) -> Sequence[Value]:
        if self._numbers_cluster(value.op):
            return ()
        variable = self._variables.get(value)
        if variable is not None:
            return variable
        return () if value.op is None else value.op.operands

    def _numbers_cluster(self, op: Op | None) -> bool:
        return (isinstance(op, FloorDiv) and isinstance(op.lhs.op, BlockId) and isinstance(op.rhs.op, Constant)
                and op.rhs.op.value == self.ctas)


def share_in_cluster(function: Function, channels: Sequence[Channel]) -> list[Decision]:
    """Let each CTA of a cluster load a part of the tiles that all of them read, and multicast it; gives the
    decision."""
    names = []
    ranks = Ranks(function)
    for channel in channels if function.plan.cluster > 1 else ():
        for transfer in channel.transfers:
            if ranks.alike(transfer.load.index) and has_parts(transfer, function.plan.cluster):
                transfer.ctas = channel.ring.ctas = function.plan.cluster
                names.append(transfer.name)
    return [decisions.multicast(dict.fromkeys(names), function.plan.cluster)] if names else []


def has_parts(transfer: Transfer, ctas: int) -> bool:
    """Whether each CTA can load a part of the tile."""
    load = transfer.load
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    return inner is not None and part_of_slot(load.shape, inner, load.array.type.dtype.bytes, ctas) is not None

