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

from tilewright.backend_ptx.layouts import transform
from tilewright.backend_ptx.layouts.blocked import fold_layout
from tilewright.backend_ptx.layouts.flat import LANE, REGISTER, WARP
from tilewright.backend_ptx.ops.layout import converted
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import bool_, int32
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops.arith import Constant, Gt, Lt, Select
from tilewright.tileir.ops.control import Yield
from tilewright.tileir.ops.fold import ReduceWith, ScanWith
from tilewright.tileir.ops.shape import Broadcast, Iota, Reshape
from tilewright.tileir.types import TileType

Tiles = Sequence[Value]


def split_scan(b: Builder, op: ScanWith, warps: int) -> Tiles:
    """What stands in the place of a scan whose axis several warps hold; its operands have one plain layout."""
    return _Split(b, op, warps).scanned(op.srcs)


@dataclass(frozen=True)
class _Split:
    b: Builder
    op: ScanWith
    warps: int

    @property
    def axis(self) -> int:
        return self.op.axis

    def scanned(self, tiles: Tiles) -> Tiles:
        """The scan: of runs in registers, and of what comes before each run."""
        run = _bits_in(tiles[0].type.layout, self.axis, (REGISTER,))
        cut = [self._cut(v, run) for v in tiles]
        inner = self._scan(cut)
        before = [self._spread(v, inner[0]) for v in self._before(self._totals(cut))]
        joined = self._combined(before, inner)
        return self._joined(self._has_before(inner[0]), joined, inner, tiles[0])

    def _before(self, tiles: Tiles) -> Tiles:
        """For each element the combination of all that come before it: first in its warp, then of the warps before."""
        layout = tiles[0].type.layout
        if not any(basis[self.axis] for basis in layout.bases(WARP)):
            return self._exclusive(tiles, self.axis)
        within = _bits_in(layout, self.axis, (REGISTER, LANE))
        cut = [self._cut(v, within) for v in tiles]
        inner = self._exclusive(cut, self.axis + 1)
        totals = self._totals(cut)
        shape, own = totals[0].type.shape, totals[0].type.layout
        gathered = [converted(self.b, v, fold_layout(shape, self.axis, self.warps)) for v in totals]
        outer = [self._spread(converted(self.b, v, own), cut[0]) for v in self._before(gathered)]
        both = self._joined(self._has_before(cut[0]), self._combined(outer, inner), inner, cut[0])
        return self._joined(self._has_before(cut[0], 1), both, outer, tiles[0])

    # ---- tiles ------------------------------------------------------------------------------------------------------

    def _made(self, op: Op, layout: Layout) -> Value:
        return self.b.value(op).lay_out(layout)

    def _shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        if value.type.shape == shape:
            return value
        return self._made(Reshape(src=value, shape=shape), transform.reshape(value.type.layout, shape))

    def _cut(self, value: Value, bits: int) -> Value:
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
        end = shape[axis] - 1 if self.op.reverse else 0
        bound = self._made(Constant(value=end, type=TileType(int32, shape)), layout)
        return self._made((Lt if self.op.reverse else Gt)(lhs=index, rhs=bound), layout)

    # ---- the function -----------------------------------------------------------------------------------------------

    def _scan(self, tiles: Tiles) -> Tiles:
        """Within each run."""
        axis, reverse = self.axis + 1, self.op.reverse
        made = self.b.emit(ScanWith(srcs=tuple(tiles), axis=axis, reverse=reverse, combine=self._body()))
        return [v.lay_out(tiles[0].type.layout) for v in made.results]

    def _totals(self, tiles: Tiles) -> Tiles:
        """Of each run, in the order of the scan."""
        made = self.b.emit(ReduceWith(srcs=tuple(tiles), axis=self.axis + 1, combine=self._body(self.op.reverse)))
        layout = transform.reduce(tiles[0].type.layout, (self.axis + 1,))
        return [v.lay_out(layout) for v in made.results]

    def _exclusive(self, tiles: Tiles, axis: int) -> Tiles:
        """For each element the combination of those before it along the axis, of which a warp holds all.

        A scan of triples: of a range of elements all, all but the last, and whether there are any but the last.
        """
        layout, shape = tiles[0].type.layout, tiles[0].type.shape
        none = self._made(Constant(value=False, type=TileType(bool_, shape)), layout)
        scalars = [TileType(v.type.dtype) for v in (*tiles, *tiles, none)]
        count = len(tiles)
        with self.b.into(scalars * 2) as body:
            first, second = body.params[: len(scalars)], body.params[len(scalars) :]
            whole = self._combined(first[:count], second[:count])
            before = self._combined(first[:count], second[count:-1])
            chosen = [self.b.value(Select(cond=second[-1], lhs=x, rhs=y))
                      for x, y in zip(before, first[:count], strict=True)]
            self.b.emit(Yield(values=(*whole, *chosen, self.b.number(True, bool_))))
        made = self.b.emit(ScanWith(srcs=(*tiles, *tiles, none), axis=axis, reverse=self.op.reverse, combine=body))
        return [v.lay_out(layout) for v in made.results][count:-1]

    def _body(self, swapped: bool = False) -> Block:
        """The function; `swapped`: of its arguments in the other order."""
        params = self.op.combine.params
        count = len(params) // 2
        with self.b.into([p.type for p in params]) as body:
            first, second = body.params[:count], body.params[count:]
            given = self._combined(second, first) if swapped else self._combined(first, second)
            self.b.emit(Yield(values=tuple(given)))
        return body

    def _combined(self, first: Tiles, second: Tiles) -> Tiles:
        """The function of tiles, or of scalars; a scalar from outside is the same for all elements."""
        shape, layout = first[0].type.shape, first[0].type.layout

        def spread(of: Value) -> Value:
            return self._made(Broadcast(src=of, shape=shape), layout) if shape else of

        return self.op.of_tiles((*first, *second), spread, self.b.emit)


def _bits_in(layout: Layout, axis: int, dims: Sequence[str]) -> int:
    """How many of the lowest bits of an axis lie in these dimensions."""
    held = sum(basis[axis] for dim in dims for basis in layout.bases(dim))
    return (~held & held + 1).bit_length() - 1
