"""Cells of functions and operators of one tile over every dtype that they admit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.case import Bound
from catalogue.cells.kinds import ALL, BOOL, E5M3, E8M0, F32, FLOATS, I32, INTS, STORED, Kind, sample, specials
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, operands, pointwise
from catalogue.cells.powers import accuracy, wide
from catalogue.cells.rounding import to_format

import tilewright as ct

COMPUTED = tuple(k for k in STORED if k is not E8M0)
"""Formats for storage whose functions go through float32; float8_e8m0fnu has no rounding to nearest."""

# name -> (reference, domain of the random values, ulps in float32)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], float]] = {
    "exp": (np.exp, lambda v: np.fmod(v, 80), 2), "exp2": (np.exp2, lambda v: np.fmod(v, 100), 2),
    "log": (np.log, np.abs, 2), "log2": (np.log2, np.abs, 2), "sqrt": (np.sqrt, np.abs, 0),
    "rsqrt": (lambda v: 1 / np.sqrt(v), np.abs, 2), "sin": (np.sin, lambda v: v, 2), "cos": (np.cos, lambda v: v, 2),
    "tan": (np.tan, lambda v: v, 4), "sinh": (np.sinh, lambda v: np.fmod(v, 30), 4),
    "cosh": (np.cosh, lambda v: np.fmod(v, 30), 4), "tanh": (np.tanh, lambda v: v, 2),
}
INTEGRAL: dict[str, Callable[..., Any]] = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
                                           "stop_gradient": np.positive}


def drawn(kind: Kind, domain: Callable[[Any], Any]) -> Callable[[Place, np.random.Generator], tuple[Array, ...]]:
    """Boundary values as they are, random ones brought into the domain."""

    def fill(place: Place, rng: np.random.Generator) -> tuple[Array, ...]:
        shape = place.extents(place.shapes[0])
        if place.boundary == "boundary values":
            return (specials(kind),)
        x = sample(kind, shape, rng)
        if not kind.is_float:
            return (x,)
        with np.errstate(all="ignore"):
            return (kind.hold(to_kind(domain(kind.values(x)), kind)),)

    return fill


def to_kind(x: Array, kind: Kind) -> Array:
    """Numbers rounded to a dtype, still as numbers; NumPy's own rounding where it has the dtype."""
    if kind in FLOATS:
        return x.astype(kind.host).astype(np.float64) if kind.name != "float64" else x.astype(np.float64)
    return to_format(x, kind.name)


def function_reference(kind: Kind, result: Kind, f: Callable[..., Any]) -> Callable[[Array], Array]:
    """The function in more precision, rounded to the result's dtype."""

    def reference(x: Array) -> Array:
        numbers = kind.values(x)
        if not kind.is_float:
            numbers = numbers.astype(np.float32)
        if f is np.sqrt:
            return exact_root(numbers, result)
        if result in FLOATS:
            return np.asarray(f(numbers.astype(wide(result)))).astype(result.host)
        # A format for storage: computed in float32, then rounded to it.
        return result.hold(to_kind(np.asarray(f(numbers)).astype(np.float32).astype(np.float64), result))

    return reference


def exact_root(numbers: Array, result: Kind) -> Array:
    """The square root, rounded once."""
    if result.name == "float64":
        return np.asarray(np.sqrt(numbers))
    return result.hold(to_kind(np.sqrt(numbers.astype(np.float64)), result))


def stored_bound(kind: Kind) -> Bound:
    """One step of a small format: a float32 result next to the middle of two values may go either way."""
    step = {"tfloat32": 2.0**-10, "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2, "float8_e5m3fnu": 2.0**-3,
            "float4_e2m1fn": 0.5}[kind.name]

    def bound(want: Array) -> Any:
        return np.abs(want.astype(np.float64)) * step + 2.0**-149

    return bound


def function_batches() -> Iterator[Batch]:
    for name, (f, domain, count) in FUNCTIONS.items():
        for kind in (BOOL, *INTS, *FLOATS, *COMPUTED):
            result = kind if kind.is_float else F32
            bound: Bound | None = accuracy(result, count) if kind not in COMPUTED else stored_bound(kind)
            if name == "sqrt" or result is E5M3:  # the latter is compared as codes
                bound = None
            yield pointwise(f"{name}-{kind}", [Form((name,), getattr(ct, name))], (kind,), result,
                            drawn(kind, domain), function_reference(kind, result, f), bound)


def integral_batches() -> Iterator[Batch]:
    for name, f in INTEGRAL.items():
        for kind in (*FLOATS, *COMPUTED):
            yield pointwise(f"{name}-{kind}", [Form((name,), getattr(ct, name))], (kind,), kind, operands((kind,)),
                            function_reference(kind, kind, f))
    for kind in (*FLOATS, *STORED):
        yield pointwise(f"isnan-{kind}", [Form(("isnan",), ct.isnan)], (kind,), BOOL, operands((kind,)),
                        lambda x, kind=kind: np.isnan(kind.values(x)))


def sign_batches() -> Iterator[Batch]:
    """negative, abs and unary + of every number; bools become int32, but for abs."""
    for kind in ALL:
        result = I32 if kind is BOOL else kind
        if kind.dtype.has_sign:
            yield pointwise(f"negative-{kind}",
                            [Form(("negative",), ct.negative), Form(("operator unary -",), lambda x: -x)], (kind,),
                            result, operands((kind,)), lambda x, k=kind, r=result: negated(x, k, r))
        yield pointwise(f"positive-{kind}", [Form(("operator unary +",), lambda x: +x)], (kind,), result,
                        operands((kind,)), lambda x, r=result: x.astype(r.host))
        yield pointwise(f"abs-{kind}", [Form(("abs",), ct.abs), Form(("builtin abs",), lambda x: abs(x))], (kind,),
                        kind, operands((kind,)), lambda x, k=kind: absolute(x, k))


def negated(x: Array, kind: Kind, result: Kind) -> Array:
    if kind.is_float:
        return kind.hold(-kind.values(x))
    return np.negative(x.astype(result.host))


def absolute(x: Array, kind: Kind) -> Array:
    return kind.hold(np.abs(kind.values(x))) if kind.is_float else np.abs(x)


def not_batches() -> Iterator[Batch]:
    for kind in (BOOL, *INTS):
        yield pointwise(f"bitwise_not-{kind}",
                        [Form(("bitwise_not",), ct.bitwise_not), Form(("operator ~",), lambda x: ~x)], (kind,), kind,
                        operands((kind,)), np.bitwise_not)
    for kind in ALL:
        yield pointwise(f"not-{kind}", [Form(("operator not",), lambda x: not x)], (kind,), BOOL, operands((kind,)),
                        lambda x, kind=kind: kind.values(x) == 0)


def truth_batches() -> Iterator[Batch]:
    """Scalars of every dtype as conditions: if, ternary, and, or."""

    def branch(x):
        if x:
            out = ct.int32(1)
        else:
            out = ct.int32(2)
        return out

    forms = [Form(("condition of if",), branch), Form(("condition of ternary",), lambda x: ct.int32(1) if x else 2),
             Form(("operator and",), lambda x: ct.int32(1) if x and True else 2),
             Form(("operator or",), lambda x: ct.int32(1) if x or False else 2)]
    places = tuple(Place(((),), "whole") for _ in range(4))
    for kind in ALL:
        yield pointwise(f"truth-{kind}", forms, (kind,), I32,
                        lambda place, rng, k=kind: (specials(k)[rng.choice(16, 2, replace=False)],),
                        lambda x, kind=kind: np.where(kind.values(x) != 0, 1, 2).astype(np.int32), places=places)


def batches() -> Iterator[Batch]:
    yield from function_batches()
    yield from integral_batches()
    yield from sign_batches()
    yield from not_batches()
    yield from truth_batches()
