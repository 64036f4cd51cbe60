"""Promotion, loose and strict constants, casts: the tables of the language page."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.frontend import dtype_name, result

import tilewright as ct
from tilewright.tileir.dtypes import DType

INTS = (ct.int8, ct.int16, ct.int32, ct.int64)
UINTS = (ct.uint8, ct.uint16, ct.uint32, ct.uint64)
FLOATS = (ct.float16, ct.bfloat16, ct.float32, ct.float64)


def expected(a: DType, b: DType) -> DType | None:
    """The table of section 3, written independently of the frontend."""
    if a is b:
        return a
    order = [(ct.bool_,), UINTS + INTS, FLOATS]
    ka, kb = (next(i for i, group in enumerate(order) if d in group) for d in (a, b))
    if ka != kb:
        return a if ka > kb else b
    if {a, b} == {ct.float16, ct.bfloat16} or (a in INTS) != (b in INTS):
        return None
    return max(a, b, key=lambda d: d.bitwidth)


@pytest.mark.parametrize("a", (ct.bool_, *UINTS, *INTS, *FLOATS), ids=str)
def test_typed_with_typed(a: DType) -> None:
    for b in (ct.bool_, *UINTS, *INTS, *FLOATS):
        def compute(b: DType = b) -> Any:
            return ct.where(True, ct.ones((4,), a), ct.ones((4,), b))

        want = expected(a, b)
        if want is None:
            with pytest.raises(ct.TileTypeError, match="no common type"):
                dtype_name(compute)
        else:
            assert dtype_name(compute) == str(want), (a, b)


@pytest.mark.parametrize("dtype,constant,want", [
    (ct.int8, 1, "int8"), (ct.int8, True, "int8"), (ct.int8, 1.0, "float32"), (ct.int64, 1.0, "float32"),
    (ct.bool_, 1, "int32"), (ct.bool_, 1 << 40, "int64"), (ct.bool_, 1 << 63, "uint64"), (ct.float16, 1e9, "float16"),
    (ct.float16, 1 << 60, "float16"), (ct.float64, 1, "float64"), (ct.uint8, 255, "uint8"),
])
def test_typed_with_loose(dtype: DType, constant: Any, want: str) -> None:
    assert dtype_name(lambda: ct.where(True, ct.ones((2,), dtype), constant)) == want


@pytest.mark.parametrize("compute", [
    lambda: ct.ones((2,), ct.int8) + 128, lambda: ct.ones((2,), ct.int8) < 300,
    lambda: ct.ones((2,), ct.uint8) - (-1), lambda: ct.ones((2,), ct.int8) & 256,
])
def test_a_loose_int_must_fit(compute: Any) -> None:
    with pytest.raises(ct.TileValueError, match="out of range"):
        dtype_name(compute)


@pytest.mark.parametrize("compute,want", [
    (lambda: ct.ones((2,), ct.int64) / ct.ones((2,), ct.int64), "float32"),
    (lambda: ct.ones((2,), ct.bool_) / True, "float32"),
    (lambda: ct.ones((2,), ct.float16) / 2, "float16"),
    (lambda: ct.ones((2,), ct.float16) ** ct.ones((2,), ct.int32), "float16"),
    (lambda: ct.ones((2,), ct.int32) ** 2.0, "float32"),
    (lambda: ct.ones((2,), ct.int8) == ct.ones((2,), ct.int16), "bool_"),
    (lambda: -ct.ones((2,), ct.bool_), "int32"),
    (lambda: abs(ct.ones((2,), ct.bool_)), "bool_"),
    (lambda: ct.exp(ct.ones((2,), ct.int8)), "float32"),
    (lambda: ct.exp(ct.ones((2,), ct.bfloat16)), "bfloat16"),
    (lambda: ct.sum(ct.ones((2,), ct.bool_)), "int32"),
    (lambda: ct.argmax(ct.ones((2,), ct.float16)), "int32"),
    (lambda: ct.bid(0) * 2.5, "float32"),
    (lambda: not ct.ones((2,), ct.float32), "bool_"),
])
def test_result_dtype(compute: Any, want: str) -> None:
    assert dtype_name(compute) == want


@pytest.mark.parametrize("compute", [
    lambda: ct.ones((2,), ct.bool_) + ct.ones((2,), ct.bool_), lambda: ct.ones((2,), ct.bool_) * True,
    lambda: ct.ones((2,), ct.float8_e4m3fn) * 2.0, lambda: ct.ones((2,), ct.int32) & ct.ones((2,), ct.int64),
    lambda: ct.ones((2,), ct.int8) & True, lambda: ct.ones((2,), ct.float32) >> 1,
    lambda: ct.ones((2,), ct.bool_) << 1, lambda: ct.floor(ct.ones((2,), ct.int32)),
    lambda: ct.ones((2,), ct.float32) + "x", lambda: ct.ones((2,), ct.float32) + None,
])
def test_refused(compute: Any) -> None:
    with pytest.raises(ct.TileTypeError):
        dtype_name(compute)


@pytest.mark.parametrize("compute,want", [
    (lambda: -7 // 2, -4), (lambda: -7 % 2, 1), (lambda: 2**-1, 0.5), (lambda: 1 / 2, 0.5),
    (lambda: (1 << 40) >> 38, 4), (lambda: 16777217.0 - 16777216.0, 1.0), (lambda: ct.cdiv(7, 2), 4),
    (lambda: min(3, 2.5), 2.5), (lambda: ct.maximum(math.nan, 2.0), 2.0), (lambda: ct.sqrt(16), 4.0),
    (lambda: ct.int8(300), 44), (lambda: ct.uint8(-1), 255), (lambda: ct.int32(-2.9), -2),
    (lambda: ct.float16(1e6), math.inf), (lambda: ct.int8(100) + 27, 127), (lambda: ct.int8(100) * 2, -56),
    (lambda: int(2.9), 2), (lambda: float("1.5"), 1.5), (lambda: len((1, 2)), 2), (lambda: divmod(7, 2)[1], 1),
    (lambda: abs(-3), 3), (lambda: math.pi // 1, 3.0), (lambda: ct.bfloat16(1.01), 1.0078125),
    (lambda: ct.float64(0.1), 0.1), (lambda: np.int16(5) * 2, 10), (lambda: ct.float32(0.1) * 10, 1.0),
])
def test_constants_fold(compute: Any, want: float) -> None:
    got = result(compute)[0]
    assert got == want or (math.isnan(got) and math.isnan(want))


@pytest.mark.parametrize("value,dtype", list(itertools.product([0.1, 1e300, -2.5], [ct.float64])))
def test_a_double_keeps_its_precision(value: float, dtype: DType) -> None:
    assert result(lambda: ct.zeros((1,), ct.float64) + value)[0] == value


@pytest.mark.parametrize("error,compute", [
    (ct.TileValueError, lambda: 1 // 0), (ct.TileValueError, lambda: ct.sqrt(-1.0)),
    (ct.TileValueError, lambda: 10.0**400), (ct.TileValueError, lambda: 1 << 100000),
    (ct.TileTypeError, lambda: (1, 2) * 2), (ct.TileTypeError, lambda: (1, 2) < (3, 4)),
    (ct.TileTypeError, lambda: ct.float32(None)), (ct.TileValueError, lambda: (-8) ** 0.5),
    (ct.TileValueError, lambda: ct.zeros((2,), ct.int32) + (1 << 70)),
])
def test_constant_errors(error: type[Exception], compute: Any) -> None:
    with pytest.raises(error):
        result(compute)


def test_foreign_dtypes() -> None:
    for foreign, want in ((np.float16, "float16"), (np.dtype("int8"), "int8"), (ml_dtypes.bfloat16, "bfloat16"),
                          (np.bool_, "bool_")):
        assert dtype_name(lambda f=foreign: ct.zeros((2,), f)) == want


@pytest.mark.parametrize("source,target,ok", [
    ("int8", "int32", True), ("bool_", "int8", True), ("bool_", "float16", True), ("int64", "float16", True),
    ("float16", "float64", True), ("float32", "float16", False), ("float32", "int32", False), ("int32", "int8", False),
    ("int8", "uint8", False), ("float16", "bfloat16", False), ("float8_e5m2", "float32", False),
    ("uint8", "uint32", True),
])
def test_implicit_cast_in_store(source: str, target: str, ok: bool) -> None:
    numpy = {"bfloat16": ml_dtypes.bfloat16, "bool_": np.bool_}.get(target) or np.dtype(target)

    @ct.tile_kernel
    def kernel(out):
        ct.store(out, (0,), ct.ones((4,), dtype))

    dtype = getattr(ct, source)
    out = np.zeros(4, numpy)
    if ok:
        kernel[(1,)](out)
        assert (out == 1).all()
    else:
        with pytest.raises(ct.TileTypeError, match="implicitly"):
            kernel[(1,)](out)


@pytest.mark.parametrize("value,target,error", [
    (1.0, np.int32, ct.TileTypeError), (300, np.int8, ct.TileValueError), (2, np.bool_, ct.TileTypeError),
    (1, np.bool_, None), (1.5, np.float16, None), (True, np.int8, None), (7, np.float32, None),
])
def test_implicit_cast_of_constants(value: Any, target: Any, error: Any) -> None:
    @ct.tile_kernel
    def kernel(out):
        ct.store(out, (0,), value)

    out = np.zeros(4, target)
    if error:
        with pytest.raises(error):
            kernel[(1,)](out)
    else:
        kernel[(1,)](out)
        assert out[0] == value
