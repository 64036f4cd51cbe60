"""Blocks that share a row have as much of it each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.passes.clusters.form_clusters import form_clusters
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import compile_function
from tilewright.tileir.analysis.evaluate import evaluate
from tilewright.tileir.core import Function
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.arrays import BlockId, Extent, SliceArray, Stride
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text
from tilewright.tileir.verifier import verify

WIDTH = 1024


@tw.tile_kernel(num_ctas=4)
def scaled(x, w, out, total, width: tw.Constant[int]):
    """Beyond the columns of x, elements count in the sum, and are stored where `out` has more columns."""
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO)
    inside = tw.arange(width, dtype=tw.int32)[None, :] < x.shape[1]
    centred = tw.where(inside, t - 1.0, 2.0)
    s = tw.sum(centred, axis=1, keepdims=True)
    tw.store(total, (i, 0), s)
    tw.store(out, (i, 0), centred * tw.load(w, (0,), (width,), padding_mode=tw.PaddingMode.ZERO) + s + t.shape[1])


@tw.tile_kernel(num_ctas=4)
def numbered(x, w, out, total, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (i, 0), t + tw.arange(width, dtype=tw.int32)[None, :])
    tw.store(total, (i, 0), tw.sum(t, axis=1, keepdims=True))


@tw.tile_kernel(num_ctas=4)
def grouped(x, w, out, total, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO).reshape((width // 16, 16))
    tops = tw.max(t, axis=1, keepdims=True)
    tw.store(total, (i, 0), tw.sum(tops, axis=0, keepdims=True))
    tw.store(out, (i, 0), (t - tops).reshape((1, width)))


@tw.tile_kernel(num_ctas=4)
def summed_up(x, w, out, total, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (i, 0), tw.cumsum(t, axis=1))
    tw.store(total, (i, 0), tw.sum(t, axis=1, keepdims=True))


@tw.tile_kernel(num_ctas=4)
def second(x, w, out, total, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 1), (1, width), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (i, 0), t)
    tw.store(total, (i, 0), tw.sum(t, axis=1, keepdims=True))


def formed(kernel: Any, *arrays: np.ndarray, known: bool = False) -> Function:
    """`known`: with what a launch knows of the arrays' alignment."""
    specs = arrays if known else (tw.spec(f"f32[{'x'.join('?' * a.ndim)}]".replace("x", ",")) for a in arrays)
    f: Function = kernel.lower(*specs, WIDTH, target="sm_90a").tile_ir()
    form_clusters(Compilation(f, get_target("sm_90a")))
    verify(f)
    assert f.plan.cluster == 4
    return f


def arrays_of(columns: int, weights: int, stored: int) -> list[np.ndarray]:
    rng = np.random.default_rng(columns)
    return [rng.integers(-9, 9, (3, columns)).astype(np.float32), rng.integers(-3, 3, weights).astype(np.float32),
            np.zeros((3, stored), np.float32), np.zeros((3, 1), np.float32)]


def sliced(f: Function) -> int:
    return sum(isinstance(op, SliceArray) for op in f.walk())


@pytest.mark.parametrize(("columns", "weights", "stored"), [
    (1, 1, 1), (513, 513, 513), (700, 700, 700), (700, 900, 800), (900, 5, 1001), (1024, 1024, 1024), (1500, 1100, 40)])
def test_as_without_clusters(columns: int, weights: int, stored: int) -> None:
    arrays = arrays_of(columns, weights, stored)
    f = formed(scaled, *arrays)
    assert sliced(f) == 3
    wanted = [a.copy() for a in arrays]
    scaled[(3,)](*wanted, WIDTH)
    compile_function(parse(to_text(f))).run((3, 1, 1), arrays)
    for got, want in zip(arrays[2:], wanted[2:], strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("columns", [16, 528, 704, 1024, 1600])
def test_parts_are_as_aligned_as_the_array(columns: int) -> None:
    arrays = arrays_of(columns, columns, columns)
    f = formed(scaled, *arrays, known=True)
    slices = [op for op in f.walk() if isinstance(op, SliceArray)]
    assert [(op.type.align, op.type.extent_div[op.axis]) for op in slices] == [(16, 16)] * 3
    wanted = [a.copy() for a in arrays]
    scaled[(3,)](*wanted, WIDTH)
    compile_function(parse(to_text(f))).run((3, 1, 1), arrays)
    for got, want in zip(arrays[2:], wanted[2:], strict=True):
        np.testing.assert_array_equal(got, want)


def test_sub_tiles_lie_side_by_side_where_parts_would_be_less_aligned() -> None:
    """A row of 701 columns in one of 704: an empty part would begin at column 701."""
    arrays = arrays_of(704, 704, 704)
    assert sliced(formed(walking, arrays[0][:, :701], *arrays[1:], known=True)) == 0
    assert sliced(formed(walking, *arrays, known=True)) == 1


def bound(value: Any, block: int, columns: int) -> Any:
    """An integer that one of three rows' CTAs computes."""
    match value.op:
        case BlockId():
            return block
        case Extent() | Stride():
            return columns
        case Constant(value=number):
            return number
    return evaluate(value.op, [bound(v, block, columns) for v in value.op.operands])


@pytest.mark.parametrize(("columns", "lines"), [(700, True), (701, True), (513, True), (993, True), (1001, False)])
def test_parts_begin_at_lines_of_memory(columns: int, lines: bool) -> None:
    """Of 32 elements, as long as the last part's sub-tile has room for as many as the row begins past one."""
    part = next(op for op in formed(scaled, *arrays_of(columns, columns, columns)).walk() if isinstance(op, SliceArray))
    for row in range(3):
        bounds = [[bound(v, 4 * row + rank, columns) for v in (part.start, part.stop)] for rank in range(4)]
        assert [0, *(stop for _, stop in bounds)] == [*(start for start, _ in bounds), columns]
        assert max(stop - start for start, stop in bounds) <= WIDTH // 4
        assert not lines or all((row * columns + start) % 32 == 0 for start, _ in bounds[1:])


@pytest.mark.parametrize("kernel", [numbered, grouped, summed_up, second])
def test_sub_tiles_lie_side_by_side_where_places_matter(kernel: Any) -> None:
    arrays = arrays_of(700, 700, 700)
    f = formed(kernel, *arrays)
    assert sliced(f) == 0
    wanted = [a.copy() for a in arrays]
    kernel[(3,)](*wanted, WIDTH)
    compile_function(parse(to_text(f))).run((3, 1, 1), arrays)
    np.testing.assert_array_equal(arrays[2], wanted[2])


@tw.tile_kernel(num_ctas=4)
def walking(x, w, out, total, width: tw.Constant[int]):
    for i in range(tw.bid(0), x.shape[0], tw.num_blocks(0)):
        t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO)
        tw.store(total, (i, 0), tw.sum(t, axis=1, keepdims=True))


@pytest.mark.parametrize("columns", [513, 700, 1024])
def test_rows_in_a_loop_have_even_parts_too(columns: int) -> None:
    arrays = arrays_of(columns, columns, columns)
    f = formed(walking, *arrays)
    assert sliced(f) == 1
    compile_function(parse(to_text(f))).run((2, 1, 1), arrays)
    np.testing.assert_array_equal(arrays[3], arrays[0].sum(1, keepdims=True))
