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


def _argument(slot: Slot) -> object:
    argument = slot.argument
    if isinstance(argument, ArrayArgument):
        info = slot.info
        return ArrayArgument(slot.name, Spec(info.dtype, info.shape, info.strides), argument.annotation)
    return replace(argument, value=slot.value)
