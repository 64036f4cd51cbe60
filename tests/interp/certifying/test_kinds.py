"""Which axes of a result are rows: each rule of a certificate, by one op between a load and a store."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.inspecting.certificate import certify_kernel

pytest.importorskip("z3")

T, I32 = 4, tw.int32
BOTH, ROWS, COLUMNS, NONE = (0, 1), (0,), (1,), ()


def i(axis):
    return tw.arange(T, dtype=I32)[:, None] if axis == 0 else tw.arange(T, dtype=I32)[None, :]


def whole(axis, t):
    return tw.sum(t, axis=axis, keepdims=True)


OPS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "nothing": (lambda t, y: t, BOTH),
    "a number": (lambda t, y: t * 2.0 + 1.0, BOTH),
    "two tiles": (lambda t, y: t + tw.load(y, (tw.bid(0), tw.bid(1)), (T, T)), BOTH),
    "a select": (lambda t, y: tw.where(t > 0, t, -t), BOTH),
    "the same of all rows": (lambda t, y: t + tw.load(y, (0, tw.bid(1)), (1, T)), BOTH),
    "the same of all columns": (lambda t, y: t + tw.load(y, (tw.bid(0), 0), (T, 1)), BOTH),
    "positions along rows": (lambda t, y: t + i(1), ROWS),
    "positions along columns": (lambda t, y: t + i(0), COLUMNS),
    "positions along both": (lambda t, y: t + i(0) + i(1), NONE),
    "positions, turned": (lambda t, y: t + tw.permute(i(1), (1, 0)), COLUMNS),
    "sums along rows": (lambda t, y: t - whole(1, t), ROWS),
    "sums along columns": (lambda t, y: t - whole(0, t), COLUMNS),
    "sums of all": (lambda t, y: t - tw.sum(t), NONE),
    "argmax along rows": (lambda t, y: t + tw.argmax(t, axis=1)[:, None], ROWS),
    "argmax along columns": (lambda t, y: t + tw.argmax(t, axis=0)[None, :], COLUMNS),
    "sums of positions": (lambda t, y: t + tw.sum(i(0) + i(1), axis=0)[None, :], ROWS),
    "scans along rows": (lambda t, y: tw.cumsum(t, axis=1), ROWS),
    "scans along columns": (lambda t, y: tw.cumsum(t, axis=0), COLUMNS),
    "own scans": (lambda t, y: tw.scan(t, 1, lambda a, b: a + b, 0.0), ROWS),
    "own scans along columns": (lambda t, y: tw.scan(t, 0, lambda a, b: a + b, 0.0), COLUMNS),
    "own reductions": (lambda t, y: t + tw.reduce(t, 1, lambda a, b: a + b, 0.0)[:, None], ROWS),
    "own reductions along columns": (lambda t, y: t + tw.reduce(t, 0, lambda a, b: a + b, 0.0)[None, :], COLUMNS),
    "turned twice": (lambda t, y: tw.permute(tw.permute(t, (1, 0)), (1, 0)), BOTH),
    "sums, turned": (
        lambda t, y: t + tw.permute(tw.sum(tw.permute(t, (1, 0)), axis=0, keepdims=True), (1, 0)), ROWS),
    "axes of length 1": (lambda t, y: tw.reshape(tw.reshape(t, (1, T, 1, T)), (T, T)), BOTH),
    "an axis in two": (lambda t, y: tw.reshape(tw.cumsum(tw.reshape(t, (T, 2, 2)), axis=2), (T, T)), ROWS),
    "the other in two": (lambda t, y: tw.reshape(tw.cumsum(tw.reshape(t, (2, 2, T)), axis=0), (T, T)), COLUMNS),
    "both in one": (lambda t, y: tw.reshape(tw.reshape(t, (T * T,)) * 2.0, (T, T)), NONE),
    "cut along columns": (
        lambda t, y: tw.cat((tw.extract(t, (0, 0), (T, 2)), tw.extract(t, (0, 1), (T, 2))), 1), ROWS),
    "cut along rows": (
        lambda t, y: tw.cat((tw.extract(t, (0, 0), (2, T)), tw.extract(t, (1, 0), (2, T))), 0), COLUMNS),
    "a product, rows": (lambda t, y: tw.matmul(t, tw.load(y, (0, 0), (T, T))), ROWS),
    "a product, rows and columns": (lambda t, y: tw.matmul(t, tw.load(y, (0, tw.bid(1)), (T, T))), ROWS),
    "a product, columns": (lambda t, y: tw.matmul(tw.load(y, (0, 0), (T, T)), t), COLUMNS),
    "a product added": (
        lambda t, y: tw.mma(tw.load(y, (tw.bid(0), 0), (T, T)), tw.load(y, (0, tw.bid(1)), (T, T)), t), NONE),
    "the block's number": (lambda t, y: t + tw.bid(0), COLUMNS),
    "the blocks' number": (lambda t, y: t + tw.num_blocks(0), NONE),
    "a part of an array": (lambda t, y: t + tw.load(y.slice(0, 2, 6), (0, tw.bid(1)), (1, T)), BOTH),
    "a part that follows from the row": (
        lambda t, y: t + tw.load(y.slice(0, tw.bid(0), 8), (0, tw.bid(1)), (1, T)), COLUMNS),
    "how many rows": (lambda t, y: t + y.shape[0], BOTH),
}


def kernel_of(make: Any) -> Any:
    @tw.tile_kernel
    def run(x, y, out):
        at = tw.bid(0), tw.bid(1)
        tw.store(out, at, make(tw.load(x, at, (T, T)), y).astype(tw.float32))
    return run


def floats(*shape: int) -> Any:
    return np.ones(shape, np.float32)


@pytest.mark.parametrize("name", OPS)
def test_axes_of_rows(name: str) -> None:
    make, axes = OPS[name]
    out = certify_kernel(kernel_of(make), (floats(8, 8), floats(8, 8), floats(8, 8)), (2, 2)).outputs["out"]
    assert out.block_order.holds and out.grid.holds == (name != "the blocks' number"), out
    assert out.batch.axes == axes, out.batch
    combines = name.startswith(("sums", "scans", "own", "a product", "an axis", "the other"))
    assert out.batch.tile_size.holds == (bool(axes) and (not combines or "positions" in name)), out.batch


READ = [
    ("the same of all rows", {0: {"x": 0}, 1: {"x": 1, "y": 1}}, {0: ("y",), 1: ()}),
    ("the same of all columns", {0: {"x": 0, "y": 0}, 1: {"x": 1}}, {0: (), 1: ("y",)}),
    ("two tiles", {0: {"x": 0, "y": 0}, 1: {"x": 1, "y": 1}}, {0: (), 1: ()}),
    ("a product, columns", {1: {"x": 1}}, {1: ("y",)}),
]


@pytest.mark.parametrize("name, rows, shared", READ, ids=lambda v: v if isinstance(v, str) else "")
def test_what_a_row_reads(name: str, rows: Any, shared: Any) -> None:
    out = certify_kernel(kernel_of(OPS[name][0]), (floats(8, 8), floats(8, 8), floats(8, 8)), (2, 2)).outputs["out"]
    assert out.batch.rows == rows and out.batch.shared == shared
