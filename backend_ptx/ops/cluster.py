"""Values from all CTAs of a cluster, which reach each other's shared memory (PTX ISA, "shared::cluster").

What one CTA sends lands in the buffers of all, and completes as bytes on the mbarriers of all; each CTA waits for its
own. A buffer has two slots, each with an mbarrier: while some CTAs still wait for or read the last rows, others may
send the next ones.
"""

from __future__ import annotations

from tilewright.backend_ptx.ops.engines import CLUSTER_STORE, MBARRIER
from tilewright.backend_ptx.ops.shared import Signal, require_mbarriers
from tilewright.tileir.core import Op, Value, attribute, operand, operands, require
from tilewright.tileir.dtypes import int32
from tilewright.tileir.types import SharedType, TileType, Type


class ClusterGather(Op, opcode="cluster_gather", collective=True):
    """The values of `src` in the `ctas` CTAs of the cluster, in the order of their ranks along a new first axis: the
    same tile in all of them. All CTAs execute it in the same order."""

    src: Value = operand()
    ctas: int = attribute()

    def infer(self) -> tuple[Type, ...]:
        src = self.src.type
        require(isinstance(src, TileType) and self.ctas > 1, f"cluster_gather: {src} of {self.ctas} blocks")
        return (TileType(src.dtype, (self.ctas, *src.shape)),)


class ClusterOpen(Op, opcode="cluster_open", io=True, collective=True, engine=MBARRIER, exclusive="barriers"):
    """Initialise the mbarriers of exchanges, and arrive for the other CTAs to see them."""

    barriers: tuple[Value, ...] = operands()

    def check(self) -> None:
        for barriers in self.barriers:
            require_mbarriers("cluster_open", barriers.type)


class ClusterReady(Signal, opcode="cluster_ready", collective=True):
    """Wait until all CTAs of the cluster have executed `cluster_open`."""


class ClusterExchange(
    Op, opcode="cluster_exchange", io=True, collective=True, engine=CLUSTER_STORE, exclusive="buffer barriers",
):
    """Send a row of elements to the row of this CTA's rank in a slot of the buffers of all, and wait for those of the
    others. The result says which slot. `again`: it may be executed several times."""

    buffer: Value = operand()
    barriers: Value = operand()
    value: Value = operand()
    again: bool = attribute(default=False)

    def infer(self) -> tuple[Type, ...]:
        buffer, value = self.buffer.type, self.value.type
        ok = isinstance(buffer, SharedType) and isinstance(value, TileType) and buffer.copies == SLOTS
        ok = ok and buffer.dtype is value.dtype and len(value.shape) == 1
        require(ok and buffer.size == buffer.shape[0] * value.size, f"cluster_exchange: {value} does not fit {buffer}")
        require(value.dtype.bitwidth in (32, 64), f"cluster_exchange: elements of {value.dtype.bitwidth} bits")
        require_mbarriers("cluster_exchange", words := self.barriers.type)
        require(words.copies == SLOTS, f"cluster_exchange: {words} holds no {SLOTS} mbarriers")
        return (TileType(int32),)


def exchanges(op: Op) -> bool:
    """Whether an op sends to other CTAs."""
    return op.starting and any(start.engine is CLUSTER_STORE for start in op.effects().starts)


SLOTS = 2
"""Slots of the buffer of an exchange."""
