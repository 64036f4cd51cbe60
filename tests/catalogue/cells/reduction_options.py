"""Cells of the options of reductions and scans: rounding modes, flushing to zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from catalogue.cells.formats import LIMITS
from catalogue.cells.kinds import (
    F32,
    FLOATS,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.rounding import directed, round_number
from catalogue.cells.tilewise import Piece, Shape, tilewise

import tilewright as ct


def option_batches() -> Iterator[Batch]:
    for kind in FLOATS:
        pieces = []
        for name, op in (("sum", "add"), ("prod", "mul"), ("cumsum", "add"), ("cumprod", "mul")):
            for mode in ("RN", "RZ", "RM", "RP"):
                pieces.append(Piece((f"{name}(rounding_mode)", f"RoundingMode.{mode}"), ((16, 2),),
                                    _rounded(getattr(ct, name), getattr(ct.RoundingMode, mode)),
                                    _directed(op, kind, mode, name.startswith("cum")), f"rounding {mode}"))
        for name, draw in (("sum", one_and_little), ("prod", two_factors)):
            for mode in ("RN", "RZ", "RM", "RP"):
                pieces.append(Piece((f"{name}(rounding_mode)",), ((4, 64),), _rounded(
                    getattr(ct, name), getattr(ct.RoundingMode, mode)), _exactly(name, kind, mode),
                    f"many elements, rounding {mode}", draw=draw))
        yield tilewise(f"reduction-rounding-{kind}", (kind,), kind, pieces)
    # Zeros of either sign: a sum may start from one, and which zero is larger is not what is tested.
    pieces = [Piece((f"{name}(flush_to_zero)",), ((16, 2),), _flushed(getattr(ct, name)), reference, "flush to zero",
                    lambda want: 0 * np.abs(want))
              for name, reference in FLUSHED.items()]
    yield tilewise("reduction-flush", (F32,), F32, pieces, draw=around_tiny)


def one_and_little(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Rows of zeros, a number of size 1 and one below half its last place: one addition rounds, whatever the order."""
    out = np.zeros(shape)
    little = 2.0 ** -(LIMITS[kind.name].mantissa + 6)
    for row in out:
        row[rng.choice(shape[1], 2, replace=False)] = rng.choice([-1, 1], 2) * [1.0, little]
    return out.astype(kind.host)


def two_factors(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Rows of ones with two factors next to 1: one multiplication rounds, whatever the order."""
    out = np.ones(shape)
    for row in out:
        row[rng.choice(shape[1], 2, replace=False)] = rng.choice([-1, 1], 2) * (1 + 2.0 ** -LIMITS[kind.name].mantissa)
    return out.astype(kind.host)


def _exactly(name: str, kind: Kind, mode: str) -> Callable[[Array], Array]:
    """The exact sum or product of each row, rounded once."""

    def run(x: Array) -> Array:
        rows = [[Fraction(float(v)) for v in row] for row in x]
        exact = [sum(row) if name == "sum" else math.prod(row) for row in rows]
        return np.array([math.copysign(round_number(Fraction(v), kind.name, mode), v) for v in exact]).astype(kind.host)

    return run


def _rounded(function: Any, mode: Any) -> Callable[[Any], Any]:
    return lambda t: function(t, 1, rounding_mode=mode)


def _flushed(function: Any) -> Callable[[Any], Any]:
    return lambda t: function(t, 1, flush_to_zero=True)


def _directed(op: str, kind: Kind, mode: str, cumulative: bool) -> Callable[[Array], Array]:
    def run(x: Array) -> Array:
        wide = x.astype(np.float64)
        out = directed(op, wide[:, 0], wide[:, 1], kind.name, mode).astype(kind.host)
        return np.stack([x[:, 0], out], axis=1) if cumulative else out

    return run


def flush(x: Array) -> Array:
    return np.where(np.abs(x) < np.float32(2.0**-126), np.copysign(np.float32(0), x), x)


def _pair(f: Any) -> Callable[[Array], Array]:
    return lambda x: flush(f(flush(x[:, 0]), flush(x[:, 1])))


def _scan_pair(f: Any) -> Callable[[Array], Array]:
    # The first element meets no operation.
    return lambda x: np.stack([x[:, 0], _pair(f)(x)], axis=1)


FLUSHED: dict[str, Callable[[Array], Array]] = {
    "sum": _pair(np.add), "prod": _pair(np.multiply), "max": _pair(np.maximum), "min": _pair(np.minimum),
    "cumsum": _scan_pair(np.add), "cumprod": _scan_pair(np.multiply),
}


def around_tiny(kind: Kind, shape: Shape, rng: np.random.Generator) -> Array:
    """Numbers on both sides of the smallest normal one."""
    x = rng.uniform(1, 2, shape) * np.exp2(rng.integers(-132, -120, shape)) * rng.choice([-1, 1], shape)
    return x.astype(np.float32)


def batches() -> Iterator[Batch]:
    yield from option_batches()
