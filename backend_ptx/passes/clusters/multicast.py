"""Which values are the same in all CTAs of a cluster, and the TMA multicast of tiles that all of them read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.bulk import inner_axis, part_of_slot
from tilewright.backend_ptx.passes.clusters.parts import AXIS
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Transfer
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.carried import origins
from tilewright.tileir.core import Value
from tilewright.tileir.ops.arith import Constant, FloorDiv
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.plan import Decision


def alike(values: Iterable[Value], unit: Unit) -> bool:
    """Whether all CTAs of a cluster have the same values, in the same iteration of each loop: none is computed from the
    block index along the axis of clusters, but for the index of the cluster alone."""
    def numbers_cluster(value: Value) -> bool:
        op = value.op
        return (isinstance(op, FloorDiv) and isinstance(op.lhs.op, BlockId) and isinstance(op.rhs.op, Constant)
                and op.rhs.op.value == unit.function.plan.cluster)

    found = origins(values, unit.parents, numbers_cluster)
    return not any(isinstance(v.op, BlockId) and v.op.axis == AXIS for v in found)


def share_in_cluster(unit: Unit, channels: Sequence[Channel]) -> list[Decision]:
    """Let each CTA of a cluster load a part of the tiles that all of them read, and multicast it; gives the
    decision."""
    names, ctas = [], unit.function.plan.cluster
    for channel in channels if ctas > 1 else ():
        for transfer in channel.transfers:
            if alike(transfer.load.index, unit) and has_parts(transfer, ctas):
                transfer.ctas = channel.ring.ctas = ctas
                names.append(transfer.name)
    return [decisions.multicast(dict.fromkeys(names), ctas)] if names else []


def has_parts(transfer: Transfer, ctas: int) -> bool:
    """Whether each CTA can load a part of the tile."""
    load = transfer.load
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    return inner is not None and part_of_slot(load.shape, inner, load.array.type.dtype.bytes, ctas) is not None
