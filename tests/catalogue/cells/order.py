"""Cells of the functions of order and places in a tile; ranks take turns over dtypes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from catalogue.cells.kinds import ALL, BOOL, F32, FLOATS, I32, Kind, sample
from catalogue.cells.model import Array, Batch
from catalogue.cells.special import boundaries
from catalogue.cells.tilewise import BLOCKS, Piece, Shape, tilewise

import tilewright as ct

# (tile shape, axis)
PLACES: tuple[tuple[Shape, int], ...] = (((16,), -1), ((8, 4), 0), ((2, 8, 2), 1), ((2, 2, 2, 4), -1), ((4, 8), 1))
MANY: tuple[tuple[Shape, int], ...] = (((512,), 0), ((16, 32), 0), ((32, 16), 1))
PAIRED: tuple[Shape, ...] = ((2,), (8, 2), (2, 4, 2), (2, 2, 2, 2))
SHAPES: tuple[Shape, ...] = ((), (8,), (4, 8), (2, 4, 4), (2, 2, 2, 4))


def places(x: Array, kind: Kind, axis: int, down: bool) -> Array:
    """Where the elements of a sorted tile come from: -0.0 before 0.0, NaNs last, equal ones in their order."""
    codes = x.astype(np.uint8) if x.dtype == np.bool_ else x
    if kind.is_float:
        bits = kind.values(x).view(np.int64)
        codes = np.where(np.isnan(kind.values(x)), np.iinfo(np.int64).max, bits ^ (bits >> 63 & np.iinfo(np.int64).max))
    return np.argsort(~codes if down else codes, axis, kind="stable").astype(np.int32)


def ordered(x: Array, kind: Kind, axis: int, down: bool) -> Array:
    return np.take_along_axis(x, places(x, kind, axis, down), axis)


def first(x: Array, axis: int, count: int) -> Array:
    return np.take(x, np.arange(count), axis)


def sort_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    shape, axis = PLACES[number % len(PLACES)]
    other, along = PLACES[(number + 1) % len(PLACES)]
    yield Piece(("sort",), (shape,), lambda t: ct.sort(t, axis), lambda x: ordered(x, kind, axis, False))
    yield Piece(("sort", "sort(descending)"), (other,), lambda t: ct.sort(t, along, descending=True),
                lambda x: ordered(x, kind, along, True))
    if kind in FLOATS:
        yield Piece(("sort",), ((8,),), ct.sort, lambda x: ordered(x, kind, -1, False), "boundary values",
                    draw=boundaries)
    if kind is F32:
        yield Piece(("sort",), ((256,),), ct.sort, lambda x: ordered(x, kind, -1, False), "many elements")


def position_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    shape, axis = PLACES[(number + 2) % len(PLACES)]
    other, along = PLACES[(number + 3) % len(PLACES)]
    yield Piece(("argsort",), (shape,), lambda t: ct.argsort(t, axis), lambda x: places(x, kind, axis, False),
                draw=few, result=I32)
    yield Piece(("argsort", "argsort(descending)"), (other,), lambda t: ct.argsort(t, along, descending=True),
                lambda x: places(x, kind, along, True), draw=few, result=I32)
    yield Piece(("topk",), (shape,), lambda t: ct.topk(t, 2, axis)[0],
                lambda x: first(ordered(x, kind, axis, True), axis, 2))
    yield Piece(("topk", "topk(largest)"), (other,), lambda t: ct.topk(t, 2, along, largest=False)[1],
                lambda x: first(places(x, kind, along, False), along, 2), draw=few, result=I32)


def chosen_pieces(kind: Kind) -> Iterator[Piece]:
    """Positions that are found while the kernel runs."""
    for shape, axis in (((64,), 0), ((8, 16), 1)):
        yield Piece(("take", "argsort"), (shape,), lambda t, axis=axis: ct.take(t, ct.argsort(t, axis), axis),
                    lambda x, axis=axis: ordered(x, kind, axis, False), draw=few)


def few(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Few different values, so that there are equal ones, special ones among them."""
    return np.asarray(rng.choice(sample(kind, (5,), rng), shape))


def pair_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    shape, other = PAIRED[number % len(PAIRED)], PAIRED[(number + 1) % len(PAIRED)]
    whole = SHAPES[number % len(SHAPES)]
    yield Piece(("split",), (shape,), lambda t: ct.split(t)[1], lambda x: x[..., 1])
    yield Piece(("join", "split"), (other,), lambda t: ct.join(ct.split(t)[1], ct.split(t)[0]), lambda x: x[..., ::-1])
    yield Piece(("interleave",), (whole,), lambda t: ct.interleave(t, t),
                lambda x: np.repeat(x, 2, axis=-1) if x.ndim else np.stack([x, x]))
    yield Piece(("join",), (whole,), lambda t: ct.join(t, t), lambda x: np.stack([x, x], -1))


def move_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    """Positions that every row has; across warps for many elements."""
    for shape, axis in (PLACES[number % len(PLACES)], *(MANY if kind in (F32, BOOL) else ())):
        n = shape[axis]
        odd = (5 * np.arange(n // 2) + 3) % n
        yield Piece(("take",), (shape,),
                    lambda t, axis=axis, n=n: ct.take(t, ct.arange(n // 2, dtype=ct.int32) * 5 + 3 - 4 * n, axis),
                    lambda x, axis=axis, odd=odd: np.take(x, odd, axis), "positions out of range")
        yield Piece(("roll",), (shape,), lambda t, axis=axis: ct.roll(t, ct.num_blocks(0) - 5, axis),
                    lambda x, axis=axis: np.roll(x, BLOCKS - 5, axis))
        yield Piece(("flip",), (shape,), lambda t, axis=axis: ct.flip(t, axis), lambda x, axis=axis: np.flip(x, axis))


def index_pieces(kind: Kind) -> Iterator[Piece]:
    """Tiles of any integers as positions."""
    for shape, axis in PLACES:
        size = int(np.prod(shape))
        yield Piece(("take",), (shape,), lambda t, axis=axis, size=size: ct.take(
                        ct.arange(size, dtype=ct.float32).reshape(t.shape), t, axis),
                    lambda x, axis=axis, size=size: np.take_along_axis(
                        np.arange(size, dtype=np.float32).reshape(x.shape), x.astype(np.int64) % x.shape[axis], axis),
                    "positions out of range", result=F32)


def counted(x: Array, bins: int = 16) -> Array:
    return np.bincount(x[(x >= 0) & (x < bins)].astype(np.int64), minlength=bins).astype(np.int32)


def small(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Many of them in a bin, some beyond."""
    inside = rng.integers(0, 16 if kind.bits > 16 else 127, shape).astype(kind.host)
    return np.where(rng.random(shape) < 0.8, inside, sample(kind, shape, rng))


def batches() -> Iterator[Batch]:
    for number, kind in enumerate(ALL):
        pieces = list(pair_pieces(kind, number))
        if kind.dtype.arithmetic:
            pieces += sort_pieces(kind, number)
        if kind.dtype.arithmetic and kind.bits <= 32:
            pieces += position_pieces(kind, number)
            pieces += chosen_pieces(kind)
        pieces += move_pieces(kind, number)
        if kind.is_int:
            for shape in (SHAPES[number % len(SHAPES)], (64,)):
                pieces.append(Piece(("histogram",), (shape,), lambda t: ct.histogram(t, 16), counted, draw=small,
                                    result=I32))
            pieces.append(Piece(("histogram",), ((64,),), lambda t: ct.histogram(t, 128), lambda x: counted(x, 128),
                                draw=small, result=I32))
            pieces += index_pieces(kind)
        yield tilewise(f"sorted-{kind}", (kind,), kind, pieces)
