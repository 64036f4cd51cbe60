"""What launches cost at least, by the model of `tilewright.estimating`: memory and arithmetic side by side."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from tilewright.arguments.bind import ArrayArgument
from tilewright.arguments.spec import Spec
from tilewright.combining.graph import Graph, Slot
from tilewright.combining.pieces import Piece
from tilewright.estimating.devices import DeviceLimits
from tilewright.estimating.entry import estimated
from tilewright.estimating.result import Estimate
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.ops.arith import Div
from tilewright.tileir.ops.math import FloatUnary
from tilewright.tileir.ops.shape import Broadcast

DEAR = 10  # instructions of a division, or of exp and its like


def cost(graph: Graph, piece: Piece, name: str, grid: tuple[int, int, int], device: DeviceLimits) -> Estimate | None:
    """The estimate of one launch; None where scalars or contents of arrays, which are not looked at, decide."""
    slots = [graph.slots[slot] for slot in piece.slots]
    for slot, param in zip(slots, piece.function.params, strict=True):
        param.hint = slot.name
    stages = SimpleNamespace(name=name, tile_ir=lambda: piece.function, arguments=[_argument(slot) for slot in slots])
    try:
        found = estimated(stages, grid, device)  # type: ignore[arg-type]
    except (TileError, TypeError, ValueError, OverflowError):
        return None
    return None if found.notes else found


def recomputing(producer: Piece, slot: int, consumer: Estimate, graph: Graph, device: DeviceLimits) -> float:
    """Seconds of the instructions that compute an array where a consumer loads it, as often as it loads it.

    They come on top of what else limits the consumer: threads that prepare the operands of an MMA wait for each other,
    and tensor cores for them. On an H100 a normalisation (7 instructions) in front of 16384 x 1024 x 1024, in
    tiles of 128 x 128 and 128 x 256, took 41 and 19 us beside the 73 and 62 of the product; a quantisation with a
    division in front of 8192 x 4096 x 4096 (128 x 128) made three launches of 593 us one of 1168.
    """
    [store] = [op for op in producer.accesses(slot) if op.effects().writes]
    whole, info = store.tile.type.size, graph.slots[slot].info  # type: ignore[attr-defined]
    each = 0
    for op in producer.function.walk():
        full = len(op.results) == 1 and getattr(op.results[0].type, "size", 0) == whole
        if full and isinstance(op, Broadcast):
            each += op.src.type.shape[-1:] > (1,)  # a row is loaded for each element
        elif full and op.elementwise:
            each += DEAR if isinstance(op, (Div, FloatUnary)) else 1
    loaded = sum(a.read.requested for a in consumer.arrays if a.name == graph.slots[slot].name) // info.dtype.bytes
    return loaded * each / (device.rates["f32"] / 2)


def _argument(slot: Slot) -> object:
    argument = slot.argument
    if isinstance(argument, ArrayArgument):
        info = slot.info
        return ArrayArgument(slot.name, Spec(info.dtype, info.shape, info.strides), argument.annotation)
    return replace(argument, value=slot.value)
