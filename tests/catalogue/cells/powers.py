"""Cells of divmod, atan2 and powers; how accurate functions of floats are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Bound, ulps
from catalogue.cells.binary import divisible, overflows
from catalogue.cells.kinds import (
    FLOATS,
    I32,
    INTS,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, operands, pointwise

import tilewright as ct


def divmod_batches() -> Iterator[Batch]:
    for kind in INTS:
        for part, reference in ((0, np.floor_divide), (1, np.remainder)):
            forms = [Form(("divmod",), (lambda x, y: ct.divmod(x, y)[0]) if part == 0
                          else (lambda x, y: ct.divmod(x, y)[1])),
                     Form(("builtin divmod",), (lambda x, y: divmod(x, y)[0]) if part == 0
                          else (lambda x, y: divmod(x, y)[1]))]
            yield pointwise(f"divmod-{part}-{kind}", forms, (kind, kind), kind, operands((kind, kind), divisible),
                            reference, ignore=overflows)


def wide(kind: Kind) -> Any:
    """The dtype in which a reference of a function of floats is computed."""
    return np.longdouble if kind.host == np.float64 else np.float64


def accuracy(kind: Kind, float32: float) -> Bound:
    """Language, 15.17: `float32` ulps, 2 in float64 and 1 in the 16-bit formats, which round a float32 result."""
    return ulps({"float32": float32, "float64": 2.0}.get(kind.name, 1.0), kind.host)


def atan2_batches() -> Iterator[Batch]:
    for kind in FLOATS:
        def reference(y: Array, x: Array, kind: Kind = kind) -> Array:
            return np.arctan2(y.astype(wide(kind)), x.astype(wide(kind))).astype(kind.host)

        yield pointwise(f"atan2-{kind}", [Form(("atan2",), ct.atan2)], (kind, kind), kind, operands((kind, kind)),
                        reference, accuracy(kind, 4))


def power_forms() -> list[Form]:
    return [Form(("pow",), ct.pow), Form(("operator **",), lambda x, y: x ** y)]


def integer_power(x: Array, y: Array) -> Array:
    """Wrapping products; a negative exponent gives 0, or +-1 for a base of +-1."""
    bits = 8 * x.dtype.itemsize

    def one(base: int, exponent: int) -> int:
        if exponent < 0:
            return {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)
        out = pow(base, exponent, 1 << bits)
        return out - (1 << bits) if x.dtype.kind == "i" and out >> (bits - 1) else out

    b, e = np.broadcast_arrays(x, y)
    flat = [one(int(p), int(q)) for p, q in zip(b.ravel(), e.ravel(), strict=True)]
    return np.array(flat, x.dtype).reshape(b.shape)


def float_power(kind: Kind) -> Callable[..., Array]:
    def reference(x: Array, y: Array) -> Array:
        return np.power(x.astype(wide(kind)), y.astype(wide(kind))).astype(kind.host)

    return reference


def power_batches() -> Iterator[Batch]:
    for kind in INTS:
        yield pointwise(f"pow-{kind}", power_forms(), (kind, kind), kind, operands((kind, kind)), integer_power)
    for kind in FLOATS:
        yield pointwise(f"pow-{kind}", power_forms(), (kind, kind), kind, operands((kind, kind)), float_power(kind),
                        accuracy(kind, 4))

    def small(x: Array, y: Array) -> tuple[Array, Array]:
        return x, y % np.int32(7) - np.int32(3)

    for kind in FLOATS:
        # Repeated multiplication: at most 4 roundings and a division, each in the base's dtype or better.
        yield pointwise(f"pow-{kind}-int32", power_forms(), (kind, I32), kind, operands((kind, I32), small),
                        float_power(kind), ulps(6, kind.host), reciprocal_overflows, dtype=f"{kind} to int32")


def reciprocal_overflows(x: Array, y: Array) -> Array:
    """A negative power is 1 / x**n, and 0 where x**n is too large for the dtype."""
    largest = float(ml_dtypes.finfo(x.dtype).max)
    return np.asarray((y < 0) & (np.abs(x.astype(np.longdouble)) ** np.abs(y) > largest) & np.isfinite(
        x.astype(np.float64)))


def batches() -> Iterator[Batch]:
    yield from divmod_batches()
    yield from atan2_batches()
    yield from power_batches()
