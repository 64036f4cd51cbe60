"""Cells of scans, and of reductions and scans by functions of the user."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.cells.kinds import (
    BOOL,
    FLOATS,
    INTS,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.reductions import accumulated, label, powers_of_two, result_of, small_integers
from catalogue.cells.tilewise import Piece, Shape, tilewise

import tilewright as ct

SCANS: tuple[tuple[Shape, int], ...] = (((8,), 0), ((8, 4), 0), ((4, 8), 1), ((2, 4, 4), 0), ((2, 4, 4), 1),
                                        ((2, 4, 4), -1), ((2, 2, 4, 4), 0), ((2, 2, 4, 4), 1), ((2, 2, 4, 4), 2),
                                        ((2, 2, 4, 4), 3), ((64,), 0), ((2, 32), 1), ((1, 1), 0), ((256,), 0),
                                        ((4, 64), 0), ((4, 64), 1))


def backwards(f: Callable[..., Array], reverse: bool) -> Callable[..., Array]:
    def run(x: Array, axis: int) -> Array:
        return np.flip(f(np.flip(x, axis), axis=axis), axis) if reverse else f(x, axis=axis)

    return run


def scan_pieces(name: str, kind: Kind, f: Any) -> Iterator[Piece]:
    draw = small_integers if name == "cumsum" else powers_of_two
    for k, (shape, axis) in enumerate(SCANS):
        for reverse in (False, True):
            reference = backwards(accumulated(f, kind), reverse)
            names = (f"{name}(reverse)",) if reverse else (name,)
            ragged = k % 2 == 1
            yield Piece(names, (shape,), _scan(getattr(ct, name), axis, reverse),
                        lambda x, r=reference, a=axis: r(x, axis=a),
                        label(shape, axis, False, ragged) + (", reverse" if reverse else ""), ragged=ragged, draw=draw)


def _scan(function: Any, axis: int, reverse: bool) -> Callable[[Any], Any]:
    if reverse:
        return lambda t: function(t, axis, reverse=True)
    return (lambda t: function(t, axis=axis)) if axis else (lambda t: function(t))


def scan_batches() -> Iterator[Batch]:
    for name, f in (("cumsum", np.cumsum), ("cumprod", np.cumprod)):
        for kind in (BOOL, *INTS, *FLOATS):
            yield tilewise(f"{name}-{kind}", (kind,), result_of(kind), list(scan_pieces(name, kind, f)))


# -- Functions of the user ---------------------------------------------------------------------------------------------


def larger(a, b):
    return ct.where(a > b, a, b)


def folds(kind: Kind) -> Iterator[tuple[str, Callable[..., Any], Any, Any]]:
    """What to combine with: how it is written, the function, the identity, NumPy's accumulation."""
    if kind is BOOL:
        yield "lambda", lambda a, b: a ^ b, False, np.logical_xor
        yield "operator.and_", operator.and_, True, np.logical_and
        return
    lowest = -1000 if kind.is_float else int(np.iinfo(kind.host).min)
    yield "operator.add", operator.add, 0, np.add
    yield "ct.maximum", ct.maximum, lowest, np.maximum
    yield "builtin min", min, 1000 if kind.is_float else int(np.iinfo(kind.host).max), np.minimum
    yield "helper", larger, lowest, np.maximum
    if not kind.is_float:
        yield "lambda", lambda a, b: a ^ b, 0, np.bitwise_xor


def fold_batches() -> Iterator[Batch]:
    for kind in (BOOL, *INTS, *FLOATS):
        pieces = list(reduce_pieces(kind)) + list(scan_with_pieces(kind))
        yield tilewise(f"fold-{kind}", (kind,), kind, pieces, draw=small_integers)


def reduce_pieces(kind: Kind) -> Iterator[Piece]:
    shapes: tuple[tuple[Shape, int], ...] = (((8,), 0), ((8, 4), 0), ((4, 8), 1), ((2, 4, 4), 1), ((2, 2, 4, 4), 3),
                                             ((2, 2, 4, 4), -4), ((2, 64), 1))
    for k, (how, function, identity, ufunc) in enumerate(folds(kind)):
        for n, (shape, axis) in enumerate(shapes):
            keep = (n + k) % 2 == 1
            names = ("reduce", "reduce(keepdims)", how) if keep else ("reduce", how)
            yield Piece(names, (shape,), _reduce(function, axis, identity, keep),
                        lambda x, u=ufunc, a=axis, keep=keep: u.reduce(x, axis=a, keepdims=keep, dtype=x.dtype),
                        label(shape, axis, keep, n % 2 == 1), ragged=n % 2 == 1)


def _reduce(function: Any, axis: int, identity: Any, keep: bool) -> Callable[[Any], Any]:
    if keep:
        return lambda t: ct.reduce(t, axis, function, identity, keepdims=True)
    return lambda t: ct.reduce(t, axis, function, identity)


def scan_with_pieces(kind: Kind) -> Iterator[Piece]:
    for k, (how, function, identity, ufunc) in enumerate(folds(kind)):
        for n, (shape, axis) in enumerate(SCANS[:8]):
            reverse = (n + k) % 2 == 1
            names = ("scan", "scan(reverse)", how) if reverse else ("scan", how)
            yield Piece(names, (shape,), _scan_with(function, axis, identity, reverse),
                        lambda x, u=ufunc, a=axis, r=reverse: backwards(
                            lambda y, axis: u.accumulate(y, axis=axis, dtype=y.dtype), r)(x, axis=a),
                        label(shape, axis, False, False) + (", reverse" if reverse else ""))


def _scan_with(function: Any, axis: int, identity: Any, reverse: bool) -> Callable[[Any], Any]:
    if reverse:
        return lambda t: ct.scan(t, axis, function, identity, reverse=True)
    return lambda t: ct.scan(t, axis, function, identity)


def several_batches() -> Iterator[Batch]:
    """Two tiles at once: the largest value with its partner."""

    def best(a, x, b, y):
        first = a >= b
        return ct.where(first, a, b), ct.where(first, x, y)

    def reference(x: Array, y: Array, axis: int) -> Array:
        x, y = np.broadcast_arrays(x, y)
        where = np.expand_dims(np.argmax(x, axis=axis), axis)
        return np.take_along_axis(y, where, axis).squeeze(axis)

    def function(x, y, axis):
        return ct.reduce((x, y), axis, best, (0, 0))[1]

    places: tuple[tuple[tuple[Shape, Shape], int], ...] = (
        (((8,), (8,)), 0), (((8, 4), (8, 4)), 0), (((4, 8), (8,)), 1), (((2, 4, 4), (4, 1)), 1),
        (((2, 2, 4, 4), (2, 1, 1, 4)), 3))
    for kind in (*INTS, *FLOATS):
        pieces = [Piece(("reduce",), shapes, lambda x, y, a=axis: function(x, y, a),
                        lambda x, y, a=axis: reference(x, y, a), f"two tiles, axis {axis}")
                  for shapes, axis in places]
        yield tilewise(f"fold-two-{kind}", (kind, kind), kind, pieces, draw=distinct)


def distinct(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """No two equal values, as far as the dtype has that many; then the first of the equal ones wins."""
    size = int(np.prod(shape))
    return rng.permutation(np.arange(size) % 120).reshape(shape).astype(kind.host)


def batches() -> Iterator[Batch]:
    yield from scan_batches()
    yield from fold_batches()
    yield from several_batches()
