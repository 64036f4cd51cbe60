"""Cells of loads and stores of tiles: ranks, orders, padding, bounds, strides, over every dtype of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.arraywise import Make, Task, arraywise
from catalogue.cells.kinds import (
    ALL,
    E2M1,
    E5M2,
    E5M3,
    E8M0,
    FLOATS,
    I32,
    TF32,
    Kind,
    sample,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.rounding import to_format
from catalogue.cells.tilewise import Shape

import tilewright as ct

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


def zero(kind: Kind) -> float:
    return padding_value(kind, "ZERO")


def batches() -> Iterator[Batch]:
    for kind in ARRAYS:
        yield arraywise(f"copy-{kind}", kind.name, [*copy_tasks(kind), *ordered_tasks(kind)])
        yield arraywise(f"padding-{kind}", kind.name, list(padding_tasks(kind)))
        yield arraywise(f"order-{kind}", kind.name, list(order_tasks(kind)))
        yield arraywise(f"strides-{kind}", kind.name, list(stride_tasks(kind)))
