"""Addresses and edge masks of a tile of an array: one base per thread, small offsets per register.

Tile origins are 64-bit; inside an array that is `small` byte offsets fit in 32 bits, so all of it is 32-bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod

from tilewright.backend_ptx.layouts.memory import VECTOR_BYTES
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.access import Accesses, Offsets, both
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
from tilewright.backend_ptx.lower.integers import clamped, resized
from tilewright.backend_ptx.lower.positions import thread_index
from tilewright.backend_ptx.ops.async_copy import AsyncLoad
from tilewright.tileir.analysis.accesses import TileWidths
from tilewright.tileir.analysis.ranges import top
from tilewright.tileir.dtypes import uint32
from tilewright.tileir.layouts.flat import is_plain
from tilewright.tileir.layouts.queries import register_offsets
from tilewright.tileir.ops.memory import Load, Store
from tilewright.tileir.types import TileType

_MOST = top(uint32).high


class TileAccess(Accesses):
    """The place of one tile: its elements from index * steps of the array with its axes in the op's order."""

    def __init__(self, ctx: Context, op: Load | Store | AsyncLoad, tile: TileType) -> None:
        self.ctx = ctx
        self.ref: ArrayRef = ctx[op.array]
        self.widths = widths = TileWidths(op, self.ref.type, ctx.layout_of(tile), ctx.facts, VECTOR_BYTES)
        self.shape, self.steps, self.index = tile.shape, op.steps, op.index
        self.layout, self.vector, self.kind = widths.layout, widths.vector, widths.kind
        self.small = self.ref.type.small
        self.plain = is_plain(self.layout)
        self.bytes = self.ref.type.dtype.bytes
        self.registers = slice(None)  # of the tile, which are accessed
        self.inside = False  # whether all of these are inside the array, where a branch around them has told
        # What several accesses share is emitted once.
        self._bases: dict[Offsets, Val] = {}
        self._predicates: dict[tuple[int, int], Val | None] = {}
        self._limits: dict[int, tuple[Val | None, Val]] = {}

    # ---- where ------------------------------------------------------------------------------------------------

    def _origin(self, axis: int, elem: str) -> Val:
        """First element of the tile along an axis."""
        return self.ctx.b.mul(self.ctx.integer(self.index[axis], elem), self.steps[axis])

    def _thread(self, axis: int) -> Val:
        return thread_index(self.ctx, self.layout, axis)

    def _byte_stride(self, axis: int, elem: str) -> Val:
        b = self.ctx.b
        return b.mul(resized(b, self.ref.strides[self.widths.order[axis]], True, elem), self.bytes)

    @cached_property
    def _start(self) -> Val:
        """Address of the thread's register 0; of the tile's first element where the layout is not plain."""
        b, axes, elem = self.ctx.b, range(len(self.shape)), "i32" if self.small else "i64"
        offset = b.const(elem, 0)
        for axis in axes:
            place = self._origin(axis, elem)
            if self.small and self.plain:
                place = b.add(place, self._thread(axis))
            offset = b.add(offset, b.mul(place, self._byte_stride(axis, elem)))
        start = b.gep(self.ref.pointer, resized(b, offset, True, "i64"))
        if self.small or not self.plain:
            return start
        return b.gep(start, self._inner([self._thread(axis) for axis in axes]))

    def _inner(self, places: Sequence[Val]) -> Val:
        """Byte offset inside the tile of the i32 indices `places`, in i64."""
        b = self.ctx.b
        near, far = b.const("i32", 0), b.const("i64", 0)
        for axis, place in enumerate(places):
            known = self.widths.stride(axis)
            if known is not None and abs(known) * self.bytes * self.shape[axis] < 1 << 28:
                near = b.add(near, b.mul(place, known * self.bytes))
            else:
                far = b.add(far, b.mul(b.cast("sext", place, "i64"), self._byte_stride(axis, "i64")))
        return b.add(far, b.cast("sext", near, "i64"))

    def pointer(self, offsets: Offsets) -> Val:
        """Address of the register whose tile index is the thread's combined with `offsets`."""
        b = self.ctx.b
        if not self.plain:
            return b.gep(self._start, self._inner([self._element(k, o) for k, o in enumerate(offsets)]))
        constant = sum((self.widths.stride(k) or 0) * o for k, o in enumerate(offsets)) * self.bytes
        return b.gep(self._base(offsets), constant)

    def _base(self, offsets: Offsets) -> Val:
        """The thread's address moved by the offsets along axes whose strides are known only at launch."""
        dynamic = tuple(0 if self.widths.stride(k) is not None else o for k, o in enumerate(offsets))
        if not self.plain or not any(dynamic):
            return self._start
        if dynamic not in self._bases:
            b = self.ctx.b
            moved = b.const("i64", 0)
            for axis, o in enumerate(dynamic):
                moved = b.add(moved, b.mul(self._byte_stride(axis, "i64"), o))
            self._bases[dynamic] = b.gep(self._start, moved)
        return self._bases[dynamic]

    def _element(self, axis: int, offset: int) -> Val:
        """Index inside the tile along an axis."""
        b = self.ctx.b
        return b.add(self._thread(axis), offset) if self.plain else b.xor(self._thread(axis), offset)

    # ---- which are inside -------------------------------------------------------------------------------------

    @property
    def cuts_vectors(self) -> bool:
        return self.widths.cuts_vectors

    def _limit(self, axis: int) -> tuple[Val | None, Val]:
        """(low, high) in i32: tile indices from low (None: 0) up to below high lie in the array."""
        if axis not in self._limits:
            b, steps, known = self.ctx.b, self.steps[axis], self.ctx.facts[self.index[axis]]
            extent, low = self.ref.extents[self.widths.order[axis]], None
            if extent.elem == "i32" and known.within(0, _MOST):
                number = self.ctx.integer(self.index[axis], "i32")
                if known.high * steps > _MOST:
                    number = b.intrinsic("llvm.umin", [number, b.like(number, _MOST // steps)])
                origin = b.mul(number, steps)
                left = b.sub(b.intrinsic("llvm.umax", [extent, origin]), origin)
                high = clamped(b, left, 0, self.shape[axis], signed=False)
            else:
                origin = self._origin(axis, "i64")
                if known.low < 0:
                    low = self._in_tile(axis, b.sub(b.const("i64", 0), origin))
                high = self._in_tile(axis, b.sub(resized(b, extent, True, "i64"), origin))
            self._limits[axis] = low, high
        return self._limits[axis]

    def _in_tile(self, axis: int, distance: Val) -> Val:
        """A distance in i64 cut to 0..shape, as i32."""
        return self.ctx.b.cast("trunc", clamped(self.ctx.b, distance, 0, self.shape[axis]), "i32")

    def _axis_predicate(self, axis: int, offset: int) -> Val | None:
        """Whether the element at the thread's index and `offset` is inside along one axis; None if all are."""
        kind = self.kind(axis)
        if kind == "nothing":
            return None
        key = (axis, 0 if kind == "tiles" else offset)
        if key not in self._predicates:
            b, (low, high) = self.ctx.b, self._limit(axis)
            if kind == "tiles":
                below, above = b.icmp("sgt", high, 0), None if low is None else b.icmp("eq", low, 0)
            elif self.plain and self.vector == 1 and low is None:  # one instruction for each
                below, above = b.icmp("sgt", b.sub(high, self._thread(axis)), offset), None
            else:
                place, moved = (self._thread(axis), offset) if self.plain else (self._element(axis, offset), 0)
                below = b.icmp("slt", place, b.sub(high, moved))
                above = None if low is None else b.icmp("sge", place, b.sub(low, moved))
            self._predicates[key] = both(b, below, above)
        return self._predicates[key]

    def predicate(self, offsets: Offsets) -> Val | None:
        """Whether the element at `offsets` is inside the array; None if it surely is."""
        out: Val | None = None
        for axis, offset in enumerate(offsets):
            out = both(self.ctx.b, out, self._axis_predicate(axis, offset))
        return out

    def room(self, offsets: Offsets, count: int) -> Val | None:
        """How many of `count` elements along the vector axis, from `offsets` on, are inside (i32); None if all are.

        `count` is at most `vector`, so that the first index is a multiple of it, and none before it is cut off alone.
        """
        b, cut = self.ctx.b, self.widths.vector_axis
        whole = self.predicate(offsets)
        if whole is None or cut < 0 or self.kind(cut) != "any" or self.widths.extent_divisor(cut) % count == 0:
            return None if whole is None else b.select(whole, b.const("i32", count), b.const("i32", 0))
        _, high = self._limit(cut)
        left = b.intrinsic("llvm.smin", [b.sub(high, self._element(cut, offsets[cut])), b.const("i32", count)])
        return b.select(whole, left, b.const("i32", 0))

    def groups(self, count: int) -> Sequence[Offsets]:
        """The offsets of the first register of every access of `count` elements."""
        return register_offsets(self.layout)[self.registers][::count]

    def predicates(self, count: int, whole: bool, mine: Val | None = None) -> Iterator[Val | None]:
        for offsets in self.groups(count):
            yield both(self.ctx.b, mine, None if whole or self.inside else self.predicate(offsets))

    def reaches_all(self, last: int) -> Val | None:
        """Of a row whose elements are accessed one by one: whether all registers up to `last` are inside; None where
        that cannot be told by it, or is sure. What the accesses share is emitted now."""
        inside = self.may_reach(last) if self.vector == 1 else None
        if inside is None:
            self.share(self.vector)
        self._base(self.groups(1)[0])
        return inside

    def may_reach(self, register: int) -> Val | None:
        """Of a row: whether registers from this one on, a power of two of them, may lie inside; None where that cannot
        be told by the first, or is sure."""
        row = self.plain and max(self.shape) == prod(self.shape)
        if not row or any(self.ctx.facts[index].low < 0 for index in self.index):
            return None
        return self.predicate(register_offsets(self.layout)[register])

    def ends(self) -> tuple[Sequence[Val], Sequence[Val]]:
        """An array begins at a multiple of a vector, and so does a tile: only its end falls inside of one."""
        always = self.ctx.b.const("i1", 1)
        inside = [self.predicate(offsets) or always for offsets in self.groups(1)]
        return inside[:: self.vector], inside[self.vector - 1 :: self.vector]

    def share(self, count: int) -> None:
        """Emit now what accesses of `count` elements share, before a branch to several ways."""
        for offsets in self.groups(count):
            self._base(offsets)
            self.predicate(offsets)

    def whole(self, count: int = 1) -> Val:
        """One answer for all threads."""
        b = self.ctx.b
        self.share(count)
        out: Val | None = None
        for axis, shape in enumerate(self.shape):
            if self.kind(axis) != "nothing":
                low, high = self._limit(axis)
                inside = both(b, b.icmp("sge", high, shape), None if low is None else b.icmp("eq", low, 0))
                out = both(b, out, inside)
        assert out is not None
        return out
