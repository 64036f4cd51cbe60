"""Changes of shape. A leading axis over blocks, where there is one, stays in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering, impl
from tilewright.tileir.ops import shape

Array = Any
Fn = Callable[..., Any]


@impl(shape.Iota)
def iota(op: shape.Iota, low: Lowering) -> Fn:
    tile = np.arange(op.size).astype(format_of(op.dtype).held)
    return lambda: tile


@impl(shape.Broadcast)
def broadcast(op: shape.Broadcast, low: Lowering) -> Fn:
    target = tuple(op.shape)
    if not low.varies(op.src):
        return lambda x: np.broadcast_to(x, target)
    if op.src.type.shape:
        return lambda x: np.broadcast_to(x, (len(x), *target))
    ones = (1,) * len(target)
    return lambda x: np.broadcast_to(x.reshape(-1, *ones), (len(x), *target))


@impl(shape.Reshape)
def reshape(op: shape.Reshape, low: Lowering) -> Fn:
    target = tuple(op.shape)
    if low.varies(op.src):
        return lambda x: x.reshape(len(x), *target)
    return lambda x: np.reshape(x, target)


@impl(shape.Permute)
def permute(op: shape.Permute, low: Lowering) -> Fn:
    axes = (0, *(a + 1 for a in op.axes)) if low.varies(op.src) else tuple(op.axes)
    return lambda x: x.transpose(axes)


@impl(shape.Cat)
def cat(op: shape.Cat, low: Lowering) -> Fn:
    left, right = low.varies(op.lhs), low.varies(op.rhs)
    varies = left or right
    axis = op.axis + varies

    def closure(a: Array, b: Array) -> Array:
        if left != right:
            count = len(a) if left else len(b)
            a, b = (x if v else np.broadcast_to(x, (count, *x.shape)) for x, v in ((a, left), (b, right)))
        return np.concatenate((a, b), axis)
    return closure


@impl(shape.Extract)
def extract(op: shape.Extract, low: Lowering) -> Fn:
    return sub_tile(op.src.type.shape, op.shape, low.varies(op.src), low.varies(op.result))


def sub_tile(whole: Sequence[int], shape: Sequence[int], src_varies: bool, varies: bool) -> Fn:
    """From a tile and coordinates to a sub-tile. The tile is seen as a grid of those; an index outside is undefined,
    here it wraps. `varies`: does the result have an axis over blocks?"""
    counts = [n // m for n, m in zip(whole, shape, strict=True)]
    grid = tuple(v for pair in zip(counts, shape, strict=True) for v in pair)
    shape_, rank = tuple(shape), len(counts)

    def closure(x: Array, *index: Array) -> Array:
        places = [np.asarray(i) % n for i, n in zip(index, counts, strict=True)]
        if not varies:
            return x.reshape(grid)[tuple(p for i in places for p in (int(i), slice(None)))].reshape(shape_)
        count = len(x) if src_varies else next(len(p) for p in places if p.ndim)
        tiles = x.reshape(-1, *grid) if src_varies else x.reshape(1, *grid)
        # Sub-tile coordinates first, so that one advanced index picks a sub-tile for each block.
        tiles = tiles.transpose(0, *range(1, 2 * rank, 2), *range(2, 2 * rank + 1, 2))
        blocks = np.arange(count) if src_varies else 0
        out = tiles[(blocks, *places)]
        return out if out.shape[0] == count and out.ndim == rank + 1 else np.broadcast_to(out, (count, *shape_))
    return closure


@impl(shape.Take)
def take(op: shape.Take, low: Lowering) -> Fn:
    return along(op.src.type.shape[op.axis], op.axis, low.varies(op.src), low.varies(op.index))


def along(length: int, axis: int, src_varies: bool, index_varies: bool) -> Fn:
    """From a tile and positions along one of its axes, modulo its length, to the elements there."""
    varies = src_varies or index_varies

    def closure(x: Array, index: Array) -> Array:
        x, index = (v if own or not varies else v[None] for v, own in ((x, src_varies), (index, index_varies)))
        return np.take_along_axis(x, index.astype(np.int64) % length, axis + varies)
    return closure
