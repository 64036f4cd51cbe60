"""Slots of bulk copies against a walk over the boxes as the hardware does it, and the tiles that are refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tilewright.backend_ptx.layouts.bulk import bulk_copy, bulk_layout, tma_refusal
from tilewright.tileir.dtypes import bfloat16, float32, int64
from tilewright.tileir.layouts.buffers import inverse
from tilewright.tileir.types import ArrayType

CASES = [
    ((64, 64), 1, 2), ((64, 64), 0, 2), ((128, 32), 1, 2), ((128, 16), 1, 2), ((64, 8), 1, 2), ((4, 64), 1, 2),
    ((512, 64), 1, 2), ((2, 512, 16), 2, 4), ((4, 16, 32), 1, 4), ((1024,), 0, 4), ((16, 256), 1, 1),
    ((2, 4, 2, 4, 8), 4, 4), ((64, 1), 0, 2), ((8, 8), 1, 8), ((256, 128), 0, 2),
]


def hardware_slot(shape: tuple[int, ...], inner: int, size: int) -> np.ndarray:
    """The flat tile index at every element of the slot, written box by box: rows dense, chunks swapped by address."""
    copy = bulk_copy(shape, inner, size)
    flat = np.arange(int(np.prod(shape))).reshape(shape)
    slot = np.full(flat.size, -1)
    for start, offset in copy.pieces:
        part = flat[tuple(slice(s, s + b) for s, b in zip(start, copy.box, strict=True))]
        for number, value in enumerate(part.transpose(tuple(reversed(copy.dims))).ravel()):
            address = offset + number * size
            bits = {0: 0, 32: 1, 64: 2, 128: 3}[copy.swizzle]
            address ^= (address >> 7 & (1 << bits) - 1) << 4
            slot[address // size] = value
    return slot


@pytest.mark.parametrize("shape, inner, size", CASES)
def test_layout_is_what_the_boxes_write(shape: tuple[int, ...], inner: int, size: int) -> None:
    layout, slot = bulk_layout(shape, inner, size), hardware_slot(shape, inner, size)
    strides = np.cumprod([1, *reversed(shape)])[:-1][::-1]
    for offset, expected in enumerate(slot):
        assert int(np.dot(layout.apply(offset=offset), strides)) == expected
    assert len(inverse(layout)) == int(slot.size).bit_length() - 1


@pytest.mark.parametrize("shape, inner, size", CASES)
def test_boxes_are_what_the_hardware_takes(shape: tuple[int, ...], inner: int, size: int) -> None:
    copy = bulk_copy(shape, inner, size)
    assert all(1 <= b <= 256 for b in copy.box)
    assert copy.box[inner] * size % 16 == 0
    if copy.swizzle:
        assert copy.box[inner] * size == copy.swizzle
    pattern = 8 * copy.swizzle or 128
    assert all(offset % pattern == 0 for _, offset in copy.pieces)
    assert len(copy.pieces) * np.prod(copy.box) == np.prod(shape)


def test_operands_of_products_have_the_layout_of_their_descriptors() -> None:
    """K-major: 128-byte rows of k; N-major: sub-tiles of 64 n by all k, one after another."""
    k_major = bulk_copy((128, 64), 1, 2)
    assert (k_major.box, k_major.swizzle, k_major.pieces) == ((128, 64), 128, (((0, 0), 0),))
    n_major = bulk_copy((64, 256), 1, 2)
    assert n_major.box == (64, 64)
    assert n_major.pieces == tuple(((0, 64 * i), 8192 * i) for i in range(4))


def array(**changes: object) -> ArrayType:
    facts: dict[str, object] = {
        "dtype": bfloat16, "extents": (None, None), "strides": (None, 1), "stride_div": (8, 1), "align": 16,
        "disjoint": True, **changes}
    return ArrayType(**facts)  # type: ignore[arg-type]


def refusal(type_: ArrayType, shape: tuple[int, ...] = (64, 64), order: tuple[int, ...] = (0, 1)) -> str | None:
    return tma_refusal(type_, shape, shape, order)


def test_what_is_refused() -> None:
    assert refusal(array()) is None
    assert refusal(array(), order=(1, 0)) is None
    assert refusal(array(strides=(1, None), stride_div=(1, 8))) is None
    assert refusal(array(strides=(72, 1))) is None
    assert "contiguous" in str(refusal(array(strides=(None, None))))
    assert "stride of axis 0" in str(refusal(array(stride_div=(4, 1))))
    assert "stride of axis 0" in str(refusal(array(strides=(1001, 1))))
    assert refusal(array(extents=(1, None), stride_div=(1, 1))) is None  # a stride that nobody uses
    assert "start at" in str(refusal(array(align=2)))
    assert "overlap" in str(refusal(array(disjoint=False)))
    assert "int64" in str(refusal(array(index=int64)))
    assert "rows of 8 bytes" in str(refusal(array(), (64, 4)))
    assert "a tile of 64 bytes" in str(refusal(array(), (4, 8)))
    assert "multiples of 6 bytes" in str(tma_refusal(array(), (64, 64), (64, 3), (0, 1)))
    assert tma_refusal(array(), (64, 64), (3, 8), (0, 1)) is None
    six = ArrayType(float32, (None,) * 6, (*[4] * 5, 1), align=16, disjoint=True)
    assert "6 axes" in str(tma_refusal(six, (2,) * 6, (2,) * 6, tuple(range(6))))


def test_every_bit_of_the_offset_is_used() -> None:
    for shape, inner, size in itertools.islice(CASES, 5):
        assert bulk_layout(shape, inner, size).size("offset") == np.prod(shape)
