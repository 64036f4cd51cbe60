"""Cells of binary functions and operators over every dtype that they admit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Bound, ulps
from catalogue.cells.kinds import ALL, BOOL, F16, F32, FLOATS, I32, INTS, STORED, Kind
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, many, operands, pointwise, same

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


# -- Loose constants on either side ------------------------------------------------------------------------------------


def constant_batches() -> Iterator[Batch]:
    """Operators with a Python number, which takes the tile's dtype."""
    table: dict[str, tuple[Callable[..., Any], Callable[..., Array]]] = {
        "+": (lambda x: x + 3, lambda x: x + np.array(3, x.dtype)),
        "-": (lambda x: 3 - x, lambda x: np.array(3, x.dtype) - x),
        "*": (lambda x: x * 3, lambda x: x * np.array(3, x.dtype)),
        "<": (lambda x: x < 3, lambda x: x < 3),
        "builtin max": (lambda x: max(x, 3), lambda x: extreme(np.maximum)(x, np.array(3, x.dtype))),
    }
    for symbol, (function, reference) in table.items():
        for kind in NUMBERS:
            shown = symbol if "builtin" in symbol else f"operator {symbol}"
            yield pointwise(f"{symbol.replace('builtin ', '')}-constant-{kind}",
                            [Form((shown, "loose constants"), function)], (kind,),
                            BOOL if symbol == "<" else kind, operands((kind,)), in_float32(reference)
                            if symbol != "<" else reference, dtype=f"{kind} with a constant")


# -- divmod, atan2, pow, where -----------------------------------------------------------------------------------------


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


def where_batches() -> Iterator[Batch]:
    for kind in ALL:
        def reference(c: Array, x: Array, y: Array) -> Array:
            return np.where(c, x, y).astype(x.dtype)

        yield pointwise(f"where-{kind}", [Form(("where",), ct.where)], (BOOL, kind, kind), kind,
                        operands((BOOL, kind, kind)), reference, places=where_places(), dtype=kind.name)
    for kind in (*INTS, *FLOATS, *STORED):
        def chosen(c: Array, x: Array, y: Array, kind: Kind = kind) -> Array:
            return np.where(kind.values(c) != 0, x, y).astype(x.dtype)

        yield pointwise(f"where-condition-{kind}", [Form(("where",), ct.where)], (kind, F16, F16), F16,
                        operands((kind, F16, F16)), chosen, places=where_places(), dtype=f"{kind} as condition")


def where_places() -> tuple[Place, ...]:
    return (Place(((16,), (16,), (16,)), "ragged"), same((), 3, "whole"), same((4, 8), 3), same((2, 4, 4), 3),
            same((2, 2, 2, 4), 3), Place(((4, 1), (8,), ()), "broadcast"), Place(((), (4, 1), (1, 8)), "broadcast"),
            Place(((2, 1, 4), (4, 4), (2, 4, 1)), "broadcast"), many(3))


# -- Two dtypes --------------------------------------------------------------------------------------------------------


def promotion_batches() -> Iterator[Batch]:
    """The common dtype of two: one kernel for each pair that has one."""
    order = {kind: k for k, kind in enumerate((BOOL, *INTS, *FLOATS))}
    for a in order:
        for b in order:
            common = promoted(a, b)
            if a is b or common is None or common is BOOL:
                continue

            def reference(x: Array, y: Array, common: Kind = common) -> Array:
                return in_float32(np.add)(x.astype(common.host), y.astype(common.host))

            yield pointwise(f"promotion-{a}-{b}", [Form(("operator +", "promotion"), lambda x, y: x + y)], (a, b),
                            common, operands((a, b)), reference, dtype=f"{a} with {b}", places=pair_places())


def pair_places() -> tuple[Place, ...]:
    return (Place(((8, 1), (1, 16)), "boundary values", False), Place(((2, 8), (8,)), "broadcast"))


def promoted(a: Kind, b: Kind) -> Kind | None:
    """The table of promotion, written once more."""
    group = {**{BOOL: 0}, **dict.fromkeys(INTS, 1), **dict.fromkeys(FLOATS, 2)}
    if a is b or group[a] != group[b]:
        return a if group[a] >= group[b] else b
    if {a.name, b.name} == {"float16", "bfloat16"} or a.is_int and a.dtype.is_signed != b.dtype.is_signed:
        return None
    return a if a.bits > b.bits else b


# -- Options -----------------------------------------------------------------------------------------------------------


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
    yield from constant_batches()
    yield from divmod_batches()
    yield from atan2_batches()
    yield from power_batches()
    yield from where_batches()
    yield from promotion_batches()
    yield from propagate_batches()
