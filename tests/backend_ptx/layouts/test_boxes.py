"""Boxes from which bulk copies store: every element once, each warp its own, inside a box as TMA reads it."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

from tilewright.backend_ptx.layouts.boxes import Boxes, block_boxes, box_starts, warp_boxes
from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.backend_ptx.layouts.matrices import matrix_plan, movement
from tilewright.backend_ptx.layouts.mma import Fragment
from tilewright.backend_ptx.layouts.shared import bank_conflicts
from tilewright.backend_ptx.layouts.warpgroup import warpgroup_layouts
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.blocked import blocked
from tilewright.tileir.layouts.buffers import access_vector
from tilewright.tileir.layouts.flat import OFFSET, distributed, parts
from tilewright.tileir.layouts.transform import extract

FRAGMENT = Fragment(16, 8, 16, 2)


def piece(shape: tuple[int, int], warps: int, cut: tuple[int, int]) -> Layout:
    """Part of an accumulator of warpgroups."""
    found = extract(warpgroup_layouts(shape, 64, FRAGMENT, warps).acc, cut)
    assert found is not None
    return found


def of_warp(source: Layout, warp: int) -> set[tuple[int, ...]]:
    """The elements that a warp holds."""
    registers, lanes = (range(source.size(dim)) for dim in ("register", "lane"))
    return {source.apply(register=r, lane=lane, warp=warp) for r, lane in product(registers, lanes)}


SOURCES = {
    "rows of 128 bytes": (piece((128, 256), 8, (128, 64)), 2, (16, 64)),
    "float32": (piece((128, 256), 8, (128, 32)), 4, (16, 32)),
    "8 bits": (piece((128, 256), 8, (128, 128)), 1, (16, 128)),
    "one warpgroup": (piece((64, 256), 4, (64, 64)), 2, (16, 64)),
    "columns divided too": (piece((64, 256), 8, (64, 256)), 2, (16, 128)),
    "two boxes of a warp": (piece((256, 256), 8, (256, 32)), 2, (16, 32)),
    "three axes": (distributed((4, 8, 32), [1, 2, 4, 256], [8, 16, 32, 64, 128], [512]), 2, (2, 8, 32)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_warp_has_its_boxes(name: str) -> None:
    source, size, shape = SOURCES[name]
    inner = len(shape) - 1
    boxes = warp_boxes(source, inner, size)
    assert boxes is not None and boxes.shape == shape and boxes.warps == 1 << len(parts(source)[2])
    starts = box_starts(boxes.layout, shape)
    each = len(starts) // boxes.warps
    inside = list(product(*map(range, shape)))
    for warp in range(boxes.warps):
        mine = [tuple(map(sum, zip(start, at, strict=True)))
                for start in starts[warp * each : (warp + 1) * each] for at in inside]
        assert len(mine) == len(set(mine)) and set(mine) == of_warp(source, warp)


@pytest.mark.parametrize("name", SOURCES)
def test_a_box_lies_as_tma_reads_it(name: str) -> None:
    source, size, shape = SOURCES[name]
    inner = len(shape) - 1
    boxes = warp_boxes(source, inner, size)
    assert boxes is not None
    wanted, count = bulk_layout(shape, inner, size), prod(shape)
    for number, start in enumerate(box_starts(boxes.layout, shape)):
        for offset in range(0, count, 7):
            there = tuple(map(sum, zip(start, wanted.apply(**{OFFSET: offset}), strict=True)))
            assert boxes.layout.apply(**{OFFSET: number * count + offset}) == there


def test_rows_of_another_warpgroup_between() -> None:
    """Warps 0 to 3 have rows 0 to 63 and 128 to 191: two boxes each."""
    source, size, shape = SOURCES["two boxes of a warp"]
    boxes = warp_boxes(source, 1, size)
    assert boxes is not None
    assert box_starts(boxes.layout, shape)[:4] == ((0, 0), (128, 0), (16, 0), (144, 0))


def test_the_whole_tile_is_the_box_of_the_block() -> None:
    assert block_boxes((128, 64), 0, 2) == Boxes((128, 64), 1, bulk_layout((128, 64), 0, 2))
    assert box_starts(bulk_layout((128, 64), 0, 2), (128, 64)) == ((0, 0),)


def test_warps_that_hold_the_same_have_no_boxes() -> None:
    assert warp_boxes(blocked((8, 64), (1, 0), 8, 4), 1, 2) is None


@pytest.mark.parametrize("name", ["rows of 128 bytes", "one warpgroup", "columns divided too", "two boxes of a warp"])
def test_matrices_are_stored_without_conflicts(name: str) -> None:
    source, size, _ = SOURCES[name]
    boxes = warp_boxes(source, 1, size)
    assert boxes is not None
    plan = matrix_plan(boxes.layout, source, size)
    assert plan is not None and plan.per_instruction == 4 and not plan.trans
    assert bank_conflicts(boxes.layout, plan.rows, size) == 0


def test_columns_are_stored_without_conflicts() -> None:
    source = piece((128, 256), 8, (128, 64))
    boxes = block_boxes((128, 64), 0, 2)
    plan = matrix_plan(boxes.layout, source, 2)
    assert plan is not None and plan.per_instruction == 4 and plan.trans
    assert bank_conflicts(boxes.layout, plan.rows, 2) == 0


def test_pairs_of_8_bits_are_stored_without_conflicts() -> None:
    source, size, _ = SOURCES["8 bits"]
    boxes = warp_boxes(source, 1, size)
    assert boxes is not None
    assert access_vector(boxes.layout, source, size)[0] == 2 and bank_conflicts(boxes.layout, source, size) == 0
    assert movement(boxes.layout, source, size).turn is None


def test_words_of_float32_are_stored_in_turns() -> None:
    """Pairs of two rows meet in the banks: the swizzle moves 16 bytes, and a row's pairs take 32."""
    source, size, _ = SOURCES["float32"]
    boxes = warp_boxes(source, 1, size)
    assert boxes is not None
    assert access_vector(boxes.layout, source, size)[0] == 2 and bank_conflicts(boxes.layout, source, size) == 1
    rows, plan, turn = movement(boxes.layout, source, size)
    assert plan is None and turn is not None and bank_conflicts(boxes.layout, rows, size) == 0
    for register, lane in product(range(source.size("register")), range(32)):
        taken = register ^ (lane >> turn.lane_bit & 1) << turn.register_bit
        assert rows.apply(register=register, lane=lane) == source.apply(register=taken, lane=lane)
