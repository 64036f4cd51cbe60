"""Cells of members of tiles, arrays and views, of the index space, and of arguments that are no arrays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from catalogue.cells.arraywise import Task, arraywise
from catalogue.cells.features import Feature, feature_batches, registering
from catalogue.cells.model import Batch

import tilewright as ct

FEATURES: list[Feature] = []
feature = registering(FEATURES)


@feature("Tile.dtype", "Tile.shape", "Tile.ndim", like=lambda b, t: t + 4 + 1 + 1)
def tile_members(b, t):
    typed = (3).dtype == ct.int32  # type: ignore[attr-defined]  # numbers of a kernel have one
    return t + t.shape[0] + t.ndim + (1 if t.dtype == ct.int32 and typed else 0)


@feature("bid", "num_blocks", like=lambda b, t: t + b + 2 * 10 + 1 + 1)
def index_space(b, t):
    return t + ct.bid(0) + ct.num_blocks(0) * 10 + ct.num_blocks(1) + ct.num_blocks(2) + ct.bid(1) + ct.bid(2)


@feature("assume_divisible_by", like=lambda b, t: t + 16 * b)
def assumption(b, t):
    return t + ct.assume_divisible_by(b * 16, 8)


@feature("grid_dependency_control_wait", "grid_dependency_control_launch_dependents", like=lambda b, t: t)
def dependent_launch(b, t):
    ct.grid_dependency_control_wait()
    ct.grid_dependency_control_launch_dependents()
    return t


@feature("operator @", "Tile.reshape", like=lambda b, t: np.full(4, (t * t).sum(), np.int32))
def scalar_result(b, t):
    x = t.astype(ct.float32).reshape((1, 4))
    return ct.full((4,), (x @ x.reshape((4, 1))).item(), ct.int32)


def array_tasks() -> Iterator[Task]:
    """Members of arrays, views and lists; arguments that are no arrays."""

    def members(ins, out):
        x = ins[0]
        n = x.shape[0] * 1000 + x.shape[1] * 100 + x.strides[0] * 10 + x.strides[1] + x.ndim
        if x.dtype == ct.float32 and ct.bid(0) == 0:
            ct.store(out, (0,), n)

    yield Task(("Array.dtype", "Array.ndim", "Array.shape", "Array.strides"), 0, "whole",
               lambda rng: ((np.zeros((3, 5), np.float32),), np.zeros(1, np.int32)), members,
               lambda ins, out: np.array([3000 + 500 + 50 + 1 + 2], np.int32))

    def view_members(ins, out):
        view = ins[0].tiled_view((4, 8), traversal_steps=(3, 8))
        n = view.tile_shape[1] * 1000 + view.traversal_steps[0] * 100 + view.num_tiles(0) * 10 + view.num_tiles(-1)
        if view.dtype == ct.float32 and ins[0].get_raw_memory().dtype == ct.float32:
            ct.store(out, (ct.bid(0),), n + ct.bid(0))

    yield Task(("TiledView.dtype", "TiledView.tile_shape", "TiledView.traversal_steps", "TiledView.num_tiles",
                "RawArrayMemory.dtype"), 0, "ragged",
               lambda rng: ((np.zeros((10, 17), np.float32),), np.zeros(2, np.int32)), view_members,
               lambda ins, out: np.array([8000 + 300 + 43, 8000 + 300 + 44], np.int32))

    def tiles(ins, out):
        x = ins[0]
        n = ct.num_tiles(x, 0, (4, 8)) * 100 + ct.num_tiles(x, axis=-1, shape=(4, 8)) * 10
        ct.store(out, (ct.bid(0),), n + ct.num_tiles(x, 0, (8, 4), order="F"))

    yield Task(("num_tiles", "num_tiles(order)"), 0, "ragged",
               lambda rng: ((np.zeros((10, 17), np.float32),), np.zeros(2, np.int32)), tiles,
               lambda ins, out: np.full(2, 300 + 30 + 3, np.int32))

    def lists(ins, out):
        items = ins[0]
        total = 0
        for i in range(len(items)):
            total += items[i].shape[0] * (i + 1)
        t = ct.load(items[ct.bid(0) + 1], (0,), (4,))
        ct.store(out, (ct.bid(0), 0), (t + total + ct.load(items[0], (2,), ()))[None])

    yield Task(("list argument", "list len", "list index"), 1, "whole",
               lambda rng: (([rng.integers(0, 9, n).astype(np.int32) for n in (5, 4, 7)],), np.zeros((2, 4), np.int32)),
               lists, lambda ins, out: np.stack([ins[0][b + 1][:4] + 5 + 8 + 21 + ins[0][0][2] for b in range(2)]))

    def scalars(ins, out):
        whole, fraction, flag, nested = ins
        x = whole * 2 + nested[0] if flag else whole
        ct.store(out, (ct.bid(0),), ct.astype(x, ct.float32) + fraction + nested[1][0])

    yield Task(("int argument", "float argument", "bool argument", "tuple argument"), 0, "whole",
               lambda rng: ((7, 0.5, True, (3, (0.25,))), np.zeros(2, np.float32)), scalars,
               lambda ins, out: np.full(2, 17.75, np.float32))


def batches() -> Iterator[Batch]:
    yield from feature_batches(FEATURES)
    yield arraywise("feature-members", "float32", list(array_tasks()))
