"""C's printf conversions of single numbers, in Python: what the GPU's printf writes, on every system."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from tilewright.tileir.dtypes import DType

_PARTS = re.compile(r"%([-+ #0]*)(\d*)(?:\.(\d*))?([a-zA-Z])")


def formatter(form: str, dtype: DType) -> Callable[[Any], str]:
    """The text of one element of a dtype by a conversion such as "%-8.3f". A NaN has no sign."""
    match = _PARTS.fullmatch(form)
    assert match is not None, form
    flags, width, precision, letter = match.groups()
    least = int(width or 0)
    digits = None if precision is None else int(precision or 0)
    if dtype.is_float:
        return lambda x: _pad(*_float(float(x), flags, digits, letter), flags, least)
    bits = 64 if dtype.bitwidth > 32 else 32
    return lambda x: _pad(*_integer(int(x), bits, flags, digits, letter), flags, least)


def _pad(sign: str, body: str, zeros: bool, flags: str, width: int) -> str:
    """`zeros`: the flag 0 may fill with zeros, between the sign (or prefix) and the digits."""
    missing = width - len(sign) - len(body)
    if missing <= 0:
        return sign + body
    if "-" in flags:
        return sign + body + " " * missing
    if "0" in flags and zeros:
        return sign + "0" * missing + body
    return " " * missing + sign + body


def _plus(flags: str) -> str:
    return "+" if "+" in flags else " " if " " in flags else ""


def _integer(value: int, bits: int, flags: str, digits: int | None, letter: str) -> tuple[str, str, bool]:
    value &= (1 << bits) - 1
    sign = ""
    if letter in "di":
        negative = value >> bits - 1
        sign = "-" if negative else _plus(flags)
        value = (1 << bits) - value if negative else value
    body = format(value, letter if letter in "oxX" else "d")
    body = "" if digits == 0 and value == 0 else body.rjust(digits or 0, "0")
    if "#" in flags:
        if letter in "xX" and value:
            sign = "0" + letter
        elif letter == "o" and not body.startswith("0"):
            body = "0" + body
    return sign, body, digits is None


def _float(value: float, flags: str, digits: int | None, letter: str) -> tuple[str, str, bool]:
    sign = "-" if math.copysign(1, value) < 0 and value == value else _plus(flags)
    value = abs(value)
    if not math.isfinite(value):
        body = "nan" if value != value else "inf"
        return sign, body.upper() if letter.isupper() else body, False
    if letter in "aA":
        body = _hexadecimal(value, digits, "#" in flags)
        prefix, body = ("0X", body.upper()) if letter == "A" else ("0x", body)
        return sign + prefix, body, True
    alternative = "#" if "#" in flags else ""
    precision = 6 if digits is None else digits
    return sign, f"%{alternative}.{precision}{letter}" % value, True


def _hexadecimal(value: float, digits: int | None, point: bool) -> str:
    """1.8p+1 for 3.0; with `digits` rounded to nearest even."""
    fraction, exponent = value.hex()[2:].split("p")
    lead, _, tail = fraction.partition(".")
    tail = tail.rstrip("0")
    if digits is not None and len(tail) <= digits:
        tail = tail.ljust(digits, "0")
    elif digits is not None:
        whole, drop = int(lead + tail, 16), 4 * (len(tail) - digits)
        rounded, rest, half = whole >> drop, whole & (1 << drop) - 1, 1 << drop - 1
        rounded += rest > half or (rest == half and rounded & 1)
        text = format(rounded, "x").rjust(digits + 1, "0")
        lead, tail = text[: len(text) - digits], text[len(text) - digits :]
    return lead + ("." if tail or point else "") + tail + "p" + exponent
