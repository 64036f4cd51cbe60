"""The LLVM types that the backend prints, their sizes, and the NumPy type of their elements."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class Type:
    """Base of all types."""


@dataclass(frozen=True)
class Void(Type):
    pass


@dataclass(frozen=True)
class Int(Type):
    bits: int


@dataclass(frozen=True)
class Float(Type):
    kind: str  # half, bfloat, float or double


@dataclass(frozen=True)
class Ptr(Type):
    space: int = 0


@dataclass(frozen=True)
class VectorType(Type):
    count: int
    elem: Type


@dataclass(frozen=True)
class Array(Type):
    count: int
    elem: Type


@dataclass(frozen=True)
class Struct(Type):
    elems: tuple[Type, ...]


VOID = Void()
I1, I8, I16, I32, I64 = (Int(b) for b in (1, 8, 16, 32, 64))
FLOAT_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64}
_FLOATS: dict[str, np.dtype[Any]] = {
    "half": np.dtype(np.float16), "bfloat": np.dtype(ml_dtypes.bfloat16), "float": np.dtype(np.float32),
    "double": np.dtype(np.float64),
}


@cache
def size_of(t: Type) -> int:
    """Bytes in memory. Structs are unpadded: the backend stores none."""
    match t:
        case Int(bits):
            return max(1, (bits + 7) // 8)
        case Float(kind):
            return FLOAT_BITS[kind] // 8
        case Ptr(_):
            return 8
        case VectorType(count, elem) | Array(count, elem):
            return count * size_of(elem)
        case Struct(elems):
            return sum(map(size_of, elems))
    raise TypeError(f"no size: {t}")


def numpy_type(t: Type) -> np.dtype[Any]:
    """The element type of the array that holds a value: integers are unsigned, i1 is bool, a pointer is uint64."""
    match t:
        case Int(1):
            return np.dtype(bool)
        case Int(bits) if bits in (8, 16, 32, 64):
            return np.dtype(f"u{bits // 8}")
        case Float(kind):
            return _FLOATS[kind]
        case Ptr(_):
            return np.dtype(np.uint64)
        case VectorType(_, elem):
            return numpy_type(elem)
    raise TypeError(f"no registers of type {t}")


def bits_of(t: Type) -> int:
    """Width of a scalar in bits."""
    match t:
        case Int(bits):
            return bits
        case Float(kind):
            return FLOAT_BITS[kind]
        case Ptr(_):
            return 64
    raise TypeError(f"not a scalar: {t}")


def scalar(t: Type) -> Type:
    """The element type of a vector, or the type itself."""
    return t.elem if isinstance(t, VectorType) else t
