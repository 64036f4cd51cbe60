"""Cells of inverse functions, the error function and their kind, of counts of bits, clamp, any and all.

One batch a dtype holds all functions that admit it; ranks take turns over dtypes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.case import Bound, ulps
from catalogue.cells.kinds import ALL, BOOL, E5M3, E8M0, F32, FLOATS, I32, INTS, Kind, sample, specials
from catalogue.cells.model import Array, Batch
from catalogue.cells.tilewise import Piece, Shape, tilewise
from catalogue.cells.unary import COMPUTED, function_reference, stored_bound, to_kind

import tilewright as ct

SHAPES: tuple[Shape, ...] = ((), (8,), (4, 8), (2, 4, 4), (2, 2, 2, 4))


def numbers(f: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of Python's `math` on arrays."""
    return lambda v: np.array([f(x) for x in v.ravel().tolist()]).reshape(v.shape)


def sigmoid(v: Array) -> Array:
    power = np.exp(-np.abs(v))
    return np.asarray(np.where(v < 0, power, 1) / (1 + power))


def same(v: Any) -> Any:
    return v


def inner(v: Any) -> Any:
    return np.fmod(v, 1.25)


# name -> (reference, domain of the random values, ulps in float32)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], float]] = {
    "asin": (np.arcsin, inner, 2), "acos": (np.arccos, inner, 2), "atan": (np.arctan, same, 2),
    "asinh": (np.arcsinh, same, 4), "acosh": (np.arccosh, np.abs, 4), "atanh": (np.arctanh, inner, 4),
    "log1p": (np.log1p, np.abs, 2), "expm1": (np.expm1, lambda v: np.fmod(v, 80), 2),
    "erf": (numbers(math.erf), lambda v: np.fmod(v, 5), 2), "erfc": (numbers(math.erfc), lambda v: np.fmod(v, 9), 4),
    "sigmoid": (sigmoid, lambda v: np.fmod(v, 80), 4),
}


def bound_of(kind: Kind, count: float) -> Bound | None:
    """16-bit formats round a float32 result; float8_e5m3fnu is compared as codes."""
    if kind in FLOATS:
        return ulps({"float32": count, "float64": 4.0}.get(kind.name, 1.0), kind.host)
    return None if kind is E5M3 else stored_bound(kind)


def within(domain: Callable[[Any], Any]) -> Callable[..., Array]:
    def draw(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
        x = sample(kind, shape, rng)
        if not kind.is_float:
            return x
        with np.errstate(all="ignore"):
            return kind.hold(to_kind(domain(kind.values(x)), kind))

    return draw


def boundaries(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    return specials(kind).reshape(shape)


def function_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    result = kind if kind.is_float else F32
    for place, (name, (f, domain, count)) in enumerate(FUNCTIONS.items()):
        shape = SHAPES[(place + number) % len(SHAPES)]
        reference, bound = function_reference(kind, result, f), bound_of(result, count)
        yield Piece((name,), (shape,), getattr(ct, name), reference, bound=bound, draw=within(domain), result=result)
        if kind in FLOATS:
            yield Piece((name,), ((8,),), getattr(ct, name), reference, "boundary values", bound, draw=boundaries,
                        result=result)


def integral_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    shape = SHAPES[number % len(SHAPES)]
    for name, function in (("round", ct.round), ("builtin round", round)):
        yield Piece((name,), (shape,), lambda t, f=function: f(t), function_reference(kind, kind, np.rint), result=kind)
    yield Piece(("round",), ((8,),), ct.round, function_reference(kind, kind, np.rint), "boundary values",
                draw=boundaries, result=kind)


def question_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    """Questions about floats."""
    for place, (name, f) in enumerate((("isinf", np.isinf), ("isfinite", np.isfinite))):
        shape = SHAPES[(number + place) % len(SHAPES)]
        for where, draw in ((shape, sample), ((8,), boundaries)):
            yield Piece((name,), (where,), getattr(ct, name), lambda x, f=f: np.asarray(f(kind.values(x))),
                        "boundary values" if draw is boundaries else "whole", draw=draw, result=BOOL)


def leading_zeros(x: int, bits: int) -> int:
    return bits - (x % (1 << bits)).bit_length()


def lowest_one(x: int, bits: int) -> int:
    return (x & -x).bit_length()


COUNTS: dict[str, Callable[[int, int], int]] = {
    "popcount": lambda x, bits: (x % (1 << bits)).bit_count(), "clz": leading_zeros, "ffs": lowest_one,
}


def count_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    for place, (name, f) in enumerate(COUNTS.items()):
        def reference(x: Array, f: Callable[[int, int], int] = f) -> Array:
            return np.array([f(v, kind.bits) for v in x.ravel().tolist()], np.int32).reshape(x.shape)

        yield Piece((name,), (SHAPES[(place + number) % len(SHAPES)],), getattr(ct, name), reference, result=I32)
        yield Piece((name,), ((8,),), getattr(ct, name), reference, "boundary values", draw=boundaries, result=I32)


def sparse(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Mostly zeros, where the format has one; now and then none."""
    if kind is E8M0:
        return sample(kind, shape, rng)
    chance = rng.choice([0.05, 0.5, 1.0])
    x = sample(kind, shape, rng)
    return np.where(rng.random(shape) < chance, x, np.zeros((), x.dtype))


def truth_pieces(kind: Kind, number: int) -> Iterator[Piece]:
    for place, (name, f) in enumerate((("any", np.any), ("all", np.all))):
        function = getattr(ct, name)
        for shape in {SHAPES[(number + place) % len(SHAPES)], (8, 16)}:
            axis = len(shape) - 1 if shape and number % 2 else None
            keep = shape == (8, 16)
            yield Piece((name, f"{name}(keepdims)") if keep else (name,), (shape,), _truth(function, axis, keep),
                        lambda x, f=f, axis=axis, keep=keep: np.asarray(f(kind.values(x) != 0, axis, keepdims=keep)),
                        f"whole, axis {axis}", draw=sparse, result=BOOL)


def _truth(function: Any, axis: Any, keep: bool) -> Callable[[Any], Any]:
    return (lambda t: function(t, axis, keepdims=True)) if keep else (lambda t: function(t, axis))


def one_tile_batches() -> Iterator[Batch]:
    for number, kind in enumerate(ALL):
        pieces = list(truth_pieces(kind, number))
        if kind is not E8M0:
            pieces += function_pieces(kind, number)
        if kind in (*FLOATS, *COMPUTED):
            pieces += integral_pieces(kind, number)
        if kind.is_float:
            pieces += question_pieces(kind, number)
        if kind.is_int:
            pieces += count_pieces(kind, number)
        yield tilewise(f"special-{kind}", (kind,), kind, pieces)


def clamped(x: Array, low: Array, high: Array) -> Array:
    """NumPy's maximum and minimum let NaNs win; of two zeros the sign is theirs to choose, so none is drawn."""
    return np.asarray(np.minimum(np.maximum(x, low), high))


def without_zeros(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    x = sample(kind, shape, rng)
    return np.where(x == 0, np.ones((), x.dtype), x) if kind.is_float else x


def clamp_batches() -> Iterator[Batch]:
    for kind in (*INTS, *FLOATS):
        pieces = [Piece(("clamp",), (shape,) * 3, ct.clamp, clamped, draw=without_zeros) for shape in SHAPES]
        yield tilewise(f"clamp-{kind}", (kind,) * 3, kind, pieces)


def batches() -> Iterator[Batch]:
    yield from one_tile_batches()
    yield from clamp_batches()
