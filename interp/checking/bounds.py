"""Accesses that the declared mode does not define: tiles outside, elements outside that no check covers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.interp.access import TileRegion
from tilewright.interp.checking.log import Log
from tilewright.interp.checking.places import block_of, called, element_of, extents_of, first_lane
from tilewright.interp.checking.report import Report
from tilewright.interp.elements import ElementRegion
from tilewright.interp.memory import Region
from tilewright.tileir.core import Op
from tilewright.tileir.ops.arrays import RawView

VERBS = {"load": "reads", "gather": "reads", "store": "writes", "scatter": "writes"}


def check_bounds(region: Region, op: Any, log: Log) -> None:
    """Report an access that lies where the language defines none."""
    if isinstance(region, TileRegion):
        _check_tile(region, op, log)
    elif isinstance(region, ElementRegion) and not op.check_bounds:
        _check_elements(region, op, log)


def _check_tile(region: TileRegion, op: Any, log: Log) -> None:
    if region.inside:
        return
    outside: Any = False
    for start, length, axis in zip(region.index, region.grid.shape, region.grid.order, strict=True):
        extent = region.array.extents[axis]
        outside = outside | (start < 0) | (start >= extent)
        if not op.check_bounds:
            outside = outside | (start + length > extent)
    wrong = np.atleast_1d(outside)
    if wrong.any():
        log.add(("bounds", op), int(np.count_nonzero(wrong)), lambda: _tile_report(region, op, int(np.argmax(wrong))))


def _tile_report(region: TileRegion, op: Any, block: int) -> Report:
    rank = len(region.grid.shape)
    lane = (block, *(0,) * rank) if region.varies else (0,) * rank
    name = region.array.name
    first, extents = element_of(region, lane), extents_of(region, lane)
    lengths = [0] * rank
    for axis, length in zip(region.grid.order, region.grid.shape, strict=True):
        lengths[axis] = length
    box = ", ".join(f"{f}:{f + n}" for f, n in zip(first, lengths, strict=True))
    before = any(f < 0 for f in first)
    past = any(f >= n for f, n in zip(first, extents, strict=True))
    values = {"first element": first, "tile": tuple(lengths), "shape": extents}
    common = {"span": op.span, "array": name, "index": first, "block": block_of(region, lane), "values": values}
    what = f"{called(op)} {VERBS.get(op.opcode, 'accesses')} {name}[{box}]"
    if before or past:
        where = "starts before" if before else "lies outside"
        return Report(
            "bounds", f"{what}: the tile {where} the array", **common,
            reason="a tile must start inside the array; only its end may reach past the edge",
            hint=f"the grid or the index is too large; an index counts tiles: {name} has "
                 f"{_tiles(region, extents)} of this shape" if not before else "check the index",
        )
    return Report(
        "promise", f"{what}: it reaches past the end of the array, which check_bounds=False excludes", **common,
        reason="check_bounds=False promises that the whole tile lies inside the array",
        hint="leave check_bounds=False out",
    )


def _tiles(region: TileRegion, extents: tuple[int, ...]) -> str:
    grid = region.grid
    return " x ".join(str(-(-extents[axis] // step)) for axis, step in zip(grid.order, grid.steps, strict=True))


def _check_elements(region: ElementRegion, op: Any, log: Log) -> None:
    if len(region.array.line) and all(region.inside):
        return
    shape = region.shape
    wrong = np.logical_not(np.broadcast_to(region.valid if len(region.array.line) else False, shape))
    if region.given is not None:
        wrong = wrong & np.broadcast_to(_over(region.given, shape), shape)
    if np.any(wrong):
        log.add(("bounds", op), int(np.count_nonzero(wrong)), lambda: _element_report(region, op, first_lane(wrong)))


def _over(mask: Any, shape: tuple[int, ...]) -> Any:
    """A mask that may lack axes of the elements."""
    return mask if np.ndim(mask) in (0, len(shape)) else np.reshape(mask, (-1, *(1,) * (len(shape) - 1)))


def _element_report(region: ElementRegion, op: Any, lane: tuple[int, ...]) -> Report:
    index, extents, name = element_of(region, lane), extents_of(region, lane), region.array.name
    raw = is_raw(op)
    what = f"{called(op)} accesses {name}[{', '.join(map(str, index))}]"
    return Report(
        "bounds", f"{what}, outside of its {'memory' if raw else 'shape'}", op.span, array=name, index=index,
        block=block_of(region, lane), values={"index": index, "elements" if raw else "shape": extents},
        reason="accesses by offset are never checked on a GPU" if raw else
               "check_bounds=False promises that all indices that the mask lets through are inside",
        hint="mask the offsets that lie outside" if raw else "leave check_bounds=False out, or mask these elements",
    )


def is_raw(op: Op) -> bool:
    """Does the op access memory by offset?"""
    source: Any = op.array.op  # type: ignore[attr-defined]
    return isinstance(source, RawView)
