"""Cells of conversions: astype in every pair and rounding mode, calls of dtypes, the casts of store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from catalogue.cells.kinds import (
    ALL,
    BF16,
    BOOL,
    E2M1,
    E4M3,
    E5M2,
    E8M0,
    F16,
    F32,
    F64,
    FLOATS,
    INTS,
    SIGNED,
    TF32,
    UNSIGNED,
    Kind,
)
from catalogue.cells.model import Array, Batch
from catalogue.cells.pointwise import Form, Place, operands, pointwise, unary_places
from catalogue.cells.rounding import round_number, to_format
from catalogue.cells.tilewise import Piece, tilewise

import tilewright as ct

NARROW = (F16, BF16, E5M2, E4M3, E2M1)
MODES = ("RN", "RZ", "RM", "RP", "RA")


def modes(source: Kind, target: Kind) -> tuple[str, ...]:
    """The rounding modes from one float format to another: the table of the language, written once more."""
    if target is F64:
        return MODES
    if target is F32:
        return tuple(m for m in MODES if not ((m in ("RM", "RP", "RA") and source is E8M0)
                                              or (m == "RA" and source is F64)))
    if target is TF32:
        return ("RN", "RZ") if source in (F64, E8M0) else ("RN", "RZ", "RA")
    if target is BF16:
        return ("RN", "RZ")
    if target is F16:
        return MODES if source in NARROW else ("RN", "RZ")
    return ("RZ", "RP") if target is E8M0 else ("RN",)


# -- References --------------------------------------------------------------------------------------------------------


def converted(x: Array, source: Kind, target: Kind, mode: str = "RN") -> Array:
    """`astype`, from the definitions."""
    numbers = source.values(x)
    if target is BOOL:
        return np.asarray(numbers != 0)
    if target.is_int:
        return to_integer(numbers, source, target)
    if source.is_float:
        return target.hold(to_format(numbers, target.name, mode))
    saturate = target not in (*FLOATS, TF32)
    flat = [_from_integer(int(v), target, saturate) for v in numbers.ravel()]
    return target.hold(np.array(flat, np.float64).reshape(numbers.shape))


def _from_integer(v: int, target: Kind, saturate: bool) -> float:
    if v < 0 and not target.dtype.has_sign:
        return math.nan
    return round_number(Fraction(v), target.name, "RN", saturate)


def to_integer(numbers: Array, source: Kind, target: Kind) -> Array:
    """Integers wrap; floats lose their fraction and stop at the ends of the range; NaN is 0."""
    if not source.is_float:
        return numbers.astype(target.host)
    low, high = target.dtype.int_range
    out = [0 if math.isnan(v) else (low if v < 0 else high) if math.isinf(v) else min(max(int(v), low), high)
           for v in map(float, numbers.ravel())]
    return np.array(out, target.host).reshape(numbers.shape)


# -- astype ------------------------------------------------------------------------------------------------------------


def cast_batches() -> Iterator[Batch]:
    for source in ALL:
        for target in ALL:
            if source is not target and not (target is E8M0 and source.is_float):
                yield cast_batch(source, target)
    for source in (*FLOATS, *(k for k in ALL if k.is_float and k not in FLOATS)):
        yield from mode_batches(source)


def cast_batch(source: Kind, target: Kind) -> Batch:
    def function(t, dtype=target.dtype):
        return ct.astype(t, dtype)

    def method(t, dtype=target.dtype):
        return t.astype(dtype)

    return pointwise(f"astype-{source}-{target}", [Form(("astype",), function), Form(("Tile.astype",), method)],
                     (source,), target, operands((source,)), lambda x: converted(x, source, target),
                     dtype=f"{source} to {target}")


def mode_batches(source: Kind) -> Iterator[Batch]:
    """One kernel for each pair of formats, its parts the rounding modes."""
    for target in ALL:
        if not target.is_float or source is target:
            continue
        pieces = [Piece((f"{name}(rounding_mode)", f"RoundingMode.{mode}"), (shape,),
                        written(target, getattr(ct.RoundingMode, mode)),
                        lambda x, mode=mode, target=target: converted(x, source, target, mode), f"rounding {mode}")
                  for k, mode in enumerate(modes(source, target))
                  for name, written, shape in (("astype", _in_mode, (64,)), ("Tile.astype", _method_in_mode, (16,)), (
                      "astype", _in_mode, ((4, 8), (2, 2, 8), (2, 2, 2, 4), ())[k % 4]))]
        yield tilewise(f"astype-rounding-{source}-{target}", (source,), target, pieces, f"{source} to {target}")


def _in_mode(target: Kind, mode: Any) -> Callable[[Any], Any]:
    dtype = target.dtype
    return lambda t: ct.astype(t, dtype, rounding_mode=mode)


def _method_in_mode(target: Kind, mode: Any) -> Callable[[Any], Any]:
    dtype = target.dtype
    return lambda t: t.astype(dtype, rounding_mode=mode)


# -- Calls of dtypes ---------------------------------------------------------------------------------------------------


def call_batches() -> Iterator[Batch]:
    """`ct.int8(x)` of runtime scalars, and of constants."""
    for kind in ALL:
        if kind is E2M1:
            continue  # it cannot be called: a refusal
        dtype = kind.dtype
        sources = [F32 if kind is not E8M0 else BOOL]
        for source in sources:
            places = (Place(((),), "whole"),) * 2
            yield pointwise(f"call-{kind}", [Form((kind.name,), lambda t, d=dtype: d(t))], (source,), kind,
                            operands((source,)), lambda x, s=source, k=kind: converted(x, s, k), places=places,
                            dtype=kind.name)
        yield tilewise(f"constant-{kind}", (F32,), kind, list(constant_pieces(kind)), kind.name)
    # A dtype that cannot be called has constants as factories make them.
    yield tilewise("constant-float4_e2m1fn", (F32,), E2M1, [
        Piece(("float4_e2m1fn",), ((),), lambda t: ct.full((), 2.4, ct.float4_e2m1fn),
              lambda x: E2M1.hold(np.array(2.0)), "constant")], "float4_e2m1fn")


def constant_pieces(kind: Kind) -> Iterator[Piece]:
    """Constants are converted while compiling, as tiles are: integers wrap; floats lose their fraction and saturate."""
    dtype = kind.dtype
    numbers: Sequence[Any] = (0, 1, 300, -1, 2.9, -2.9, True, False, 70000, 1e6, 0.2)
    for number in numbers:
        if kind.is_float and not dtype.has_sign and (number < 0 or number == 0):
            continue
        yield Piece((kind.name,), ((),), lambda t, n=number: dtype(n),
                    lambda x, n=number: constant(n, kind), f"constant {number}")


def constant(number: Any, kind: Kind) -> Array:
    if kind is BOOL:
        return np.array(bool(number))
    if kind.is_int and isinstance(number, float):
        limits = np.iinfo(kind.host)
        return np.array(min(max(int(number), int(limits.min)), int(limits.max)), kind.host)
    if kind.is_int:
        wrapped = int(number) % (1 << kind.bits)
        return np.array(wrapped, np.uint64).astype(kind.host)
    if kind in FLOATS:
        return np.array(number, np.float64).astype(kind.host)
    return kind.hold(to_format(np.array(float(number)), kind.name))


# -- Implicit casts ----------------------------------------------------------------------------------------------------


def widens(source: Kind, target: Kind) -> bool:
    """Whether `store` takes a tile of `source` for an array of `target`."""
    if source is BOOL:
        return target in (*INTS, *FLOATS)
    if source.is_int:
        family = SIGNED if source in SIGNED else UNSIGNED
        return target in FLOATS or (target in family and target.bits > source.bits)
    return (source in (F16, BF16) and target in (F32, F64)) or (source is F32 and target is F64)


def implicit_batches() -> Iterator[Batch]:
    for source in (BOOL, *INTS, *FLOATS):
        for target in (BOOL, *INTS, *FLOATS):
            if widens(source, target):
                yield pointwise(f"implicit-{source}-{target}", [Form(("store", "implicit cast"), lambda t: t)],
                                (source,), target, operands((source,)),
                                lambda x, s=source, t=target: converted(x, s, t), dtype=f"{source} to {target}",
                                places=unary_places()[:6])


def batches() -> Iterator[Batch]:
    yield from cast_batches()
    yield from call_batches()
    yield from implicit_batches()
