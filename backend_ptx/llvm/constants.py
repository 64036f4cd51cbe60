"""LLVM spellings of numbers and types: float constants bit for bit, vector types, intrinsic suffixes."""

from __future__ import annotations

import math
import struct

FLOATS = ("half", "bfloat", "float", "double")
# Types whose bits may be taken apart and put together.
BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
# Lanes that are registers of their own; narrower ones share.
WIDE = frozenset(("float", "double", "i32", "i64"))
_PACKED = {"half": "<e", "float": "<f", "double": "<d"}
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}


def type_text(elem: str, n: int) -> str:
    """`elem` for n == 0, else `<n x elem>`."""
    return f"<{n} x {elem}>" if n else elem


def suffix(elem: str, n: int) -> str:
    """How an overloaded intrinsic names the type: `f32`, `v4f32`, `i64`, `p1`."""
    if elem.startswith("ptr addrspace("):
        base = "p" + elem[len("ptr addrspace(") : -1]
    else:
        base = _SUFFIX.get(elem, elem)
    return f"v{n}{base}" if n else base


def _pack(code: str, value: float) -> bytes:
    try:
        return struct.pack(code, value)
    except OverflowError:
        return struct.pack(code, math.copysign(math.inf, value))


def bfloat_bits(value: float) -> int:
    """The bits of `value` rounded to bfloat16 (via float32, ties to even)."""
    bits: int = struct.unpack("<I", _pack("<f", value))[0]
    if value != value:
        return bits >> 16 | 0x40
    return bits + 0x7FFF + (bits >> 16 & 1) >> 16


def float_bits(elem: str, value: float) -> int:
    """The bits of `value` rounded to the format."""
    return bfloat_bits(value) if elem == "bfloat" else int.from_bytes(_pack(_PACKED[elem], value), "little")


def float_text(elem: str, value: float) -> str:
    """`value`, rounded to the format, as LLVM spells it in hexadecimal (a float as the double it equals)."""
    if elem == "float":
        [value] = struct.unpack("<f", _pack("<f", value))
    if elem in ("float", "double"):
        return f"0x{float_bits('double', value):016X}"
    return f"0x{'H' if elem == 'half' else 'R'}{float_bits(elem, value):04X}"


def int_constant(elem: str, value: int) -> tuple[int, str]:
    """`value` modulo 2^width, in the range of the signed type (i1: 0 or 1), and as a decimal (i1: true or false). What
    is folded from constants must not grow: the squares of a power would double in length 31 times."""
    bits = int(elem[1:])
    value &= (1 << bits) - 1
    if bits == 1:
        return value, "true" if value else "false"
    value -= value >> (bits - 1) << bits
    return value, str(value)


def const_text(elem: str, value: float | int | bool) -> str:
    """A scalar constant of type `elem`."""
    return float_text(elem, float(value)) if elem in FLOATS else int_constant(elem, int(value))[1]
