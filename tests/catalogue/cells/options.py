"""Cells of the options of arithmetic: rounding modes, fast approximations, flushing to zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from catalogue.case import Bound, ulps
from catalogue.cells.kinds import BOOL, F32, FLOATS, INTS, Kind
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, operands, pointwise
from catalogue.cells.reduction_options import around_tiny, flush
from catalogue.cells.rounding import directed

import tilewright as ct

MODE = ct.RoundingMode
DIRECTED: dict[str, str] = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}
IEEE = ("RN", "RZ", "RM", "RP")


def directed_batches() -> Iterator[Batch]:
    """One operation, rounded once in each mode: against exact fractions."""
    places = (Place(((8, 1), (1, 16)), "boundary values", False), Place(((2, 16), (2, 16)), "ragged"),
              Place(((), ()), "whole"), Place(((2, 2, 8), (8,)), "broadcast"), Place(((2, 2, 2, 4), (4,)), "broadcast"))
    for name, op in DIRECTED.items():
        for kind in FLOATS:
            for mode in IEEE:
                yield pointwise(f"{name}-{mode}-{kind}", [_binary_form(name, mode)], (kind, kind), kind,
                                operands((kind, kind)), _directed(op, kind, mode), places=places)
    single = (Place(((8,),), "boundary values", False), Place(((2, 16),), "ragged"), Place(((),), "whole"),
              Place(((2, 2, 8),), "ragged"), Place(((2, 2, 2, 4),), "ragged"))
    for kind in FLOATS:
        for mode in IEEE:
            yield pointwise(f"sqrt-{mode}-{kind}", [_unary_form("sqrt", mode)], (kind,), kind, operands((kind,)),
                            _root(kind, mode), places=single)


def _binary_form(name: str, mode: str) -> Form:
    function, member = getattr(ct, name), getattr(MODE, mode)
    return Form((f"{name}(rounding_mode)", f"RoundingMode.{mode}"), lambda x, y: function(x, y, rounding_mode=member))


def _unary_form(name: str, mode: str) -> Form:
    function, member = getattr(ct, name), getattr(MODE, mode)
    return Form((f"{name}(rounding_mode)", f"RoundingMode.{mode}"), lambda x: function(x, rounding_mode=member))


def _directed(op: str, kind: Kind, mode: str) -> Callable[[Array, Array], Array]:
    return lambda x, y: directed(op, x.astype(np.float64), y.astype(np.float64), kind.name, mode).astype(kind.host)


def _root(kind: Kind, mode: str) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        wide = x.astype(np.float64)
        return directed("sqrt", wide, wide, kind.name, mode).astype(kind.host)

    return run


# -- Fast forms of float32 ---------------------------------------------------------------------------------------------


def moderate(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """The range in which the PTX manual states errors for the approximations."""
    x = rng.uniform(1, 2, shape) * np.exp2(rng.integers(-12, 4, shape)) * rng.choice([-1, 1], shape)
    return x.astype(kind.host)


def positive(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return np.abs(moderate(kind, shape, rng))


def fast_batches() -> Iterator[Batch]:
    two = (Place(((2, 16), (2, 16)), "ragged"), Place(((8,), ()), "broadcast"), Place(((), ()), "whole"),
           Place(((2, 2, 8), (8,)), "broadcast"), Place(((2, 2, 2, 4), (4,)), "broadcast"))
    one = (Place(((2, 16),), "ragged"), Place(((8,),), "ragged"), Place(((),), "whole"), Place(((2, 2, 8),), "ragged"),
           Place(((2, 2, 2, 4),), "ragged"))
    for mode in ("FULL", "APPROX"):
        yield pointwise(f"truediv-{mode}", [_binary_form("truediv", mode)], (F32, F32), F32,
                        operands((F32, F32), draw=moderate), lambda x, y: x / y, ulps(2, np.float32), places=two)
    for name, mode, f, bound, draw in _fast():
        yield pointwise(f"{name}-{mode}", [_unary_form(name, mode)], (F32,), F32, operands((F32,), draw=draw),
                        lambda x, f=f: f(x.astype(np.float64)).astype(np.float32), bound, places=one)


def _fast() -> Iterator[tuple[str, str, Any, Bound, Any]]:
    """PTX manual: sqrt.approx 2**-23 relative; exp by ex2.approx of a rounded product (|x| / 2 ulp more);
    tanh.approx 2**-11 relative."""
    yield "sqrt", "APPROX", np.sqrt, ulps(2, np.float32), positive
    yield "exp", "FULL", np.exp, ulps(2, np.float32), moderate
    yield "exp", "APPROX", np.exp, ulps(40, np.float32), moderate
    yield "tanh", "FULL", np.tanh, ulps(2, np.float32), moderate
    yield "tanh", "APPROX", np.tanh, lambda want: 2.0**-10.9 * np.abs(want), moderate


# -- Flushing ----------------------------------------------------------------------------------------------------------


def flushed(f: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *args: flush(np.asarray(f(*map(flush, args))).astype(np.float32))


BINARY_FLUSH: dict[str, Any] = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
                                "minimum": np.minimum, "maximum": np.maximum}
UNARY_FLUSH: dict[str, tuple[Any, Bound | None]] = {
    "sqrt": (lambda x: np.sqrt(np.abs(x)), None), "rsqrt": (lambda x: 1 / np.sqrt(np.abs(x).astype(np.float64)), ulps(
        2, np.float32)), "exp2": (lambda x: np.exp2(x.astype(np.float64)), ulps(2, np.float32)),
}


def tiny(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return around_tiny(kind, shape, rng)


def flush_batches() -> Iterator[Batch]:
    two = (Place(((2, 16), (2, 16)), "ragged, subnormal"), Place(((8,), ()), "broadcast, subnormal"),
           Place(((), ()), "subnormal"), Place(((2, 2, 8), (8,)), "broadcast, subnormal"),
           Place(((2, 2, 2, 4), (4,)), "broadcast, subnormal"))
    one = (Place(((2, 16),), "ragged, subnormal"), Place(((8,),), "ragged, subnormal"), Place(((),), "subnormal"),
           Place(((2, 2, 8),), "ragged, subnormal"), Place(((2, 2, 2, 4),), "ragged, subnormal"))
    # Which of two zeros is smaller is asked elsewhere: here a bound of 0 lets both stand for zero.
    for name, f in BINARY_FLUSH.items():
        function = getattr(ct, name)
        draw = operands((F32, F32), draw=tiny) if name != "mul" else operands((F32, F32), draw=around_root)
        yield pointwise(f"{name}-flush", [Form((f"{name}(flush_to_zero)",), lambda x, y, f=function: f(
            x, y, flush_to_zero=True))], (F32, F32), F32, draw, flushed(f), lambda want: 0 * np.abs(want), places=two)
    for name, (f, bound) in UNARY_FLUSH.items():
        function = getattr(ct, name)
        draw = operands((F32,), draw=exponents if name == "exp2" else positive_tiny)
        yield pointwise(f"{name}-flush", [Form((f"{name}(flush_to_zero)",), lambda x, f=function: f(
            x, flush_to_zero=True))], (F32,), F32, draw, flushed(f), bound, places=one)


def around_root(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Products of these are around the smallest normal number."""
    x = rng.uniform(1, 2, shape) * np.exp2(rng.integers(-66, -60, shape)) * rng.choice([-1, 1], shape)
    return x.astype(np.float32)


def positive_tiny(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return np.abs(around_tiny(kind, shape, rng))


def exponents(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Results on both sides of the smallest normal number, away from it by more than a rounding."""
    return (rng.integers(-140, -115, shape) + 0.5).astype(np.float32)


# -- Integers and bools, which become float32 first --------------------------------------------------------------------


def integer_batches() -> Iterator[Batch]:
    single = (Place(((2, 16),), "ragged"), Place(((8,),), "ragged"))
    two = (Place(((2, 16), (2, 16)), "ragged"), Place(((8,), ()), "broadcast"))
    for kind in (BOOL, *INTS):
        for name, mode, f, bound in INTEGER_MODES:
            if name == "truediv":
                yield pointwise(f"truediv-{mode}-{kind}", [_binary_form(name, mode)], (kind, kind), F32,
                                operands((kind, kind)), f, bound, places=two)
            else:
                yield pointwise(f"{name}-{mode}-{kind}", [_unary_form(name, mode)], (kind,), F32,
                                operands((kind,), draw=few), f, bound, places=single)
        for name in ("truediv", "sqrt", "rsqrt", "exp2"):
            function = getattr(ct, name)
            if name == "truediv":
                yield pointwise(f"truediv-flush-{kind}", [Form(("truediv(flush_to_zero)",), lambda x, y: ct.truediv(
                    x, y, flush_to_zero=True))], (kind, kind), F32, operands((kind, kind)),
                    lambda x, y: x.astype(np.float32) / y.astype(np.float32), places=two)
                continue
            yield pointwise(f"{name}-flush-{kind}", [Form((f"{name}(flush_to_zero)",), lambda x, f=function: f(
                x, flush_to_zero=True))], (kind,), F32, operands((kind,), draw=few),
                lambda x, n=name: OF_INTEGERS[n](x.astype(np.float64)).astype(np.float32), ulps(2, np.float32),
                places=single)


def few(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Small numbers, for which no function overflows."""
    return rng.integers(0, 2 if kind is BOOL else 40, shape).astype(kind.host)


OF_INTEGERS: dict[str, Any] = {"sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "exp2": np.exp2}
INTEGER_MODES: tuple[tuple[str, str, Any, Bound | None], ...] = (
    ("truediv", "RZ", lambda x, y: directed("div", x.astype(np.float32).astype(np.float64), y.astype(
        np.float32).astype(np.float64), "float32", "RZ").astype(np.float32), None),
    ("sqrt", "RP", lambda x: directed("sqrt", x.astype(np.float64), x.astype(np.float64), "float32", "RP").astype(
        np.float32), None),
    ("exp", "APPROX", lambda x: np.exp(x.astype(np.float64)).astype(np.float32), ulps(64, np.float32)),
    ("tanh", "APPROX", lambda x: np.tanh(x.astype(np.float64)).astype(np.float32),
     lambda want: 2.0**-10.9 * np.abs(want)),
)


def batches() -> Iterator[Batch]:
    yield from integer_batches()
    yield from directed_batches()
    yield from fast_batches()
    yield from flush_batches()
