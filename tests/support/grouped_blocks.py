"""Products whose blocks `group_grid` may take in groups, and the order in which a GPU then starts them."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as ct
from tilewright.interp import compile_function
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function
from tilewright.tileir.dtypes import int32
from tilewright.tileir.ops.arrays import BlockId
from tilewright.tileir.ops.memory import Scatter, Store
from tilewright.tileir.passes.dce import dce
from tilewright.tileir.passes.group_grid import Order, group_grid
from tilewright.tileir.types import ArrayType
from tilewright.tileir.verifier import verify

ZERO = ct.PaddingMode.ZERO
GROUP = 8  # of tiles as wide as high
Shapes = list[tuple[int, ...]]


def total(a: Any, b: Any, i: Any, j: Any, tm: Any, tn: Any, tk: Any) -> Any:
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, 1, (tm, tk))):
        x, y = (ct.load(a, (i, k), (tm, tk), padding_mode=ZERO), ct.load(b, (k, j), (tk, tn), padding_mode=ZERO))
        acc = ct.mma(x, y, acc)
    return acc


def function(kernel: Any, *more: Any, rank: int = 2) -> Function:
    half, full = (ct.spec(f"{dtype}[{','.join('?' * rank)}]") for dtype in ("f16", "f32"))
    found: Function = kernel.lower(half, half, full, *more, target="sm_90a").tile_ir()
    return found


def chosen(f: Function) -> Order | None:
    found: list[Order] = []
    group_grid(Unit(f), found.append)
    return found[0] if found else None


def started(
    f: Function, grid: tuple[int, int, int], *scalars: int, shapes: Shapes | None = None,
) -> list[tuple[int, ...]]:
    """The index of the tile that each block stores, in the order in which a GPU starts the blocks. `shapes`: of the
    arrays, which are empty else."""
    [index] = [op.index for op in f.body.ops if isinstance(op, Store)]
    shapes = shapes or [(0,) * len(index)] * 3
    out = f.body.add_param(ArrayType(int32, (None,) * 4, (None,) * 4), "places")
    b = Builder(Block())
    ids = [b.value(BlockId(axis=axis)) for axis in (2, 1, 0)]
    for k, value in enumerate(index):
        b.emit(Scatter(array=out, indices=(*ids, b.number(k)), value=value, mask=None, shape=()))
    f.body.ops[:] = [*(op for op in f.body.ops[:-1] if not isinstance(op, Store)), *b.block.ops, f.body.ops[-1]]
    verify(f)
    dce(Unit(f))  # the products
    places = np.full((*grid[::-1], len(index)), -1, np.int32)
    arrays = [np.zeros(shape, dtype) for shape, dtype in zip(shapes, (np.float16, np.float16, np.float32), strict=True)]
    compile_function(f).run(grid, [*arrays, *scalars, places])
    return [tuple(map(int, place)) for place in places.reshape(-1, len(index))]


def groups_of(rows: int, columns: int, size: int = 0) -> list[tuple[int, int]]:
    """The order of tiles as wide as high: in groups of 8 rows, of 4 where there are many."""
    size = size or (GROUP if rows <= 32 else GROUP // 2)
    groups = (range(first, min(first + size, rows)) for first in range(0, rows, size))
    return [(i, j) for group in groups for j in range(columns) for i in group]
