"""A scan along an axis that several warps hold, as scans of what each thread and each warp hold.

Elements that are neighbours in a thread's registers form *runs*. Each thread scans its runs; the totals of all runs are
scanned in turn, exclusively, first in each warp, then across warps through shared memory; and each element is combined
with all that comes before its run. An element costs two combinations and a few for its run, wherever it is held.

What comes before the first of an axis does not exist, and no neutral element is known. There the tiles of what comes
before hold anything, and whoever combines selects by the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.folding import combined, exclusive_scan, function_of
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts import transform
from tilewright.tileir.layouts.blocked import fold_layout
from tilewright.tileir.layouts.flat import LANE, REGISTER, WARP
from tilewright.tileir.machine_ops.layout import converted
from tilewright.tileir.ops.arith import Constant, Gt, Lt, Select
from tilewright.tileir.ops.fold import ReduceWith, ScanWith
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

Tiles = Sequence[Value]


def split_scan(b: Builder, op: ScanWith, warps: int) -> Tiles:
    """What stands in the place of a scan whose axis several warps hold; its operands have one plain layout."""
    return _Split(b, op, warps).scanned(op.srcs)


def totals_of_warps(b: Builder, op: ReduceWith, warps: int) -> Tiles:
    """What is left to reduce of tiles whose axis several warps hold, once each warp has combined what it holds side by
    side; they have one plain layout."""
    split, tiles = _Split(b, op, warps), op.srcs
    for dims in (REGISTER,), (REGISTER, LANE):
        bits = bits_in(tiles[0].type.layout, op.axis, dims)
        tiles = tuple(split.totals([split.cut(v, bits) for v in tiles]))
    return tiles


@dataclass(frozen=True)
class _Split:
    b: Builder
    op: ScanWith | ReduceWith
    warps: int

    @property
    def axis(self) -> int:
        return int(self.op.axis)

    @property
    def reverse(self) -> bool:
        return isinstance(self.op, ScanWith) and self.op.reverse

    def scanned(self, tiles: Tiles) -> Tiles:
        """The scan: of runs in registers, and of what comes before each run."""
        run = bits_in(tiles[0].type.layout, self.axis, (REGISTER,))
        cut = [self.cut(v, run) for v in tiles]
        inner = self._scan(cut)
        before = [self._spread(v, inner[0]) for v in self._before(self.totals(cut))]
        joined = combined(self.b, self.op, before, inner)
        return self._joined(self._has_before(inner[0]), joined, inner, tiles[0])

    def _before(self, tiles: Tiles) -> Tiles:
        """For each element the combination of all that come before it: first in its warp, then of the warps before."""
        layout = tiles[0].type.layout
        if not any(basis[self.axis] for basis in layout.bases(WARP)):
            return exclusive_scan(self.b, self.op, tiles, self.axis, self.reverse)
        within = bits_in(layout, self.axis, (REGISTER, LANE))
        cut = [self.cut(v, within) for v in tiles]
        inner = exclusive_scan(self.b, self.op, cut, self.axis + 1, self.reverse)
        totals = self.totals(cut)
        shape, own = totals[0].type.shape, totals[0].type.layout
        gathered = [converted(self.b, v, fold_layout(shape, self.axis, self.warps)) for v in totals]
        outer = [self._spread(converted(self.b, v, own), cut[0]) for v in self._before(gathered)]
        both = self._joined(self._has_before(cut[0]), combined(self.b, self.op, outer, inner), inner, cut[0])
        return self._joined(self._has_before(cut[0], 1), both, outer, tiles[0])

    # ---- tiles ------------------------------------------------------------------------------------------------------

    def _made(self, op: Op, layout: Layout) -> Value:
        return self.b.value(op).lay_out(layout)

    def _shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.type.shape == shape:
            return value
        return self._made(Reshape(src=value, shape=shape), transform.reshape(value.type.layout, shape))

    def cut(self, value: Value, bits: int) -> Value:
        """The axis as two: of runs of 2**bits elements, and within a run."""
        shape = value.type.shape
        runs = (shape[self.axis] >> bits, 1 << bits)
        return self._shaped(value, (*shape[: self.axis], *runs, *shape[self.axis + 1 :]))

    def _spread(self, value: Value, over: Value) -> Value:
        """A tile of runs for each element of them."""
        shape = over.type.shape
        ones = self._shaped(value, (*shape[: self.axis + 1], 1, *shape[self.axis + 2 :]))
        return self._made(Broadcast(src=ones, shape=shape), over.type.layout)

    def _joined(self, where: Value, these: Tiles, others: Tiles, like: Value) -> Tiles:
        """`these` where the condition holds, in the shape of a tile that was cut."""
        chosen = [self._made(Select(cond=where, lhs=x, rhs=y), x.type.layout)
                  for x, y in zip(these, others, strict=True)]
        return [self._shaped(v, like.type.shape) for v in chosen]

    def _has_before(self, like: Value, axis: int = 0) -> Value:
        """Whether there are runs before an element's (`axis` 1: elements before it in its run)."""
        axis += self.axis
        shape, layout = like.type.shape, like.type.layout
        ones = tuple(n if k == axis else 1 for k, n in enumerate(shape))
        others = tuple(k for k in range(len(shape)) if k != axis)
        index = self._made(Iota(size=shape[axis], dtype=int32), transform.reduce(layout, others))
        index = self._made(Broadcast(src=self._shaped(index, ones), shape=shape), layout)
        end = shape[axis] - 1 if self.reverse else 0
        bound = self._made(Constant(value=end, type=TileType(int32, shape)), layout)
        return self._made((Lt if self.reverse else Gt)(lhs=index, rhs=bound), layout)

    # ---- the function -----------------------------------------------------------------------------------------------

    def _scan(self, tiles: Tiles) -> Tiles:
        """Within each run."""
        body = function_of(self.b, self.op)
        made = self.b.emit(ScanWith(srcs=tuple(tiles), axis=self.axis + 1, reverse=self.reverse, combine=body))
        return [v.lay_out(tiles[0].type.layout) for v in made.results]

    def totals(self, tiles: Tiles) -> Tiles:
        """Of each run, in the order of the scan."""
        body = function_of(self.b, self.op, swapped=self.reverse)
        made = self.b.emit(ReduceWith(srcs=tuple(tiles), axis=self.axis + 1, combine=body))
        layout = transform.reduce(tiles[0].type.layout, (self.axis + 1,))
        return [v.lay_out(layout) for v in made.results]


def bits_in(layout: Layout, axis: int, dims: Sequence[str]) -> int:
    """How many of the lowest bits of an axis lie in these dimensions."""
    held = sum(basis[axis] for dim in dims for basis in layout.bases(dim))
    return (~held & held + 1).bit_length() - 1
