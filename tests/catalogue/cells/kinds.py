"""The dtypes of the language as cells see them: host arrays, kernels' ways in and out, special and random values.

Formats that no host array has travel in another one: float8_e5m3fnu as its codes in uint8, tfloat32 and float4_e2m1fn
as float32 arrays of values that the format holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.cells.formats import LIMITS
from catalogue.cells.rounding import to_format

import tilewright as ct
from tilewright.tileir.dtypes import DType

Array = np.ndarray[Any, Any]
TileFunction = Callable[[Any], Any]


@dataclass(frozen=True)
class Kind:
    """One dtype. `load` makes a tile of it from a tile of the host's dtype, `store` the way back."""

    name: str
    dtype: DType
    host: np.dtype[Any]
    load: TileFunction = field(compare=False, repr=False)
    store: TileFunction = field(compare=False, repr=False)
    values: Callable[[Array], Array] = field(compare=False, repr=False)  # host array -> numbers, exact
    hold: Callable[[Array], Array] = field(compare=False, repr=False)  # numbers that the format has -> host array

    def __str__(self) -> str:
        return self.name

    @property
    def is_int(self) -> bool:
        return self.dtype.is_int

    @property
    def is_float(self) -> bool:
        return self.dtype.is_float

    @property
    def bits(self) -> int:
        return self.dtype.bitwidth


def _same(t: Any) -> Any:
    return t


def _through_float32(dtype: DType) -> tuple[TileFunction, TileFunction]:
    return (lambda t: ct.astype(t, dtype)), (lambda t: ct.astype(t, ct.float32))


def _through_codes(dtype: DType) -> tuple[TileFunction, TileFunction]:
    return (lambda t: ct.bitcast(t, dtype)), (lambda t: ct.bitcast(t, ct.uint8))


def small_value(code: int, exponent: int, mantissa: int) -> float:
    """The value of a code of an unsigned format with the usual bias and one NaN, the last code."""
    bias = (1 << (exponent - 1)) - 1
    if code == (1 << (exponent + mantissa)) - 1:
        return float("nan")
    top, fraction = code >> mantissa, code & ((1 << mantissa) - 1)
    if top == 0:
        return fraction * 2.0 ** (1 - bias - mantissa)
    return (1 + fraction / 2**mantissa) * 2.0 ** (top - bias)


_E5M3 = np.array([small_value(code, 5, 3) for code in range(256)])


def _hold_e5m3(x: Array) -> Array:
    x = np.asarray(x, np.float64)
    code = np.searchsorted(_E5M3[:255], np.where(np.isnan(x), 0, x))
    assert (np.isnan(x) | (_E5M3[np.minimum(code, 254)] == x)).all(), "not a value of float8_e5m3fnu"
    return np.where(np.isnan(x), 255, code).astype(np.uint8)


def _plain(dtype: DType, host: Any) -> Kind:
    host = np.dtype(host)
    if dtype.is_float:
        # Values of formats up to 64 bits are exact in float64.
        return Kind(dtype.name, dtype, host, _same, _same, lambda a: a.astype(np.float64), lambda a: a.astype(host))
    return Kind(dtype.name, dtype, host, _same, _same, lambda a: a, lambda a: a.astype(host))


def _kinds() -> dict[str, Kind]:
    found = [_plain(ct.bool_, np.bool_)]
    found += [_plain(getattr(ct, n), n) for n in ("int8", "int16", "int32", "int64")]
    found += [_plain(getattr(ct, n), n) for n in ("uint8", "uint16", "uint32", "uint64")]
    found += [_plain(ct.float16, np.float16), _plain(ct.bfloat16, ml_dtypes.bfloat16)]
    found += [_plain(ct.float32, np.float32), _plain(ct.float64, np.float64)]
    as_f32 = (lambda a: a.astype(np.float64)), (lambda a: a.astype(np.float32))
    f32 = np.dtype(np.float32)
    found += [Kind("tfloat32", ct.tfloat32, f32, *_through_float32(ct.tfloat32), *as_f32)]
    found += [_plain(ct.float8_e4m3fn, ml_dtypes.float8_e4m3fn), _plain(ct.float8_e5m2, ml_dtypes.float8_e5m2),
              _plain(ct.float8_e8m0fnu, ml_dtypes.float8_e8m0fnu)]
    found += [Kind("float8_e5m3fnu", ct.float8_e5m3fnu, np.dtype(np.uint8), *_through_codes(ct.float8_e5m3fnu),
                   lambda a: _E5M3[a], _hold_e5m3)]
    found += [Kind("float4_e2m1fn", ct.float4_e2m1fn, f32, *_through_float32(ct.float4_e2m1fn), *as_f32)]
    return {kind.name: kind for kind in found}


KINDS: dict[str, Kind] = _kinds()
BOOL = KINDS["bool_"]
SIGNED = tuple(KINDS[n] for n in ("int8", "int16", "int32", "int64"))
UNSIGNED = tuple(KINDS[n] for n in ("uint8", "uint16", "uint32", "uint64"))
INTS = SIGNED + UNSIGNED
FLOATS = tuple(KINDS[n] for n in ("float16", "bfloat16", "float32", "float64"))
STORED = tuple(k for k in KINDS.values() if not k.dtype.arithmetic)
"""The formats that can be stored and converted but not computed with."""
F16, BF16, F32, F64 = FLOATS
I32 = KINDS["int32"]
TF32, E4M3, E5M2, E8M0, E5M3, E2M1 = STORED
ALL = tuple(KINDS.values())


# -- Values ----------------------------------------------------------------------------------------------------------


def specials(kind: Kind) -> Array:
    """Sixteen boundary values of a dtype."""
    if kind is BOOL:
        return np.arange(16) % 3 == 1
    if kind.is_int:
        info = np.iinfo(kind.host)
        top = 1 << (kind.bits - 2)
        numbers = [0, 1, 2, 3, 7, top - 1, top, top + 1, info.max, info.max - 1, info.min, info.min + 1, 5, 10]
        numbers += [-1, -7] if info.min else [info.max // 2 + 1, 1 << (kind.bits // 2)]
        return np.array(numbers, dtype=kind.host)
    limits = LIMITS[kind.name]
    unit = Fraction(1, 2**limits.mantissa)
    exact = [Fraction(1), 1 + unit if limits.mantissa else Fraction(2), Fraction(1, 2), Fraction(2), limits.largest,
             limits.largest / 2, limits.smallest, limits.normal, limits.normal * 2]
    exact += [limits.normal - limits.smallest] if limits.has_zero else [Fraction(4)]
    out = [float(n) for n in exact]
    out += [0.0, -0.0 if limits.has_sign else 0.0] if limits.has_zero else [8.0, 16.0]
    out += [float("inf"), float("-inf")] if limits.has_inf else [3.0 if limits.mantissa else 32.0, float(limits.normal)]
    out += [float("nan") if limits.has_nan else 4.0, -out[1] if limits.has_sign else 4.0]
    return kind.hold(np.array(out))


def sample(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator, special: bool = True) -> Array:
    """Random values of all magnitudes, boundary values among them."""
    n = int(np.prod(shape))
    if kind is BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.is_int:
        info = np.iinfo(kind.host)
        out = rng.integers(info.min, info.max, n, dtype=kind.host, endpoint=True)
        small = rng.integers(0, 2, n).astype(bool)
        out = np.where(small, out % 100, out).astype(kind.host)
    else:
        out = _floats(kind, n, rng)
    if special and n > 2:
        places = rng.choice(n, max(1, n // 4), replace=False)
        out[places] = rng.choice(specials(kind), len(places))
    return out.reshape(shape)


def _floats(kind: Kind, n: int, rng: np.random.Generator) -> Array:
    limits = LIMITS[kind.name]
    reach = min(10, max(1, -limits.lowest))
    x = rng.standard_normal(n) * np.exp2(rng.integers(-reach, reach + 1, n))
    if not limits.has_sign:
        x = np.abs(x)
    return kind.hold(to_format(x, kind.name)) if kind not in FLOATS else x.astype(kind.host)


def moderate(kind: Kind, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Values near 1 that sums and products of many of them stay finite with; integers of the whole range."""
    if not kind.is_float:
        return sample(kind, shape, rng, special=False)
    x = rng.uniform(0.5, 1.5, shape) * rng.choice([-1, 1], shape)
    return x.astype(kind.host)
