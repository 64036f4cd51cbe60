"""Sectors of 32 bytes that the requests of a warp touch, for each load and store of a machine function.

A warp instruction is one request: each lane moves some elements side by side. How many sectors they lie in follows from
the layout in threads and the array's strides, for the tile at the array's start; for gathers and scatters, from the
indices of the first block that the access map has seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tilewright.arguments.spec import Spec
from tilewright.backend_ptx.layouts.memory import SECTOR_BYTES, gather_access, tile_access
from tilewright.backend_ptx.ops.shared import BufferAccess
from tilewright.inspecting.explorer.places import Numbering, chain_of
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import facts
from tilewright.tileir.analysis.runs import Runs, runs
from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import Span
from tilewright.tileir.engines import GLOBAL, Issuer
from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import copy_vector
from tilewright.tileir.layouts.flat import LANE_BITS, parts
from tilewright.tileir.layouts.queries import vector_along
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store

Seen = Mapping[tuple[Span, tuple[int, ...]], tuple[Any, Any]]
"""Of gathers and scatters, by place and shape: the offset in bytes of each element, and which are accessed."""


class Moved(NamedTuple):
    """Which thread accesses what: `vector` registers at once, as far as lanes have neighbours in memory."""

    layout: Layout
    vector: int
    itemsize: int


def sectors(function: Function, values: Sequence[Any], seen: Seen, number: Numbering) -> list[dict[str, Any]]:
    """The accesses of global memory: array, place, bytes that a lane moves at once, requests of a block, sectors of
    each request (mean), and the fewest that its bytes need. What cannot be said has a `note` in place of numbers."""
    dependences = Dependences(function)
    known = runs(function, facts(function)) if any(_by_elements(op) for op in function.walk()) else None
    names = [value.hint for value in function.params]
    out: dict[Any, dict[str, Any]] = {}
    for op in function.walk():
        array = _array(op)
        if array is None:
            continue
        positions = sorted(dependences.parameters(array))
        row = {"what": op.opcode, "array": " or ".join(names[p] for p in positions), "at": number(chain_of(op.span))}
        values_of = [values[p] for p in positions]
        found = {**row, **_of(op, values_of[0] if len(values_of) == 1 else None, seen, known)}
        out.setdefault(tuple(found.items()), found)
    return list(out.values())


def _copies(op: Op) -> bool:
    """Whether threads start copies into shared memory, each of a part of its own."""
    return isinstance(op, BufferAccess) and any(start.engine.issuer is Issuer.THREAD for start in op.effects().starts)


def _by_tile(op: Op) -> bool:
    """Whether threads access a tile that lies in an array, a part each."""
    return isinstance(op, (Load, Store)) or (_copies(op) and "indices" not in op.fields)


def _by_elements(op: Op) -> bool:
    """Whether they access elements that indices name."""
    return isinstance(op, (Gather, Scatter, Atomic)) or (_copies(op) and "indices" in op.fields)


def _array(op: Any) -> Any:
    """The array in global memory that an op accesses."""
    if _by_tile(op) or _by_elements(op):
        return op.array
    return next((start.memory for start in op.effects().starts if start.space is GLOBAL), None)


def _of(op: Any, value: Any, seen: Seen, known: Runs | None) -> dict[str, Any]:
    if not _by_tile(op) and not _by_elements(op):
        return {"note": "TMA moves boxes of whole rows, not requests of lanes"}
    if _by_tile(op):
        moved, where = _tile(op), _offsets(op, value)
        if where is None:
            return {"note": "the strides are not known: give extents"}
    else:
        moved, where = _elements(op, known), seen.get((op.span, tuple(op.shape)))
        if where is None:
            return {"note": "where it goes depends on indices: give --grid, and the indices as FILE.npy"}
    if moved is None:
        return {"note": "one element"}
    return requests(*where, moved)


def requests(offsets: Any, valid: Any, moved: Moved) -> dict[str, Any]:
    """Requests of all warps of a block for a tile whose elements lie at these offsets in bytes."""
    register, lane, warp = (np.array(span(bases)) for bases in parts(moved.layout))
    lane = lane if len(lane) == 1 << LANE_BITS else np.resize(lane, 1 << LANE_BITS)
    first = register[:: moved.vector]
    flat = warp[:, None, None] ^ first[None, :, None] ^ lane[None, None, :]
    at = np.asarray(offsets).reshape(-1)[flat].reshape(-1, 1 << LANE_BITS)
    here = np.asarray(valid).reshape(-1)[flat].reshape(at.shape)
    touched = np.sort(np.where(here, at // SECTOR_BYTES, -1), axis=1)
    different = np.concatenate([touched[:, :1] >= 0, (np.diff(touched, axis=1) != 0) & (touched[:, 1:] >= 0)], axis=1)
    count = different.sum(axis=1)
    places = np.sort(np.where(here, at, -1), axis=1)
    own = np.concatenate([places[:, :1] >= 0, (np.diff(places, axis=1) != 0) & (places[:, 1:] >= 0)], axis=1)
    least = -(-own.sum(axis=1) * moved.vector * moved.itemsize // SECTOR_BYTES)
    made = count > 0
    number = int(made.sum())
    mean = float(count[made].mean()) if number else 0.0
    return {"bytes": moved.vector * moved.itemsize, "requests": number, "sectors": round(mean, 3),
            "least": round(float(least[made].mean()), 3) if number else 0.0}


def _tile(op: Any) -> Moved | None:
    """How threads move the tile of a load, store or asynchronous copy."""
    tile = op.tile.type if isinstance(op, (Load, Store)) else op.tile
    if tile.layout is None or not tile.shape:
        return None
    access = tile_access(op.array.type, op.order, op.steps, tile.shape)
    vector = min(access.vector, vector_along(tile.layout, access.order[0])) if access.contiguous else 1
    if _copies(op):
        vector = min(access.vector, copy_vector(op.buffer.type.layout, tile.layout, tile.dtype.bytes))
    return Moved(tile.layout, vector, tile.dtype.bytes)


def _elements(op: Any, known: Runs | None) -> Moved | None:
    """The same of a gather, scatter or atomic operation."""
    itemsize = op.array.type.dtype.bytes
    layout = op.tile.layout if _copies(op) else op.indices[0].type.layout if op.indices else None
    if layout is None or not op.shape:
        return None
    if _copies(op):
        return Moved(layout, op.vector, itemsize)
    if isinstance(op, Atomic) or known is None:
        return Moved(layout, 1, itemsize)
    access = gather_access(op.array.type, op.shape, tuple(known[index] for index in op.indices))
    return Moved(layout, min(access.vector, vector_along(layout, access.order[0])), itemsize)


def _offsets(op: Any, value: Any) -> tuple[Any, Any] | None:
    """Offset in bytes of each element of the tile at the array's start, and whether it lies inside; None for an array
    of which strides or extents are not known."""
    shape = op.shape if not isinstance(op, Store) else op.value.type.shape
    found = extents_and_strides(value)
    if found is None or len(found[0]) != len(shape):
        return None
    extents, strides = found
    at, inside = np.zeros(shape, np.int64), np.ones(shape, np.bool_)
    for k, axis in enumerate(op.order):
        along = np.arange(shape[k]).reshape(-1, *(1,) * (len(shape) - 1 - k))
        at = at + along * strides[axis]
        inside = inside & (along < extents[axis])
    return at, inside


def extents_and_strides(value: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Extents, and strides in bytes, of an array or of what is known of one."""
    if isinstance(value, Spec):
        if value.extents is None or None in value.extents:
            return None
        extents = tuple(n for n in value.extents if n is not None)
        steps = value.strides or tuple(int(np.prod(extents[k + 1 :], dtype=np.int64)) for k in range(len(extents)))
        known = tuple(s * value.dtype.bytes for s in steps if s is not None)
        return (extents, known) if len(known) == len(extents) else None
    return (tuple(value.shape), tuple(value.strides)) if isinstance(value, np.ndarray) else None
