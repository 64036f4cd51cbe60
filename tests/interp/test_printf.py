"""Conversions of numbers are those of the C library."""

from __future__ import annotations

import ctypes
import itertools
import math
import sys

import pytest

from tilewright.interp.printf import formatter
from tilewright.tileir import dtypes as dt
from tilewright.tileir.ops.output import brackets

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="compares with glibc")

FLAGS = ["", "-", "0", "+", " ", "#", "#0", "-#", "+0", "- "]
WIDTHS = ["", "1", "12", "30"]
PRECISIONS = ["", ".", ".0", ".1", ".3", ".10"]
FLOATS = [0.0, -0.0, 1.0, -1.5, 3.0, 0.1, 1e-5, 123456.789, 1e22, -2.5e-310, 5e-324, 1.7976931348623157e308, math.inf,
          -math.inf, math.nan, 0.96875, 1.999999]
INTEGERS = [0, 1, -1, 7, -123, 2**31 - 1, -(2**31)]


def c(form: str, value: object) -> str:
    buffer = ctypes.create_string_buffer(1024)
    ctypes.CDLL(None).snprintf(buffer, 1024, form.encode(), value)
    return buffer.value.decode()


@pytest.mark.parametrize("letter", "eEfFgGaA")
def test_floats(letter: str) -> None:
    for flags, width, precision in itertools.product(FLAGS, WIDTHS, PRECISIONS):
        form = f"%{flags}{width}{precision}{letter}"
        show = formatter(form, dt.float64)
        for value in FLOATS:
            assert show(value) == c(form, ctypes.c_double(value)), (form, value)


@pytest.mark.parametrize("letter", "diouxX")
def test_integers(letter: str) -> None:
    for flags, width, precision in itertools.product(FLAGS, WIDTHS, PRECISIONS):
        options = f"%{flags}{width}{precision}"
        for value in INTEGERS:
            shown = formatter(options + letter, dt.int32)(value)
            assert shown == c(options + letter, ctypes.c_int32(value)), (options + letter, value)
        for value in (*INTEGERS, 2**63 - 1, -(2**63)):
            shown = formatter(options + letter, dt.int64)(value)
            assert shown == c(f"{options}ll{letter}", ctypes.c_int64(value)), (options + letter, value)


def test_narrow_integers_are_widened_by_their_sign() -> None:
    assert formatter("%x", dt.int8)(-1) == "ffffffff"
    assert formatter("%x", dt.uint8)(255) == "ff"
    assert formatter("%d", dt.uint32)(2**32 - 1) == "-1"
    assert formatter("%u", dt.uint64)(2**64 - 1) == str(2**64 - 1)
    assert formatter("%d", dt.bool_)(True) == "1"


def test_a_nan_has_no_sign() -> None:
    assert formatter("%+5f", dt.float32)(math.copysign(math.nan, -1)) == " +nan"


@pytest.mark.parametrize(("shape", "text"), [
    ((), "x"), ((1,), "[x]"), ((2,), "[x, x]"), ((2, 2), "[[x, x], [x, x]]"), ((1, 2, 1), "[[[x], [x]]]"),
])
def test_brackets(shape: tuple[int, ...], text: str) -> None:
    around = brackets(shape)
    assert len(around) == math.prod(shape) + 1
    assert "x".join(around) == text
