"""Cells of gather and scatter: ranks, masks, padding, indices of every integer dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.kinds import (
    INTS,
    KINDS,
    Kind,
    sample,
)
from catalogue.cells.loads import ARRAYS, zero
from catalogue.cells.model import Array, Batch
from catalogue.cells.positions import EXTENTS, POSITIONS, RESULT, gathered, lanes

import tilewright as ct


def gather_tasks(kind: Kind) -> Iterator[Task]:
    for rank, extent in EXTENTS.items():
        shape = RESULT[rank]

        def body(ins, out, rank=rank, zeros=(0,) * len(shape)):
            t = ct.gather(ins[0], POSITIONS[rank](ct.bid(0)))
            ct.store(out, (ct.bid(0),) + zeros, ct.expand_dims(t, 0))

        yield Task(("gather",), rank, "out of bounds" if rank else "whole",
                   lambda rng, e=extent, s=shape: ((sample(kind, e, rng),), np.zeros((2, *s), kind.host)), body,
                   lambda ins, out, rank=rank: np.stack([gathered(ins[0], rank, b, zero(kind)) for b in range(2)]))

    def masked(ins, out):
        place = ct.arange(8, dtype=ct.int32)
        t = ct.gather(ins[0], place * 2 - 3 + 7 * ct.bid(0), mask=place % 3 > 0, padding_value=ct.load(ins[1], 0, 8),
                      latency=2)
        ct.store(out, (ct.bid(0), 0), t[None])

    yield Task(("gather(mask)", "gather(padding_value)", "gather(latency)"), 1, "mask, out of bounds",
               lambda rng: ((sample(kind, (11,), rng), sample(kind, (8,), rng)), np.zeros((2, 8), kind.host)), masked,
               lambda ins, out: np.stack([np.where(
                   (np.arange(8) % 3 > 0) & lanes(1, b)[1], gathered(ins[0], 1, b, zero(kind)), ins[1])
                   for b in range(2)]).astype(kind.host))

    def inside(ins, out):
        place = ct.arange(4, dtype=ct.int32)
        t = ct.gather(ins[0], (ct.bid(0), place[None, :]), check_bounds=False)
        ct.store(out, (ct.bid(0), 0), t)

    yield Task(("gather(check_bounds)",), 2, "whole",
               lambda rng: ((sample(kind, (5, 7), rng),), np.zeros((2, 4), kind.host)), inside,
               lambda ins, out: ins[0][:2, :4])


def scatter_tasks(kind: Kind) -> Iterator[Task]:
    for rank, extent in EXTENTS.items():
        shape = RESULT[rank]

        def body(ins, out, rank=rank, shape=shape, zeros=(0,) * len(shape)):
            # One block: the positions of two overlap.
            if ct.bid(0) == 0:
                t = ct.load(ins[0], (0,) + zeros, (1,) + shape).reshape(shape)
                ct.scatter(out, POSITIONS[rank](0), t)

        yield Task(("scatter",), rank, "out of bounds" if rank else "whole",
                   lambda rng, e=extent, s=shape: ((sample(kind, (1, *s), rng),), sample(kind, e, rng)), body,
                   lambda ins, out, rank=rank: _scattered(out, rank, ins[0][0]))

    def masked(ins, out):
        if ct.bid(0) == 0:
            place = ct.arange(8, dtype=ct.int32)
            ct.scatter(out, place * 2 - 3, ct.load(ins[0], (1,), ()), mask=place != 4, latency=1)

    yield Task(("scatter(mask)", "scatter(latency)"), 1, "mask, broadcast, out of bounds",
               lambda rng: ((sample(kind, (2,), rng),), sample(kind, (11,), rng)), masked,
               lambda ins, out: _scattered(out, 1, np.full(8, ins[0][1]), np.arange(8) != 4))

    def inside(ins, out):
        ct.scatter(out, (ct.arange(4, dtype=ct.int32)[:, None], ct.bid(0) + ct.zeros((1, 1), ct.int32)),
                   ct.load(ins[0], (0, ct.bid(0)), (4, 1)), check_bounds=False)

    yield Task(("scatter(check_bounds)",), 2, "whole",
               lambda rng: ((sample(kind, (4, 2), rng),), np.zeros((5, 7), kind.host)), inside,
               lambda ins, out: _columns(ins[0], out))


def _columns(x: Array, out: Array) -> Array:
    out[:4, :2] = x
    return out


def _scattered(out: Array, rank: int, values: Array, mask: Any = True) -> Array:
    places, inside = lanes(rank, 0)
    use = inside & mask
    if rank == 0:
        out[()] = values
    else:
        out[tuple(p[use] for p in places)] = values[use]
    return out


def index_tasks() -> Iterator[tuple[str, list[Task]]]:
    """Indices of every integer dtype."""
    for index in INTS:
        def gather(ins, out, dtype=index.dtype):
            ct.store(out, (ct.bid(0), 0), ct.gather(ins[0], ct.load(ins[1], 0, 8) + ct.astype(ct.bid(0), dtype))[None])

        def scatter(ins, out):
            if ct.bid(0) == 0:
                ct.scatter(out, ct.load(ins[1], 0, 8), ct.load(ins[0], 0, 8))

        wrong = [-1, 40] if index.dtype.is_signed else [100, 40]
        places = np.array([3, 0, *wrong, 7, 10, 12, 5]).astype(index.host)

        def taken(ins: tuple[Any, ...], out: Array) -> Array:
            for b in range(2):
                for k, p in enumerate(ins[1]):
                    out[b, k] = ins[0][int(p) + b] if 0 <= int(p) + b < 13 else 0
            return out

        def put(ins: tuple[Any, ...], out: Array) -> Array:
            for k, p in enumerate(ins[1]):
                if 0 <= int(p) < 13:
                    out[int(p)] = ins[0][k]
            return out

        f32 = KINDS["float32"]
        yield index.name, [
            Task(("gather",), 1, "index dtype",
                 lambda rng, p=places: ((sample(f32, (13,), rng), p), np.zeros((2, 8), np.float32)), gather, taken),
            Task(("scatter",), 1, "index dtype",
                 lambda rng, p=places: ((sample(f32, (8,), rng), p), np.zeros(13, np.float32)), scatter, put)]


def batches() -> Iterator[Batch]:
    for kind in ARRAYS:
        yield arraywise(f"gather-{kind}", kind.name, list(gather_tasks(kind)))
        yield arraywise(f"scatter-{kind}", kind.name, list(scatter_tasks(kind)))
    for name, tasks in index_tasks():
        yield arraywise(f"index-{name}", f"{name} as index", tasks)
