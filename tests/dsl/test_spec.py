"""Abstract arguments from text."""

from __future__ import annotations

import pytest

import tilewright as tw

PLAIN = tw.ArrayAnnotation()


@pytest.mark.parametrize("text, printed", [
    ("bf16[4096,4096]", "array<?x?xbf16, strides=?x1, extent_div=16x16, stride_div=8x1, align=16, disjoint, small>"),
    ("bf16[100,5000]", "array<?x?xbf16, strides=?x1, extent_div=1x8, stride_div=8x1, align=16, disjoint, small>"),
    ("f32[100,?]", "array<?x?xf32, strides=?x1, extent_div=4x1, align=16, disjoint>"),
    ("f32[?,64]", "array<?x?xf32, strides=?x1, extent_div=1x16, stride_div=4x1, align=16, disjoint>"),
    ("float32[?]", "array<?xf32, strides=1, align=16, disjoint>"),
    ("f32[64,?]", "array<?x?xf32, strides=?x1, extent_div=16x1, align=16, disjoint>"),
    ("f32[7,9] strides=[1,7] align=4", "array<?x?xf32, strides=1x?, disjoint, small>"),
    ("i64[1,?] strides=[?,2]", "array<1x?xi64, strides=?x?, stride_div=1x2, align=16>"),
    ("bool[]", "array<i1, align=16, disjoint, small>"),
])
def test_arrays(text: str, printed: str) -> None:
    assert str(tw.spec(text).array_type(PLAIN)) == printed


@pytest.mark.parametrize("text", ["bf16[4096,4096]", "f32[?,64]", "f32[7,9] strides=[1,7] align=4", "i32", "f32[]"])
def test_prints_back(text: str) -> None:
    assert str(tw.spec(text)) == text
    assert tw.spec(str(tw.spec(text))) == tw.spec(text)


def test_scalars() -> None:
    assert tw.spec("i32").is_scalar and not tw.spec("i32[]").is_scalar


@pytest.mark.parametrize("text, message", [
    ("", "no argument specification"), ("f32[4", "no argument specification"), ("f33[4]", "no dtype 'f33'"),
    ("f32[4] strides=[1,2]", "1 extents, but 2 strides"), ("f32[4] colour=3", "unknown option 'colour'"),
    ("f32[4] align=3", "power of two"), ("f64[4] align=4", "at least 8"), ("f32[-1]", "negative"),
    ("i32 align=4", "a scalar has neither"),
])
def test_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tw.spec(text)


def test_static_dims_need_numbers() -> None:
    with pytest.raises(ValueError, match="known extent"):
        tw.spec("f32[?,4]").array_type(tw.ArrayAnnotation(static_shape_dims=(0,)))
    assert tw.spec("f32[?,4]").array_type(tw.ArrayAnnotation(static_shape_dims=(1,))).extents == (None, 4)
