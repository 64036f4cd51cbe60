"""Cells of loads and stores of tiles: ranks, orders, padding, bounds, strides, views, over every dtype of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Make, Task, arraywise
from catalogue.cells.kinds import ALL, E2M1, E5M2, E5M3, E8M0, I32, TF32, Kind, sample
from catalogue.cells.model import Array, Batch

import tilewright as ct

Shape = tuple[int, ...]
PAD = ct.PaddingMode
ARRAYS = tuple(k for k in ALL if k not in (TF32, E5M3, E2M1))
"""The dtypes that arrays can have."""

TILES: dict[int, Shape] = {0: (), 1: (8,), 2: (4, 8), 3: (2, 4, 4), 4: (2, 2, 2, 4)}


def extents(tile: Shape, ragged: bool, first: int = 2) -> Shape:
    """An array of `first` tiles along the first axis and one along the others, ending inside tiles if ragged."""
    if not ragged:
        return tuple(n * first if k == 0 else n for k, n in enumerate(tile))
    return tuple(n * first - 1 if k == 0 else n - n // 4 for k, n in enumerate(tile))


def padded(x: Array, shape: Shape, value: Any) -> Array:
    """x in the first corner of an array of `shape`."""
    out = np.full(shape, value).astype(x.dtype)
    out[tuple(slice(n) for n in x.shape)] = x
    return out


def position(rank: int, first: Any) -> Any:
    return (first,) + (0,) * (rank - 1) if rank else ()


def whole(kind: Kind, shape: Shape, out: Shape) -> Make:
    """An array of random values and an empty one."""
    return lambda rng: ((sample(kind, shape, rng),), np.zeros(out, kind.host))


# -- Loads -------------------------------------------------------------------------------------------------------------


def copy_tasks(kind: Kind) -> Iterator[Task]:
    """Tile by tile from one array to another: ranks, ragged and whole, and what hints leave as it is."""
    for rank, tile in TILES.items():
        zeros = (0,) * (rank - 1)
        for ragged in (True, False) if rank else (False,):
            shape = extents(tile, ragged)

            def body(ins, out, tile=tile, zeros=zeros, rank=rank):
                if rank == 0:
                    if ct.bid(0) == 0:
                        ct.store(out, (), ct.load(ins[0], (), ()))
                else:
                    index = (ct.bid(0),) + zeros
                    ct.store(out, index, ct.load(ins[0], index, tile))

            yield Task(("load", "store"), rank, "ragged" if ragged else "whole", whole(kind, shape, shape), body,
                       lambda ins, out: ins[0])
        if rank:
            def unchecked(ins, out, tile=tile, zeros=zeros):
                index = (ct.bid(0),) + zeros
                ct.store(out, index, ct.load(ins[0], index, tile, check_bounds=False), check_bounds=False)

            shape = extents(tile, False)
            yield Task(("load(check_bounds)", "store(check_bounds)"), rank, "whole", whole(kind, shape, shape),
                       unchecked, lambda ins, out: ins[0])

    for order in ("C", "F"):
        def large(ins, out, order=order):
            ct.store(out, (ct.bid(0), 0), ct.load(ins[0], (ct.bid(0), 0), (32, 64), order=order))

        yield Task(("load", "store"), 2, f"many elements, ragged, order {order}",
                   whole(kind, (53, 61) if order == "C" else (61, 53), (53, 61)), large,
                   lambda ins, out, order=order: ins[0] if order == "C" else ins[0].T)

    def hinted(ins, out):
        index = (ct.bid(0), 0)
        ct.store(out, index, ct.load(ins[0], index, (4, 8), latency=3, allow_tma=False), latency=2, allow_tma=True)

    yield Task(("load(latency)", "load(allow_tma)", "store(latency)", "store(allow_tma)"), 2, "ragged",
               whole(kind, (7, 6), (7, 6)), hinted, lambda ins, out: ins[0])

    def empty(ins, out):
        ct.store(out, (ct.bid(0), 0), ct.load(ins[0], (ct.bid(0), 0), (4, 8)))

    yield Task(("load", "store"), 2, "empty", whole(kind, (0, 8), (0, 8)), empty, lambda ins, out: ins[0])

    def one_element(ins, out):
        if ct.bid(0) == 0:
            ct.store(out, (2, 1), ct.load(ins[0], (1, 2), ()))

    yield Task(("load", "store"), 2, "one element", whole(kind, (3, 4), (3, 4)), one_element, _one_element)

    def single_index(ins, out):
        ct.store(out, ct.bid(0), ct.load(ins[0], ct.bid(0), 8))

    yield Task(("load", "store"), 1, "ints for index and shape", whole(kind, (13,), (13,)), single_index,
               lambda ins, out: ins[0])


def _one_element(ins: tuple[Any, ...], out: Array) -> Array:
    out[2, 1] = ins[0][1, 2]
    return out


PADDINGS: dict[str, float] = {"UNDETERMINED": 0.0, "ZERO": 0.0, "NEG_ZERO": -0.0, "NAN": np.nan, "POS_INF": np.inf,
                              "NEG_INF": -np.inf}


def padding_value(kind: Kind, mode: str) -> float | int:
    """What fills the outside: not a number and the infinities are 0 in integers, and what conversion makes of them in
    formats that lack them."""
    value = PADDINGS[mode]
    if not kind.is_float:
        return 0
    from catalogue.cells.kinds import FLOATS
    from catalogue.cells.rounding import to_format

    return value if kind in (*FLOATS, E5M2) else float(to_format(np.array([value]), kind.name)[0])


def padding_tasks(kind: Kind) -> Iterator[Task]:
    """The whole padded tile is stored."""
    for k, mode in enumerate(PADDINGS):
        if kind is E8M0 and mode == "NEG_ZERO":
            continue
        for rank in (1, 2 + k % 3):
            tile = TILES[rank]
            shape = extents(tile, True)
            out = extents(tile, False)

            def body(ins, out, tile=tile, zeros=(0,) * (rank - 1), mode=getattr(PAD, mode)):
                index = (ct.bid(0),) + zeros
                ct.store(out, index, ct.load(ins[0], index, tile, padding_mode=mode))

            yield Task(("load(padding_mode)", f"PaddingMode.{mode}"), rank, f"ragged, padding {mode}",
                       whole(kind, shape, out), body,
                       lambda ins, out, mode=mode: padded(ins[0], out.shape, padding_value(kind, mode)))


ORDERS: tuple[tuple[int, Any], ...] = ((1, "C"), (2, "C"), (3, "C"), (4, "C"), (1, "F"), (2, "F"), (3, "F"), (4, "F"),
                                       (2, (1, 0)), (3, (2, 0, 1)), (3, (0, -1, 1)), (4, (3, 1, 0, 2)))


def axes_of(order: Any, rank: int) -> Shape:
    if order == "C":
        return tuple(range(rank))
    return tuple(reversed(range(rank))) if order == "F" else tuple(a % rank for a in order)


def order_tasks(kind: Kind) -> Iterator[Task]:
    """Load in an order, store plainly, and the other way round."""
    for rank, order in ORDERS:
        tile = TILES[rank]
        seen = extents(tile, True)  # the array as the kernel sees it, its axes in the order
        axes = axes_of(order, rank)
        there = tuple(seen[axes.index(a)] for a in range(rank))

        def load(ins, out, tile=tile, zeros=(0,) * (rank - 1), order=order):
            index = (ct.bid(0),) + zeros
            ct.store(out, index, ct.load(ins[0], index, tile, order=order))

        def store(ins, out, tile=tile, zeros=(0,) * (rank - 1), order=order):
            index = (ct.bid(0),) + zeros
            ct.store(out, index, ct.load(ins[0], index, tile), order=order)

        yield Task(("load(order)",), rank, f"ragged, order {order}", whole(kind, there, seen), load,
                   lambda ins, out, axes=axes: ins[0].transpose(axes))
        yield Task(("store(order)",), rank, f"ragged, order {order}", whole(kind, seen, there), store,
                   lambda ins, out, axes=axes: ins[0].transpose(np.argsort(axes)))


def stride_tasks(kind: Kind) -> Iterator[Task]:
    """Arrays that are views: turned, with gaps, backwards, repeated."""
    views: tuple[tuple[str, Shape, Callable[[Array], Array]], ...] = (
        ("transposed", (6, 7), lambda x: x.T), ("every second row", (14, 6), lambda x: x[::2]),
        ("every third column", (7, 18), lambda x: x[:, ::3]), ("backwards", (7, 6), lambda x: x[::-1, ::-1]),
        ("repeated", (1, 6), lambda x: np.broadcast_to(x, (7, 6))), ("offset", (9, 8), lambda x: x[1:8, 1:7]))
    for name, shape, view in views:
        def body(ins, out):
            ct.store(out, (ct.bid(0), 0), ct.load(ins[0], (ct.bid(0), 0), (4, 8)))

        yield Task(("load", "store"), 2, f"strides: {name}",
                   lambda rng, shape=shape, view=view: ((view(sample(kind, shape, rng)),), np.zeros((7, 6), kind.host)),
                   body, lambda ins, out: np.ascontiguousarray(ins[0]))
    if kind is I32:
        yield from stride_store_tasks(kind)


def stride_store_tasks(kind: Kind) -> Iterator[Task]:
    def body(ins, out):
        ct.store(out, (ct.bid(0), 0), ct.load(ins[0], (ct.bid(0), 0), (4, 8)))

    for name, make in (("transposed", lambda: np.zeros((6, 7), kind.host).T),
                       ("every second row", lambda: np.zeros((14, 6), kind.host)[::2]),
                       ("backwards", lambda: np.zeros((7, 6), kind.host)[::-1, ::-1])):
        yield Task(("store",), 2, f"strides: {name}",
                   lambda rng, make=make: ((sample(kind, (7, 6), rng),), make()), body, lambda ins, out: ins[0])


ORDERINGS: tuple[tuple[str, str], ...] = (("WEAK", "NONE"), ("RELAXED", "BLOCK"), ("RELAXED", "DEVICE"),
                                          ("RELAXED", "SYS"))


def ordered_tasks(kind: Kind) -> Iterator[Task]:
    for load, store, scope in (("WEAK", "WEAK", "NONE"), ("RELAXED", "RELAXED", "BLOCK"),
                               ("RELAXED", "RELAXED", "DEVICE"), ("ACQUIRE", "RELEASE", "DEVICE"),
                               ("ACQUIRE", "RELEASE", "SYS"), ("ACQUIRE", "RELEASE", "BLOCK")):
        orders = tuple(getattr(ct.MemoryOrder, n) for n in (load, store))
        where = getattr(ct.MemoryScope, scope)

        def body(ins, out, orders=orders, where=where):
            t = ct.load(ins[0], (ct.bid(0), 0), (4, 4), memory_order=orders[0], memory_scope=where)
            ct.store(out, (ct.bid(0), 0), t, memory_order=orders[1], memory_scope=where)

        yield Task(("load(memory_order)", "load(memory_scope)", "store(memory_order)", "store(memory_scope)",
                    f"MemoryOrder.{load}", f"MemoryOrder.{store}", f"MemoryScope.{scope}"), 2,
                   f"ragged, {load}, {store}, {scope}", whole(kind, (7, 3), (7, 3)), body, lambda ins, out: ins[0])


# -- Views -------------------------------------------------------------------------------------------------------------


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


def zero(kind: Kind) -> float:
    return padding_value(kind, "ZERO")


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


def batches() -> Iterator[Batch]:
    for kind in ARRAYS:
        yield arraywise(f"copy-{kind}", kind.name, [*copy_tasks(kind), *ordered_tasks(kind)])
        yield arraywise(f"padding-{kind}", kind.name, list(padding_tasks(kind)))
        yield arraywise(f"order-{kind}", kind.name, list(order_tasks(kind)))
        yield arraywise(f"strides-{kind}", kind.name, list(stride_tasks(kind)))
        yield arraywise(f"views-{kind}", kind.name, [*view_tasks(kind), *advanced_tasks(kind)])
