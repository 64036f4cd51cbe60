"""Cells of reductions: every axis of every rank, every dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from catalogue.case import Bound
from catalogue.cells.kinds import (
    BOOL,
    FLOATS,
    I32,
    INTS,
    Kind,
    moderate,
    sample,
    specials,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.tilewise import Piece, Shape, tilewise

import tilewright as ct

# (tile shape, axis, keepdims): every axis of every rank, several at once, all, none.
Place = tuple[Shape, Any, bool]
PLACES: tuple[Place, ...] = (
    ((), None, False), ((8,), 0, False), ((8,), None, True), ((8, 4), 0, False), ((8, 4), 1, True), ((4, 8), -1, False),
    ((4, 8), None, False), ((2, 4, 8), 0, False), ((2, 4, 8), 1, False), ((2, 4, 8), 2, True),
    ((2, 4, 8), (0, 2), False),
    ((2, 4, 2, 4), 0, True), ((2, 4, 2, 4), 1, False), ((2, 4, 2, 4), 2, False), ((2, 4, 2, 4), -1, False),
    ((2, 4, 2, 4), (1, 3), True), ((2, 4, 2, 4), None, False), ((4, 4), (), False), ((512,), 0, False),
    ((2, 256), 1, False), ((64, 4), 0, False), ((1, 1), None, False),
    ((2, 2048), 1, False),  # more than one warp
)


def label(shape: Shape, axis: Any, keep: bool, ragged: bool) -> str:
    size = int(np.prod(shape))
    kind = "ragged" if ragged else "many elements" if size > 64 else "one element" if size == 1 else "whole"
    return f"{kind}, axis {axis}" + (", keepdims" if keep else "")


# -- Values with which the order of combination does not matter --------------------------------------------------------


def small_integers(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Sums of these are exact in float16 and in float32, whatever the order; integer dtypes get their whole range."""
    if not kind.is_float:
        return sample(kind, shape, rng)
    return rng.integers(-3, 4, shape).astype(kind.host)


def powers_of_two(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Products of these are exact and of moderate size."""
    if not kind.is_float:
        return sample(kind, shape, rng)
    numbers = rng.choice([1.0, -1.0], shape)
    few = rng.random(shape) < 4 / max(4, numbers.size)
    return np.where(few, rng.choice([2.0, 0.5], shape), numbers).astype(kind.host)


def accumulator(kind: Kind) -> np.dtype[Any]:
    """What a reference accumulates in: integers wrap, bools are int32, narrow floats sum in float32."""
    if kind is BOOL:
        return np.dtype(np.int32)
    return np.dtype(np.float64) if kind.is_float else kind.host


def result_of(kind: Kind) -> Kind:
    return I32 if kind is BOOL else kind


def accumulated(f: Callable[..., Array], kind: Kind) -> Callable[..., Array]:
    def run(x: Array, **options: Any) -> Array:
        wide = x.astype(accumulator(kind))
        return np.asarray(f(wide, dtype=wide.dtype, **options)).astype(result_of(kind).host)

    return run


def extreme(pick: Any, kind: Kind, propagate: bool = False) -> Callable[..., Array]:
    """NaNs skipped, or winning; only NaNs give NaN; -0.0 is below 0.0."""

    def run(x: Array, **options: Any) -> Array:
        if not kind.is_float:
            return np.asarray(pick(x.astype(result_of(kind).host), **options))
        wide = x.astype(np.float64)
        worst = -np.inf if pick is np.max else np.inf
        out = pick(np.where(np.isnan(wide), worst, wide), **options)
        # Which zero: -0.0 counts as -1, 0.0 as 1.
        sign = pick(np.where(wide == 0, np.copysign(1.0, wide), worst), **options)
        out = np.where(out == 0, np.copysign(0.0, sign), out)
        bad = np.isnan(wide)
        bad = bad.any(**options) if propagate else bad.all(**options)
        return np.asarray(np.where(bad, np.nan, out)).astype(kind.host)

    return run


def position(pick: Any, kind: Kind, propagate: bool = False) -> Callable[..., Array]:
    def run(x: Array, **options: Any) -> Array:
        if kind.is_float:
            best = np.inf if pick is np.argmax else -np.inf
            wide = x.astype(np.float64)
            # A NaN is worse than everything, or better: also than the infinities, so that numbers become their ranks.
            order = np.unique(wide[~np.isnan(wide)])
            rank = np.searchsorted(order, np.where(np.isnan(wide), 0, wide)).astype(np.float64)
            x = np.where(np.isnan(wide), best if propagate else -best, rank)
        return np.asarray(pick(x, **options)).astype(np.int32)

    return run


def no_minus_zero(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Positions of equal values are asked for: whether the zeros are equal is not."""
    x = sample(kind, shape, rng)
    return x + np.array(0, x.dtype) if kind.is_float else x


def special_rows(kind: Kind, neutral: float) -> Callable[..., Array]:
    """Each row one boundary value among neutral ones."""

    def draw(_: Kind, shape: Shape, rng: np.random.Generator) -> Array:
        out = np.full(shape, neutral).astype(kind.host)
        places = rng.integers(0, shape[1], shape[0])
        out[np.arange(shape[0]), places] = np.resize(specials(kind), shape[0])
        return out

    return draw


class Reduced(NamedTuple):
    """A reduction: `reference(kind)` makes NumPy's, `draw` its operands. Without a `bound(kind)` every bit must agree;
    the dtypes that are not in `kinds` raise an error."""

    reference: Callable[[Kind], Callable[..., Array]]
    draw: Callable[..., Array]
    neutral: float = 0
    is_position: bool = False
    kinds: tuple[Kind, ...] = (BOOL, *INTS, *FLOATS)
    bound: Callable[[Kind], Bound] | None = None


REDUCTIONS: dict[str, Reduced] = {
    "sum": Reduced(lambda k: accumulated(np.sum, k), small_integers),
    "prod": Reduced(lambda k: accumulated(np.prod, k), powers_of_two, neutral=1),
    "max": Reduced(lambda k: extreme(np.max, k), sample),
    "min": Reduced(lambda k: extreme(np.min, k), sample),
    "argmax": Reduced(lambda k: position(np.argmax, k), no_minus_zero, is_position=True),
    "argmin": Reduced(lambda k: position(np.argmin, k), no_minus_zero, is_position=True),
}


def reduction_pieces(name: str, kind: Kind) -> Iterator[Piece]:
    row = REDUCTIONS[name]
    function, reference = getattr(ct, name, None), row.reference(kind)  # tests/test_omissions.py names a missing one
    bound = None if row.bound is None else row.bound(kind)
    for k, (shape, axis, keep) in enumerate(PLACES):
        if row.is_position and isinstance(axis, tuple):
            continue
        ragged = k % 2 == 1 and len(shape) > 1
        # The keyword is left out where it says what is so anyway; "name(keepdims)" is a cell of its own.
        names = (name, f"{name}(keepdims)") if keep else (name,)
        yield Piece(names, (shape,), _call(function, axis, keep), _reference(reference, axis, keep),
                    label(shape, axis, keep, ragged), bound, ragged=ragged, draw=row.draw)
    if kind.is_float and name in ("sum", "prod"):
        yield Piece((name,), ((16, 4),), _call(function, 1, False), _reference(reference, 1, False), "boundary values",
                    draw=special_rows(kind, row.neutral))
        yield Piece((name,), ((2, 64),), _call(function, 1, False), _wide(np.sum if name == "sum" else np.prod, kind),
                    "rounding", within(kind, 64, name), draw=moderate if name == "sum" else near_one, result=None)


def _call(function: Any, axis: Any, keep: bool) -> Callable[[Any], Any]:
    if keep:
        return lambda t: function(t, axis, keepdims=True)
    if axis is None:
        return lambda t: function(t)
    return lambda t: function(t, axis=axis)


def _reference(reference: Callable[..., Array], axis: Any, keep: bool) -> Callable[[Array], Array]:
    if axis == ():
        return lambda x: reference(x[None], axis=0)  # nothing is combined, but bools become int32
    return lambda x: reference(x, axis=axis, keepdims=keep)


def _wide(f: Any, kind: Kind) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        return np.asarray(f(x.astype(np.longdouble), axis=1)).astype(kind.host)

    return run


def near_one(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    return np.exp2(rng.uniform(-0.05, 0.05, shape)).astype(kind.host)


def within(kind: Kind, count: int, name: str) -> Bound:
    """count roundings of the accumulator, and one of the result: docs/architecture.md, passes that reassociate."""
    eps = float(ml_dtypes.finfo(kind.host).eps)
    inner = eps if kind.bits > 16 else float(np.finfo(np.float32).eps)
    size = 1.5 * count if name == "sum" else 1.0  # of the sum of magnitudes

    def bound(want: Array) -> Any:
        scale = size if name == "sum" else np.abs(want.astype(np.float64))
        return count * inner * scale + eps * np.abs(want.astype(np.float64))

    return bound


def reduction_batches() -> Iterator[Batch]:
    for name, row in REDUCTIONS.items():
        for kind in row.kinds:
            yield tilewise(f"{name}-{kind}", (kind,), I32 if row.is_position else result_of(kind),
                           list(reduction_pieces(name, kind)))
    for name in ("max", "min", "argmax", "argmin"):
        for kind in FLOATS:
            is_position = name.startswith("arg")
            reference = (position if is_position else extreme)(getattr(np, name), kind, True)
            function = getattr(ct, name)
            pieces = [Piece((f"{name}(propagate_nan)",), (shape,), _propagating(function, axis),
                            _reference(reference, axis, False), label(shape, axis, False, False),
                            draw=no_minus_zero if is_position else sample)
                      for shape, axis, _ in PLACES[:8] if axis is not None or shape]
            yield tilewise(f"{name}-propagate-{kind}", (kind,), I32 if is_position else kind, pieces)


def _propagating(function: Any, axis: Any) -> Callable[[Any], Any]:
    return lambda t: function(t, axis, propagate_nan=True)


def batches() -> Iterator[Batch]:
    yield from reduction_batches()
