"""Slots of rings: 16-byte copies, and rows of matrices without bank conflicts."""

from __future__ import annotations

import pytest

from tilewright.backend_ptx.layouts.matrices import matrix_rows, ring_layout, widest_copy
from tilewright.backend_ptx.layouts.mma import Fragment, fragment_layouts
from tilewright.backend_ptx.layouts.shared import bank_conflicts
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import blocked
from tilewright.tileir.layouts.buffers import access_vector, copy_vector, offset_bases

FRAGMENTS = {4: Fragment(16, 8, 8, 1), 2: Fragment(16, 8, 16, 2), 1: Fragment(16, 8, 32, 4)}
# (M, N, K, warps)
SIZES = [(128, 128, 64, 8), (128, 256, 64, 8), (64, 64, 32, 4), (128, 128, 32, 4), (64, 32, 128, 4), (256, 64, 32, 8)]


def layouts(size: tuple[int, int, int, int], width: int, operand: str) -> tuple[Layout, int]:
    m, n, k, warps = size
    return getattr(fragment_layouts((m, n), k, FRAGMENTS[width], warps), operand), warps


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("operand", "order", "width"), [
    ("a", (1, 0), 2), ("a", (0, 1), 2), ("b", (1, 0), 2), ("b", (0, 1), 2),  # 16 bits: rows along either axis
    ("a", (1, 0), 4), ("b", (0, 1), 4), ("a", (1, 0), 1), ("b", (0, 1), 1),  # else only along k
])
def test_rows_without_conflicts(
    size: tuple[int, int, int, int], operand: str, order: tuple[int, ...], width: int,
) -> None:
    reader, warps = layouts(size, width, operand)
    copy = blocked(reader.shape, order, 16 // width, warps)
    rows = matrix_rows(copy, reader, width, lowest=True)
    assert rows is not None
    ring = ring_layout(copy, (reader,), width)
    assert widest_copy(ring, copy, 16 // width, width) == 16
    assert access_vector(ring, rows, width)[0] == 16 // width
    assert bank_conflicts(ring, copy, width) == 0
    assert bank_conflicts(ring, rows, width) == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("operand", "order"), [("a", (0, 1)), ("b", (1, 0))])
def test_words_across_the_copies_without_conflicts(
    size: tuple[int, int, int, int], operand: str, order: tuple[int, ...],
) -> None:
    """32-bit elements that lie along M or N: no instruction turns them, so that each lane reads its own word."""
    reader, warps = layouts(size, 4, operand)
    copy = blocked(reader.shape, order, 4, warps)
    ring = ring_layout(copy, (reader,), 4)
    assert widest_copy(ring, copy, 4, 4) == 16
    assert bank_conflicts(ring, copy, 4) == 0
    assert bank_conflicts(ring, reader, 4) == 0


@pytest.mark.parametrize("vector", [1, 2, 4])
def test_copies_move_what_lies_side_by_side(vector: int) -> None:
    """Element by element: register k * v + i of every thread lies i elements after register k * v."""
    copy = blocked((32, 64), (1, 0), vector, 4)
    reader = blocked((32, 64), (0, 1), vector, 4)
    ring = ring_layout(copy, (reader, copy), 4)
    v = copy_vector(ring, copy, 4)
    bases = offset_bases(ring, copy).register
    for register in range(1 << len(bases)):
        place = 0
        for bit, offset in enumerate(bases):
            place ^= offset if register >> bit & 1 else 0
        first = place - register % v
        assert first % v == 0 and first >= 0
