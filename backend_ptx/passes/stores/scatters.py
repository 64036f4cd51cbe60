"""Scatters of computed tiles, in vectors: part of `split_stores`.

    before: %c: tile<128x256xbf16, #0> = cast(src=%acc, dtype=bf16)          // #0: four bytes of a row in a thread
            %r: tile<128x256xi32, #0> = broadcast(src=%row, shape=(128, 256))
            scatter(array=%y, indices=(%r, %columns), value=%c, ...)
    after:  %p: tile<128x64xbf16, #1> = extract(src=%c, index=(0, 0), shape=(128, 64))
            shared_store(buffer=%0, value=%p)
            %q: tile<128x64xbf16, #2> = shared_load(buffer=%0, shape=(128, 64))       // 16 bytes each, of more rows
            ...                                                              // and so on, %1 and %0 in turn
            %v: tile<128x256xbf16, #3> = cat(lhs=..., rhs=..., axis=1)       // registers, free
            %s: tile<128x1xi32, #4> = convert_layout(src=%row)
            %t: tile<128x256xi32, #3> = broadcast(src=%s, shape=(128, 256))
            scatter(array=%y, indices=(%t, ...), value=%v, ...)

The tile moves sub-tile by sub-tile, as that of a store does; one op scatters it, since any two elements may go to one
place, and a second op would have to wait for the first. Indices are rematerialised in the layout of the vectors.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.memory import conversion_cost, gather_access
from tilewright.backend_ptx.passes.stores.pieces import Pieces, find_pieces
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.rules import again, moved_for
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.ops.memory import Scatter


class MovedTile(NamedTuple):
    """How a tile moves before it is scattered: its pieces, and the layout of the whole."""

    pieces: Pieces
    layout: Layout


def find_scatters(c: Compilation) -> dict[Scatter, MovedTile]:
    """The scatters that take less time in vectors, what moves before included."""
    out: dict[Scatter, MovedTile] = {}
    for op in c.function.walk():
        if not isinstance(op, Scatter) or not op.shape or c.hints.occupancy not in (None, 1):
            continue
        access = gather_access(op.array.type, op.shape, tuple(c.runs[i] for i in op.indices))
        source, size = op.value.type.layout, access.element_bytes
        pieces = find_pieces(source, access, c.plan.warps) if access.vector > 1 else None
        if pieces is None:
            continue
        layout = transform.extract_source(pieces.target, op.shape)
        moves = [(source, layout, size), *(
            (value.type.layout, wanted, value.type.dtype.bytes)
            for index in _placing(op) for value, wanted in moved_for(index, layout))]
        if access.cost(layout) + sum(conversion_cost(*move) for move in moves) < access.cost(source):
            out[op] = MovedTile(pieces, layout)
    return out


def _placing(op: Scatter) -> list[Value]:
    """The tiles that say where elements go."""
    return [value for value in (*op.indices, op.mask) if value is not None]


def scatter(b: Builder, op: Scatter, value: Value) -> None:
    """Scatter the tile, which has moved."""
    layout = value.type.layout
    placing = {tile: again(b, tile, layout, converted) for tile in _placing(op)}
    b.emit(op.clone({**placing, op.value: value}))
