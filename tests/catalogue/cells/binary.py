"""Cells of binary functions and operators over every dtype that they admit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.cells.kinds import (
    ALL,
    BOOL,
    F32,
    FLOATS,
    INTS,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, operands, pointwise

import tilewright as ct


def in_float32(f: Callable[..., Array]) -> Callable[..., Array]:
    """16-bit floats in float32, rounded once: exact for + - * / and sqrt, as 24 >= 2 * 11 + 2."""

    def run(*args: Array) -> Array:
        host = args[0].dtype
        if host in (np.float16, ml_dtypes.bfloat16):
            return np.asarray(f(*(a.astype(np.float32) for a in args))).astype(host)
        return np.asarray(f(*args))

    return run


# -- The domain of integer division and of shifts ----------------------------------------------------------------------


def divisible(x: Array, y: Array) -> tuple[Array, Array]:
    """No division by zero, whose result has no meaning."""
    return x, np.where(y == 0, np.array(3, y.dtype), y)


def overflows(x: Array, y: Array) -> Any:
    """INT_MIN / -1 has no meaning."""
    return (x == np.iinfo(x.dtype).min) & (y == -1) if x.dtype.kind == "i" else np.zeros(np.broadcast_shapes(
        x.shape, y.shape), bool)


def shiftable(x: Array, y: Array) -> tuple[Array, Array]:
    return x, (y % np.array(8 * x.dtype.itemsize, x.dtype)).astype(x.dtype)


# -- References --------------------------------------------------------------------------------------------------------


def true_divide(x: Array, y: Array) -> Array:
    if x.dtype.kind in "iub":
        return x.astype(np.float32) / y.astype(np.float32)
    return in_float32(np.divide)(x, y)


def floor_divide(x: Array, y: Array) -> Array:
    """Integers: toward minus infinity. Floats: the floor of the rounded quotient."""
    if x.dtype.kind in "iu":
        return np.floor_divide(x, y)
    return in_float32(np.floor)(in_float32(np.divide)(x, y))


def remainder(x: Array, y: Array) -> Array:
    """The sign of the divisor; of floats the exact remainder, then one rounded addition."""
    if x.dtype.kind in "iu":
        return np.remainder(x, y)
    return in_float32(np.remainder)(x, y)


def ceil_divide(x: Array, y: Array) -> Array:
    return np.floor_divide(x, y) + (np.remainder(x, y) != 0).astype(x.dtype)


def extreme(pick: Any, propagate: bool = False) -> Callable[..., Array]:
    """min and max: NaNs skipped or propagated, -0.0 below 0.0."""

    def f(x: Array, y: Array) -> Array:
        out = pick(x, y)
        if x.dtype.kind in "iu":
            return np.asarray(out)
        minus = np.signbit(x) | np.signbit(y) if pick is np.minimum else np.signbit(x) & np.signbit(y)
        out = np.where((x == 0) & (y == 0), np.where(minus, np.array(-0.0, x.dtype), np.array(0.0, x.dtype)), out)
        if propagate:
            return np.where(np.isnan(x) | np.isnan(y), np.array(np.nan, x.dtype), out)
        return np.where(np.isnan(x), y, np.where(np.isnan(y), x, out))

    return in_float32(f)


# name -> (operator, reference, dtypes, adjustment, elements without a meaning)
Row = tuple[Callable[..., Any] | None, Callable[..., Array], tuple[Kind, ...], Any, Any]
NUMBERS = INTS + FLOATS
ARITHMETIC: dict[str, Row] = {
    "add": (lambda x, y: x + y, in_float32(np.add), NUMBERS, None, None),
    "sub": (lambda x, y: x - y, in_float32(np.subtract), NUMBERS, None, None),
    "mul": (lambda x, y: x * y, in_float32(np.multiply), NUMBERS, None, None),
    "truediv": (lambda x, y: x / y, true_divide, (BOOL, *NUMBERS), None, None),
    "floordiv": (lambda x, y: x // y, floor_divide, NUMBERS, divisible, overflows),
    "mod": (lambda x, y: x % y, remainder, NUMBERS, divisible, overflows),
    "cdiv": (None, ceil_divide, INTS, divisible, overflows),
    "minimum": (lambda x, y: min(x, y), extreme(np.minimum), NUMBERS, None, None),
    "maximum": (lambda x, y: max(x, y), extreme(np.maximum), NUMBERS, None, None),
    "bitwise_and": (lambda x, y: x & y, np.bitwise_and, (BOOL, *INTS), None, None),
    "bitwise_or": (lambda x, y: x | y, np.bitwise_or, (BOOL, *INTS), None, None),
    "bitwise_xor": (lambda x, y: x ^ y, np.bitwise_xor, (BOOL, *INTS), None, None),
    "bitwise_lshift": (lambda x, y: x << y, np.left_shift, INTS, shiftable, None),
    "bitwise_rshift": (lambda x, y: x >> y, np.right_shift, INTS, shiftable, None),
}
COMPARISONS: dict[str, tuple[Callable[..., Any], Callable[..., Array]]] = {
    "equal": (lambda x, y: x == y, np.equal),
    "not_equal": (lambda x, y: x != y, np.not_equal),
    "less": (lambda x, y: x < y, np.less),
    "less_equal": (lambda x, y: x <= y, np.less_equal),
    "greater": (lambda x, y: x > y, np.greater),
    "greater_equal": (lambda x, y: x >= y, np.greater_equal),
}
SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "bitwise_and": "&",
           "bitwise_or": "|", "bitwise_xor": "^", "bitwise_lshift": "<<", "bitwise_rshift": ">>", "equal": "==",
           "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "pow": "**",
           "matmul": "@"}
BUILTINS = {"minimum": "builtin min", "maximum": "builtin max"}


def forms_of(name: str, operator: Callable[..., Any] | None) -> list[Form]:
    """The function by its name, and the operator or builtin."""
    forms = [Form((name,), getattr(ct, name))]
    if operator is not None:
        shown = f"operator {SYMBOLS[name]}" if name in SYMBOLS else BUILTINS[name]
        forms.append(Form((shown,), operator))
    return forms


def arithmetic_batches() -> Iterator[Batch]:
    for name, (operator, reference, kinds, adjust, ignore) in ARITHMETIC.items():
        for kind in kinds:
            result = F32 if name == "truediv" and not kind.is_float else kind
            integers_only = kind.is_int
            yield pointwise(f"{name}-{kind}", forms_of(name, operator), (kind, kind), result,
                            operands((kind, kind), adjust if integers_only else None), reference,
                            ignore=ignore if integers_only else None)


def comparison_batches() -> Iterator[Batch]:
    for name, (operator, reference) in COMPARISONS.items():
        for kind in ALL:
            def compared(x: Array, y: Array, kind: Kind = kind, reference: Any = reference) -> Array:
                return np.asarray(reference(kind.values(x), kind.values(y)))

            yield pointwise(f"{name}-{kind}", forms_of(name, operator), (kind, kind), BOOL, operands((kind, kind)),
                            compared)


def propagate_batches() -> Iterator[Batch]:
    for name, pick in (("minimum", np.minimum), ("maximum", np.maximum)):
        for kind in FLOATS:
            function = getattr(ct, name)
            yield pointwise(f"{name}-propagate-{kind}",
                            [Form((f"{name}(propagate_nan)",), lambda x, y, f=function: f(x, y, propagate_nan=True))],
                            (kind, kind), kind, operands((kind, kind)), extreme(pick, True))


def batches() -> Iterator[Batch]:
    yield from arithmetic_batches()
    yield from comparison_batches()
    yield from propagate_batches()
