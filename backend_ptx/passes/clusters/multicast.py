"""The TMA multicast of tiles that all CTAs of a cluster read."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.layouts.bulk import inner_axis, part_of_slot
from tilewright.backend_ptx.passes.pipelining.transfers import Channel, Transfer
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.passes.cut_tiles import alike
from tilewright.tileir.plan import Decision


def share_in_cluster(unit: Unit, channels: Sequence[Channel]) -> list[Decision]:
    """Let each CTA of a cluster load a part of the tiles that all of them read, and multicast it; gives the
    decision."""
    names, ctas = [], unit.function.plan.cluster
    for channel in channels if ctas > 1 else ():
        for transfer in channel.transfers:
            if alike(transfer.load.index, unit, ctas) and has_parts(transfer, ctas) and not channel.once:
                transfer.ctas = channel.ring.ctas = ctas
                names.append(transfer.name)
    return [decisions.multicast(dict.fromkeys(names), ctas)] if names else []


def has_parts(transfer: Transfer, ctas: int) -> bool:
    """Whether each CTA can load a part of the tile."""
    load = transfer.load
    inner = inner_axis(load.array.type, load.shape, load.steps, load.order)
    return inner is not None and part_of_slot(load.shape, inner, load.array.type.dtype.bytes, ctas) is not None
