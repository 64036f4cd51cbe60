"""Tiles that are reduced or scanned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tilewright.tileir.core import Function, Value
from tilewright.tileir.ops.fold import ScanWith
from tilewright.tileir.ops.reduce import Reduction


class Row(NamedTuple):
    """A tile that is reduced or scanned along axes, and how many elements blocks exchange that share one of these."""

    op: Reduction | ScanWith
    tile: Value
    axes: tuple[int, ...]
    elements: int


def rows_of(function: Function) -> list[Row]:
    """Those of a function, in its order."""
    return [_row_of(op) for op in function.walk() if isinstance(op, (Reduction, ScanWith))]


def exchanged(chosen: Mapping[Value, int], rows: Iterable[Row]) -> int:
    """Elements of results that are partial in each block, where these tiles are cut, each along an axis."""
    return sum(row.elements for row in rows if chosen.get(row.tile) in row.axes)


def _row_of(op: Reduction | ScanWith) -> Row:
    if isinstance(op, Reduction):
        return Row(op, op.src, op.axes, op.result.type.size)
    tile = op.srcs[0]
    return Row(op, tile, (op.axis,), len(op.srcs) * tile.type.size // tile.type.shape[op.axis])
