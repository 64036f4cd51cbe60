"""Cells of views and slices of arrays, and of advanced indexing, over every dtype of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.kinds import (
    Kind,
    sample,
)
from catalogue.cells.loads import ARRAYS, PAD, TILES, extents, padded, whole, zero
from catalogue.cells.model import Array, Batch

import tilewright as ct


def view_tasks(kind: Kind) -> Iterator[Task]:
    for rank in (1, 2, 3, 4):
        tile = TILES[rank]
        shape = extents(tile, True)

        def body(ins, out, tile=tile, zeros=(0,) * (rank - 1)):
            source, target = ins[0].tiled_view(tile), out.tiled_view(tile)
            index = (ct.bid(0),) + zeros
            target.store(index, source.load(index))

        yield Task(("Array.tiled_view", "TiledView.load", "TiledView.store"), rank, "ragged", whole(kind, shape, shape),
                   body, lambda ins, out: ins[0])

    def stepped(ins, out):
        view = ins[0].tiled_view((4, 4), padding_mode=PAD.ZERO, traversal_steps=(3, 2))
        ct.store(out, (ct.bid(0), 0), view.load((ct.bid(0), 1), latency=2, allow_tma=False))

    yield Task(("Array.tiled_view(traversal_steps)", "Array.tiled_view(padding_mode)",
                "TiledView.load(latency)", "TiledView.load(allow_tma)"), 2, "ragged, overlapping steps",
               whole(kind, (6, 5), (8, 4)), stepped,
               lambda ins, out: np.concatenate([padded(ins[0][3 * b: 3 * b + 4, 2:6], (4, 4), zero(kind))
                                                for b in range(2)]))

    def spread(ins, out):
        # One row repeated: the value of a store into a view is broadcast to its tile.
        view = out.tiled_view((4, 8))
        view.store((ct.bid(0), 0), ct.load(ins[0], (0,), (8,)), latency=1, allow_tma=True)

    yield Task(("TiledView.store", "TiledView.store(latency)", "TiledView.store(allow_tma)"), 2,
               "broadcast, ragged", whole(kind, (6,), (7, 6)), spread,
               lambda ins, out: np.broadcast_to(ins[0], (7, 6)))

    def unchecked(ins, out):
        t = ins[0].tiled_view((4, 8)).load((1 - ct.bid(0), 0), check_bounds=False)
        out.tiled_view((4, 8)).store((ct.bid(0), 0), t, check_bounds=False)

    yield Task(("TiledView.load(check_bounds)", "TiledView.store(check_bounds)"), 2, "whole",
               whole(kind, (8, 8), (8, 8)), unchecked, lambda ins, out: np.concatenate([ins[0][4:], ins[0][:4]]))

    def single(ins, out):
        view = ins[0].tiled_view(())
        out.tiled_view(()).store((1 - ct.bid(0), 2), view.load((ct.bid(0), 1)))

    yield Task(("Array.tiled_view", "TiledView.load", "TiledView.store"), 0, "one element",
               whole(kind, (2, 3), (2, 3)), single, _crossed)

    for rank in (1, 2, 3, 4):
        shape = extents(TILES[rank], False)

        def cut(ins, out, tile=TILES[rank], zeros=(0,) * (rank - 1), axis=rank - 1):
            part = ins[0].slice(-1, 1, ins[0].shape[axis])
            index = (ct.bid(0),) + zeros
            ct.store(out, index, ct.load(part, index, tile, padding_mode=PAD.ZERO))

        yield Task(("Array.slice",), rank, "ragged", whole(kind, shape, shape), cut,
                   lambda ins, out: padded(ins[0][..., 1:], out.shape, zero(kind)))

    def sliced(ins, out):
        part = ins[0].slice(0, 1, 6).slice(axis=-1, start=ct.bid(0), stop=5)
        out_part = out.slice(0, 5 * ct.bid(0), 5 * ct.bid(0) + 5)
        ct.store(out_part, (0, 0), ct.load(part, (0, 0), (8, 8), padding_mode=PAD.ZERO))

    yield Task(("Array.slice",), 2, "ragged, run-time bounds", whole(kind, (7, 6), (10, 8)), sliced,
               lambda ins, out: np.concatenate([padded(ins[0][1:6, b:5], (5, 8), zero(kind)) for b in range(2)]))


def _crossed(ins: tuple[Any, ...], out: Array) -> Array:
    out[1, 2], out[0, 2] = ins[0][0, 1], ins[0][1, 1]
    return out


# -- Advanced indexing -------------------------------------------------------------------------------------------------


def advanced_tasks(kind: Kind) -> Iterator[Task]:
    rows = np.array([3, 0, 6, -1, 5, 9, 1, 2], np.int32)
    for rank, axis in ((2, 0), (2, 1), (3, 1), (4, 2)):
        shape = (7,) * 2 if rank == 2 else (7, 7, 6) if rank == 3 else (2, 3, 7, 5)
        lengths = tuple(8 if a == axis else 4 for a in range(rank))

        def load(ins, out, axis=axis, rank=rank, zeros=(0,) * rank):
            sparse = ct.load(ins[1], (0,), (8,))
            indices = tuple(sparse if a == axis else ct.Slice(ct.bid(0) * 1, 4) for a in ct.static_iter(range(rank)))
            t = ct.load_advanced_indexing(ins[0], indices, padding_mode=PAD.ZERO, latency=2, allow_tma=False)
            ct.store(out, (ct.bid(0),) + zeros, ct.expand_dims(t, 0))

        yield Task(("load_advanced_indexing", "Slice", "load_advanced_indexing(padding_mode)",
                    "load_advanced_indexing(latency)", "load_advanced_indexing(allow_tma)"), rank,
                   f"out of bounds, axis {axis}",
                   lambda rng, s=shape, n=lengths: ((sample(kind, s, rng), rows), np.zeros((2, *n), kind.host)), load,
                   lambda ins, out, axis=axis: _taken(ins[0], ins[1], axis, out, kind))

    for rank, axis in ((3, 2), (4, 0)):
        def put(ins, out, axis=axis, rank=rank):
            # One block: the rows are its own.
            if ct.bid(0) == 0:
                sparse = ct.load(ins[1], (0,), (8,))
                indices = tuple(sparse if a == axis else ct.Slice(1, 2) for a in ct.static_iter(range(rank)))
                shape = tuple(8 if a == axis else 2 for a in ct.static_iter(range(rank)))
                index = tuple(0 for _ in ct.static_iter(range(rank)))
                ct.store_advanced_indexing(out, indices, ct.load(ins[0], index, shape))

        lengths = tuple(8 if a == axis else 2 for a in range(rank))
        yield Task(("store_advanced_indexing",), rank, f"out of bounds, axis {axis}",
                   lambda rng, n=lengths, axis=axis: (
                       (sample(kind, n, rng), rows),
                       sample(kind, tuple(7 if a == axis else 2 for a in range(len(n))), rng)), put,
                   lambda ins, out, axis=axis: _put_rows(ins[0], ins[1], axis, out))

    def store(ins, out):
        sparse = ct.load(ins[1], (0,), (8,)) + ct.bid(0)
        ct.store_advanced_indexing(out, (ct.Slice(ct.bid(0) * 4, 4), sparse), ct.load(ins[0], (ct.bid(0), 0), (4, 8)),
                                   latency=1, allow_tma=True)

    yield Task(("store_advanced_indexing", "store_advanced_indexing(latency)", "store_advanced_indexing(allow_tma)"),
               2, "out of bounds",
               lambda rng: ((sample(kind, (8, 8), rng), rows), np.zeros((7, 7), kind.host)), store, _put)


def _taken(x: Array, rows: Array, axis: int, out: Array, kind: Kind) -> Array:
    out[...] = np.array(zero(kind)).astype(out.dtype)
    for b in range(2):
        for e in np.ndindex(*out.shape[1:]):
            place = tuple(int(rows[i]) if a == axis else b + i for a, i in enumerate(e))
            if all(0 <= p < n for p, n in zip(place, x.shape, strict=True)):
                out[(b, *e)] = x[place]
    return out


def _put_rows(x: Array, rows: Array, axis: int, out: Array) -> Array:
    for e in np.ndindex(*x.shape):
        place = tuple(int(rows[i]) if a == axis else 1 + i for a, i in enumerate(e))
        if all(0 <= p < n for p, n in zip(place, out.shape, strict=True)):
            out[place] = x[e]
    return out


def _put(ins: tuple[Any, ...], out: Array) -> Array:
    x, rows = ins
    for b in range(2):
        for i in range(4):
            for j in range(8):
                row, column = 4 * b + i, int(rows[j]) + b
                if row < 7 and 0 <= column < 7:
                    out[row, column] = x[4 * b + i, j]
    return out


def list_tasks(kind: Kind) -> Iterator[Task]:
    """Arrays of lists, of several extents: read and written at run-time positions."""
    for rank in (1, 2, 3, 4):
        tile = TILES[rank]
        shapes = [extents(tile, ragged, first) for ragged, first in ((True, 1), (False, 1), (True, 2))]

        def body(ins, out, tile=tile, zeros=(0,) * rank):
            # The last array but one, or the last.
            t = ct.load(ins[0][ct.bid(0) + len(ins[0]) - 2], zeros, tile, padding_mode=PAD.ZERO)
            ct.store(out, (ct.bid(0),) + zeros, ct.expand_dims(t, 0))

        def want(ins: tuple[Any, ...], out: Array) -> Array:
            for b in range(2):
                x = ins[0][b + 1][tuple(slice(n) for n in out.shape[1:])]
                out[b] = padded(x, out.shape[1:], zero(kind))
            return out

        yield Task(("list argument", "list len", "list index"), rank, "ragged, run-time index",
                   lambda rng, shapes=shapes, tile=tile: (
                       ([sample(kind, s, rng) for s in shapes],), np.zeros((2, *tile), kind.host)), body, want)


def batches() -> Iterator[Batch]:
    for kind in ARRAYS:
        yield arraywise(f"lists-{kind}", kind.name, list(list_tasks(kind)))
        yield arraywise(f"views-{kind}", kind.name, [*view_tasks(kind), *advanced_tasks(kind)])
