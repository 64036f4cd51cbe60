"""Cells of compare-and-swap."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.atomics import DTYPES, OFFSETS, ORDERS, SCOPES, WHERE, exact
from catalogue.cells.kinds import (
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.positions import EXTENTS, POSITIONS, RESULT, gathered, lanes

import tilewright as ct


def swap_tasks(kind: Kind) -> Iterator[Task]:
    """Compare and swap: half of the expected values are right."""
    for rank, extent in EXTENTS.items():
        order, scope = WHERE[rank]
        shape = RESULT[rank]

        def body(ins, out, rank=rank, shape=shape, zeros=(0,) * len(shape), order=getattr(ORDERS, order),
                 scope=getattr(SCOPES, scope)):
            if ct.bid(0) == 0:
                new = ct.load(ins[0], (0,) + zeros, (1,) + shape).reshape(shape)
                ct.atomic_cas(out, POSITIONS[rank](0), 1, new, memory_order=order, memory_scope=scope)

        yield Task(("atomic_cas", "atomic_cas(memory_order)", "atomic_cas(memory_scope)", f"MemoryOrder.{order}",
                    f"MemoryScope.{scope}"), rank, f"out of bounds, {order}, {scope}" if rank else "whole",
                   lambda rng, e=extent, s=shape: ((exact(kind, (1, *s), rng),),
                                                   rng.integers(0, 2, e).astype(kind.host)), body,
                   lambda ins, out, rank=rank: _swapped(out, rank, ins[0][0]))

    def old(ins, out):
        if ct.bid(0) == 0:
            place = ct.arange(8, dtype=ct.int32) * 2 - 3
            ct.store(out, 0, ct.atomic_cas(ins[1], place, 7, ct.load(ins[0], 0, 8)))

    yield Task(("atomic_cas",), 1, "old values",
               lambda rng: ((exact(kind, (8,), rng), exact(kind, (11,), rng)), np.zeros(8, kind.host)), old,
               lambda ins, out: gathered(ins[1], 1, 0, 7))

    def unchecked(ins, out):
        ct.atomic_cas(out, ct.arange(8, dtype=ct.int32) + 8 * ct.bid(0), ct.load(ins[0], ct.bid(0), 8), 5,
                      check_bounds=False)

    yield Task(("atomic_cas(check_bounds)",), 1, "whole",
               lambda rng: ((rng.integers(0, 2, 16).astype(kind.host),), rng.integers(0, 2, 16).astype(kind.host)),
               unchecked, lambda ins, out: np.where(ins[0] == out, 5, out).astype(kind.host))

    name = "RawArrayMemory.atomic_cas_offset"
    for rank, shape in OFFSETS:
        def raw(ins, out, shape=shape):
            place = ct.arange(8, dtype=ct.int32).reshape(shape) if shape else ct.int32(3)
            t = ct.load(ins[0], ct.bid(0), 8)
            t = t.reshape(shape) if shape else ct.extract(t, (3,), ())
            out.get_raw_memory().atomic_cas_offset(
                place + 8 * ct.bid(0), t, 5, mask=place < 5, memory_order=ct.MemoryOrder.RELAXED,
                memory_scope=ct.MemoryScope.SYS)

        use = np.arange(16) % 8 < 5 if shape else np.arange(16) % 8 == 3
        yield Task((name, f"{name}(mask)", f"{name}(memory_order)", f"{name}(memory_scope)"), rank, "mask",
                   lambda rng: ((rng.integers(0, 2, 16).astype(kind.host),), rng.integers(0, 2, 16).astype(kind.host)),
                   raw, lambda ins, out, use=use: np.where((ins[0] == out) & use, 5, out).astype(kind.host))


def _swapped(out: Array, rank: int, values: Array) -> Array:
    places, inside = lanes(rank, 0)
    for lane in np.argwhere(inside):
        e = tuple(lane)
        place = tuple(int(p[e]) for p in places)
        if out[place] == 1:
            out[place] = values[e]
    return out


def batches() -> Iterator[Batch]:
    for kind in DTYPES["xchg"]:
        yield arraywise(f"atomic-cas-{kind}", kind.name, list(swap_tasks(kind)))
