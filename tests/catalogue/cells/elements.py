"""Cells of accesses element by element: gather, scatter, raw memory, atomics, over dtypes, ranks and orders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.kinds import BF16, F16, F32, F64, INTS, KINDS, Kind, sample
from catalogue.cells.memory import ARRAYS, zero
from catalogue.cells.model import Array, Batch

import tilewright as ct

Shape = tuple[int, ...]
ORDERS = ct.MemoryOrder
SCOPES = ct.MemoryScope

# The arrays that are read and written element by element, one for each rank.
EXTENTS: dict[int, Shape] = {0: (), 1: (11,), 2: (5, 7), 3: (3, 5, 4), 4: (2, 3, 3, 4)}


# The positions that the element accesses of a rank use, as code of kernels: some are outside on either side.
def positions_0(b):
    return ()


def positions_1(b):
    return (ct.arange(8, dtype=ct.int32) * 2 - 3 + 7 * b,)


def positions_2(b):
    return (ct.arange(4, dtype=ct.int32)[:, None] * 2 - 1 + b, ct.arange(4, dtype=ct.int32)[None, :] * 3 - 1)


def positions_3(b):
    return (ct.arange(4, dtype=ct.int32)[:, None], ct.arange(8, dtype=ct.int32) - 1, b * 2)


def positions_4(b):
    i = ct.arange(2, dtype=ct.int32)
    return (i[:, None, None, None], i[:, None, None] + b, i[:, None] * 2, ct.arange(4, dtype=ct.int32) + 1)


POSITIONS = (positions_0, positions_1, positions_2, positions_3, positions_4)


def numpy_positions(rank: int, b: int) -> tuple[Any, ...]:
    """The same in NumPy."""
    a, i = np.arange, np.arange(2)
    return ((), (a(8) * 2 - 3 + 7 * b,), (a(4)[:, None] * 2 - 1 + b, a(4)[None, :] * 3 - 1),
            (a(4)[:, None], a(8) - 1, np.array(b * 2)),
            (i[:, None, None, None], i[:, None, None] + b, i[:, None] * 2, a(4) + 1))[rank]


def lanes(rank: int, b: int) -> tuple[tuple[Array, ...], Array]:
    """Positions broadcast together, and which are inside."""
    places = np.broadcast_arrays(*numpy_positions(rank, b)) if rank else ()
    inside = np.ones(places[0].shape if rank else (), bool)
    for place, extent in zip(places, EXTENTS[rank], strict=True):
        inside &= (place >= 0) & (place < extent)
    return tuple(places), inside


def gathered(x: Array, rank: int, b: int, padding: Any, mask: Any = True) -> Array:
    places, inside = lanes(rank, b)
    use = inside & mask
    out = np.full(inside.shape, padding).astype(x.dtype)
    out[use] = x[tuple(p[use] for p in places)]
    return out


RESULT: dict[int, Shape] = {rank: lanes(rank, 0)[1].shape for rank in EXTENTS}


# -- gather and scatter ------------------------------------------------------------------------------------------------


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


# -- Raw memory --------------------------------------------------------------------------------------------------------


def raw_tasks(kind: Kind) -> Iterator[Task]:
    def copy(ins, out):
        place = ct.arange(16, dtype=ct.int32)
        t = ins[0].get_raw_memory().load_offset(place + 16 * ct.bid(0), latency=1)
        out.get_raw_memory().store_offset(place + 16 * ct.bid(0), t, latency=1)

    yield Task(("Array.get_raw_memory", "RawArrayMemory.load_offset", "RawArrayMemory.store_offset",
                "RawArrayMemory.load_offset(latency)", "RawArrayMemory.store_offset(latency)"), 1, "whole",
               lambda rng: ((sample(kind, (4, 8), rng),), np.zeros((4, 8), kind.host)), copy, lambda ins, out: ins[0])

    for rank, shape in ((2, (4, 8)), (3, (2, 4, 4)), (4, (2, 2, 2, 4))):
        def shaped(ins, out, shape=shape):
            place = ct.arange(32, dtype=ct.int32).reshape(shape) + 32 * ct.bid(0)
            out.get_raw_memory().store_offset(place, ins[0].get_raw_memory().load_offset(place))

        yield Task(("RawArrayMemory.load_offset", "RawArrayMemory.store_offset", "Array.get_raw_memory"), rank, "whole",
                   lambda rng, s=shape: ((sample(kind, (2, *s), rng),), np.zeros((2, *s), kind.host)), shaped,
                   lambda ins, out: ins[0])

    def masked(ins, out):
        place = ct.arange(4, dtype=ct.int64)[:, None] * 8 + ct.arange(8, dtype=ct.int64)
        t = ins[0].get_raw_memory().load_offset(place, mask=place < 21, padding_value=1)
        if ct.bid(0) == 0:
            out.get_raw_memory().store_offset(place, t, mask=place < 30)

    yield Task(("RawArrayMemory.load_offset(mask)", "RawArrayMemory.load_offset(padding_value)",
                "RawArrayMemory.store_offset(mask)"), 2, "mask, ragged",
               lambda rng: ((sample(kind, (21,), rng),), np.zeros(30, kind.host)), masked,
               lambda ins, out: _padded_raw(ins[0], out, kind))

    def scalar(ins, out):
        t = ins[0].get_raw_memory().load_offset(3 + ct.bid(0), mask=ct.bid(0) == 0, padding_value=None)
        out.get_raw_memory().store_offset(ct.bid(0), t, mask=ct.bid(0) < 1)

    yield Task(("RawArrayMemory.load_offset", "RawArrayMemory.store_offset"), 0, "one element",
               lambda rng: ((sample(kind, (5,), rng),), np.zeros(2, kind.host)), scalar, _first_raw)


def _padded_raw(x: Array, out: Array, kind: Kind) -> Array:
    out[:] = np.array(1).astype(kind.host)
    out[:21] = x
    return out


def _first_raw(ins: tuple[Any, ...], out: Array) -> Array:
    out[0] = ins[0][3]
    return out


# -- Atomics -----------------------------------------------------------------------------------------------------------

WORDS = tuple(KINDS[n] for n in ("int32", "int64", "uint32", "uint64"))
DTYPES: dict[str, tuple[Kind, ...]] = {
    "xchg": (*WORDS, F32, F64), "add": (*WORDS, F32, F64, F16, BF16), "max": WORDS, "min": WORDS, "and": WORDS,
    "or": WORDS, "xor": WORDS,
}
UFUNC: dict[str, Any] = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
                         "or": np.bitwise_or, "xor": np.bitwise_xor}
WHERE: tuple[tuple[str, str], ...] = (("RELAXED", "DEVICE"), ("ACQUIRE", "DEVICE"), ("RELEASE", "SYS"),
                                      ("ACQ_REL", "SYS"), ("RELAXED", "BLOCK"))


def exact(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Values whose sums are exact in every order."""
    return rng.integers(-8, 9, shape).astype(kind.host) if kind.is_float else sample(kind, shape, rng)


def update(kind: str, old: Array, places: tuple[Array, ...], use: Array, values: Array) -> Array:
    values = np.broadcast_to(values, use.shape)
    for lane in np.argwhere(use):
        e = tuple(lane)
        place = tuple(int(p[e]) for p in places)
        with np.errstate(all="ignore"):
            old[place] = values[e] if kind == "xchg" else UFUNC[kind](old[place], values[e])
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
                   lambda rng, e=extent, s=shape: ((exact(kind, (2, *s), rng),), exact(kind, e, rng)), body,
                   lambda ins, out, rank=rank: _updated(word, out, rank, ins[0], 1 if only_first else 2))

    def collide(ins, out):
        # All elements of the tile meet in two places.
        op(out, ct.arange(16, dtype=ct.int32) % 2, ct.load(ins[0], ct.bid(0), 16), check_bounds=False)

    if not only_first:
        yield Task((name, f"{name}(check_bounds)"), 1, "collisions",
                   lambda rng: ((exact(kind, (32,), rng),), exact(kind, (2,), rng)), collide,
                   lambda ins, out: _collided(word, out, ins[0]))

    else:
        def apart(ins, out):
            op(out, ct.arange(16, dtype=ct.int32) + 16 * ct.bid(0), ct.load(ins[0], ct.bid(0), 16), check_bounds=False)

        yield Task((name, f"{name}(check_bounds)"), 1, "whole",
                   lambda rng: ((exact(kind, (32,), rng),), exact(kind, (32,), rng)), apart, lambda ins, out: ins[0])

    def old(ins, out):
        if ct.bid(0) == 0:
            place = ct.arange(8, dtype=ct.int32) * 2 - 3
            ct.store(out, 0, op(ins[1], place, ct.load(ins[0], 0, 8)))

    yield Task((name,), 1, "old values",
               lambda rng: ((exact(kind, (8,), rng), exact(kind, (11,), rng)), np.zeros(8, kind.host)), old,
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
                   lambda rng: ((exact(kind, (16,), rng),), exact(kind, (16,), rng)), body, want)


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
                with np.errstate(all="ignore"):
                    part[...] = UFUNC[word](part, ins[0][last * b: last * b + part.shape[-1]])
            return out

        last = tile[-1] if tile else 1
        yield Task((f"TiledView.atomic_store_{word}",), rank, "broadcast, ragged" if rank else "one element",
                   lambda rng, e=extent, n=last: ((exact(kind, (2 * n,), rng),), exact(kind, e, rng)), body, want)


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
    for kind in ARRAYS:
        yield arraywise(f"gather-{kind}", kind.name, list(gather_tasks(kind)))
        yield arraywise(f"scatter-{kind}", kind.name, list(scatter_tasks(kind)))
        yield arraywise(f"raw-{kind}", kind.name, list(raw_tasks(kind)))
    for name, tasks in index_tasks():
        yield arraywise(f"index-{name}", f"{name} as index", tasks)
    for word, kinds in DTYPES.items():
        for kind in kinds:
            yield arraywise(f"atomic-{word}-{kind}", kind.name, list(atomic_tasks(word, kind)))
    for kind in DTYPES["xchg"]:
        yield arraywise(f"atomic-cas-{kind}", kind.name, list(swap_tasks(kind)))
