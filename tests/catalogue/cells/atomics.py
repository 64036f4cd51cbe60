"""Cells of atomic updates: every operation, dtype, rank, order and scope; collisions, old values, views, offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.kinds import (
    BF16,
    F16,
    F32,
    F64,
    KINDS,
    Kind,
    sample,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.positions import EXTENTS, POSITIONS, RESULT, gathered, lanes
from catalogue.cells.tilewise import Shape

import tilewright as ct

ORDERS = ct.MemoryOrder
SCOPES = ct.MemoryScope

WORDS = tuple(KINDS[n] for n in ("int32", "int64", "uint32", "uint64"))
NUMBERS = (*WORDS, F32, F64, F16, BF16)
DTYPES: dict[str, tuple[Kind, ...]] = {
    "xchg": (*WORDS, F32, F64), "add": NUMBERS, "max": NUMBERS, "min": NUMBERS, "and": WORDS,
    "or": WORDS, "xor": WORDS,
}
UFUNC: dict[str, Any] = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
                         "or": np.bitwise_or, "xor": np.bitwise_xor}
WHERE: tuple[tuple[str, str], ...] = (("RELAXED", "DEVICE"), ("ACQUIRE", "DEVICE"), ("RELEASE", "SYS"),
                                      ("ACQ_REL", "SYS"), ("RELAXED", "BLOCK"))


def exact(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Values whose sums are exact in every order."""
    return rng.integers(-8, 9, shape).astype(kind.host) if kind.is_float else sample(kind, shape, rng)


def drawn(word: str, kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Floats that are compared may be anything."""
    return (sample if word in ("max", "min") else exact)(kind, shape, rng)


def before(x: Array, y: Array) -> Array:
    """Whether a float is before another one: -0.0 before 0.0, NaNs beyond infinity by their sign."""
    nans = [np.where(np.isnan(v), 1 - 2 * np.signbit(v).astype(int), 0) for v in (x, y)]
    signed = np.signbit(x) & ~np.signbit(y)
    return (nans[0] < nans[1]) | ((nans[0] == nans[1]) & ((x < y) | ((x == y) & signed)))


def extreme(word: str, old: Array, new: Array) -> Array:
    """The maximum or minimum; of floats a new NaN changes nothing."""
    if old.dtype.kind in "iu":
        return UFUNC[word](old, new)
    one, other = old.astype(np.float64), new.astype(np.float64)
    wins = before(one, other) if word == "max" else before(other, one)
    return np.where(wins & ~np.isnan(other), new, old).astype(old.dtype)


def combined(word: str, old: Array, new: Array) -> Array:
    with np.errstate(all="ignore"):
        return extreme(word, old, new) if word in ("max", "min") else UFUNC[word](old, new)


def update(kind: str, old: Array, places: tuple[Array, ...], use: Array, values: Array) -> Array:
    values = np.broadcast_to(values, use.shape)
    for lane in np.argwhere(use):
        e = tuple(lane)
        place = tuple(int(p[e]) for p in places)
        old[place] = values[e] if kind == "xchg" else combined(kind, old[place], values[e])
    return old


def atomic_tasks(word: str, kind: Kind) -> Iterator[Task]:
    """Blocks after each other update the same elements; only exchanges need places of their own."""
    op = getattr(ct, f"atomic_{word}")
    name = f"atomic_{word}"
    only_first = word == "xchg"
    for rank, extent in EXTENTS.items():
        order, scope = WHERE[rank]
        shape = RESULT[rank]

        def body(ins, out, rank=rank, shape=shape, zeros=(0,) * len(shape), order=getattr(ORDERS, order),
                 scope=getattr(SCOPES, scope)):
            b = ct.bid(0)
            if b == 0 or not only_first:
                t = ct.load(ins[0], (b,) + zeros, (1,) + shape).reshape(shape)
                op(out, POSITIONS[rank](b), t, memory_order=order, memory_scope=scope)

        yield Task((name, f"{name}(memory_order)", f"{name}(memory_scope)", f"MemoryOrder.{order}",
                    f"MemoryScope.{scope}"), rank, f"out of bounds, {order}, {scope}" if rank else "whole",
                   lambda rng, e=extent, s=shape: ((drawn(word, kind, (2, *s), rng),), drawn(word, kind, e, rng)), body,
                   lambda ins, out, rank=rank: _updated(word, out, rank, ins[0], 1 if only_first else 2))

    def collide(ins, out):
        # All elements of the tile meet in two places.
        op(out, ct.arange(16, dtype=ct.int32) % 2, ct.load(ins[0], ct.bid(0), 16), check_bounds=False)

    if not only_first:
        yield Task((name, f"{name}(check_bounds)"), 1, "collisions",
                   lambda rng: ((drawn(word, kind, (32,), rng),), drawn(word, kind, (2,), rng)), collide,
                   lambda ins, out: _collided(word, out, ins[0]))

    else:
        def apart(ins, out):
            op(out, ct.arange(16, dtype=ct.int32) + 16 * ct.bid(0), ct.load(ins[0], ct.bid(0), 16), check_bounds=False)

        yield Task((name, f"{name}(check_bounds)"), 1, "whole",
                   lambda rng: ((drawn(word, kind, (32,), rng),), drawn(word, kind, (32,), rng)), apart,
                   lambda ins, out: ins[0])

    def old(ins, out):
        if ct.bid(0) == 0:
            place = ct.arange(8, dtype=ct.int32) * 2 - 3
            ct.store(out, 0, op(ins[1], place, ct.load(ins[0], 0, 8)))

    yield Task((name,), 1, "old values",
               lambda rng: ((drawn(word, kind, (8,), rng), drawn(word, kind, (11,), rng)), np.zeros(8, kind.host)), old,
               lambda ins, out: gathered(ins[1], 1, 0, 0), ignore=lambda ins, out: ~lanes(1, 0)[1])
    yield from offset_tasks(word, kind)
    if word != "xchg":
        yield from view_tasks(word, kind)


def _updated(word: str, out: Array, rank: int, values: Array, blocks: int) -> Array:
    for b in range(blocks):
        places, inside = lanes(rank, b)
        update(word, out, places, inside, values[b])
    return out


def _collided(word: str, out: Array, values: Array) -> Array:
    return update(word, out, (np.arange(32) % 2,), np.ones(32, bool), values)


OFFSETS: tuple[tuple[int, Shape], ...] = ((0, ()), (1, (8,)), (2, (2, 4)), (3, (2, 1, 4)), (4, (2, 2, 1, 2)))


def offset_tasks(word: str, kind: Kind) -> Iterator[Task]:
    """Offsets of every shape; the last two of eight are masked."""
    name = f"RawArrayMemory.atomic_{word}_offset"
    apart = 8 if word == "xchg" else 0
    for rank, shape in OFFSETS:
        def body(ins, out, shape=shape):
            place = ct.arange(8, dtype=ct.int32).reshape(shape) if shape else ct.int32(3)
            raw, t = out.get_raw_memory(), ct.load(ins[0], ct.bid(0), 8)
            t = t.reshape(shape) if shape else ct.extract(t, (3,), ())
            order, scope, mask = ct.MemoryOrder.RELAXED, ct.MemoryScope.SYS, place < 6
            place = place + apart * ct.bid(0)
            if ct.static_eval(word == "xchg"):
                raw.atomic_xchg_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            elif ct.static_eval(word == "add"):
                raw.atomic_add_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            elif ct.static_eval(word == "max"):
                raw.atomic_max_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            elif ct.static_eval(word == "min"):
                raw.atomic_min_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            elif ct.static_eval(word == "and"):
                raw.atomic_and_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            elif ct.static_eval(word == "or"):
                raw.atomic_or_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)
            else:
                raw.atomic_xor_offset(place, t, mask=mask, memory_order=order, memory_scope=scope)

        def want(ins: tuple[Any, ...], out: Array, shape: Shape = shape) -> Array:
            for b in range(2):
                use = np.arange(8) < 6 if shape else np.arange(8) == 3
                update(word, out, (np.arange(8) + apart * b,), use, ins[0][8 * b: 8 * b + 8])
            return out

        yield Task((name, f"{name}(mask)", f"{name}(memory_order)", f"{name}(memory_scope)"), rank, "mask",
                   lambda rng: ((drawn(word, kind, (16,), rng),), drawn(word, kind, (16,), rng)), body, want)


def view_tasks(word: str, kind: Kind) -> Iterator[Task]:
    """Both blocks update the second tile of a view, with values that are broadcast to it."""
    for rank, tile in ((0, ()), (1, (8,)), (2, (4, 8)), (3, (2, 4, 4)), (4, (2, 2, 2, 4))):
        extent = tuple(2 * n - 1 if k == 0 else n - n // 4 for k, n in enumerate(tile)) or (2,)

        def body(ins, out, tile=tile, last=tile[-1:], index=(1,) + (0,) * (rank - 1)):
            view = out.tiled_view(tile)
            t = ct.load(ins[0], (ct.bid(0),), last)
            if ct.static_eval(word == "add"):
                view.atomic_store_add(index, t)
            elif ct.static_eval(word == "max"):
                view.atomic_store_max(index, t)
            elif ct.static_eval(word == "min"):
                view.atomic_store_min(index, t)
            elif ct.static_eval(word == "and"):
                view.atomic_store_and(index, t)
            elif ct.static_eval(word == "or"):
                view.atomic_store_or(index, t)
            else:
                view.atomic_store_xor(index, t)

        def want(ins: tuple[Any, ...], out: Array, tile: Shape = tile) -> Array:
            first, last = tile[0] if tile else 1, tile[-1] if tile else 1
            part = out[first:]
            for b in range(2):
                part[...] = combined(word, part, ins[0][last * b: last * b + part.shape[-1]])
            return out

        last = tile[-1] if tile else 1
        yield Task((f"TiledView.atomic_store_{word}",), rank, "broadcast, ragged" if rank else "one element",
                   lambda rng, e=extent, n=last: ((drawn(word, kind, (2 * n,), rng),), drawn(word, kind, e, rng)),
                   body, want)


def batches() -> Iterator[Batch]:
    for word, kinds in DTYPES.items():
        for kind in kinds:
            yield arraywise(f"atomic-{word}-{kind}", kind.name, list(atomic_tasks(word, kind)))
