"""Addresses and edge masks of a tile of an array: one base per thread, small offsets per register.

Tile origins are 64-bit; inside an array that is `small` byte offsets fit in 32 bits, so all of it is 32-bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from tilewright.backend_ptx.layouts.flat import is_plain
from tilewright.backend_ptx.layouts.queries import vector_along
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.access import MAX_BYTES
from tilewright.backend_ptx.lower.arrays import as_index
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
from tilewright.backend_ptx.lower.positions import thread_index
from tilewright.tileir.core import Value
from tilewright.tileir.layout import Layout

Offsets = tuple[int, ...]


class TileAccess:
    """The place of one tile: `shape` elements from index * steps of the array with its axes in `order`.

    Axis k of the tile is axis order[k] of the array. `layout` is None for a scalar (all shapes 1).
    """

    def __init__(
        self, ctx: Context, array: Value, index: Sequence[Value], shape: tuple[int, ...], steps: tuple[int, ...],
        order: tuple[int, ...], layout: Layout | None, check_bounds: bool,
    ) -> None:
        self.ctx = ctx
        self.ref: ArrayRef = ctx[array]
        self.shape, self.steps, self.order = shape, steps, order
        self.layout = layout
        self.check_bounds = check_bounds
        self.index = tuple(index)
        self.small = self.ref.type.small
        self.plain = layout is None or is_plain(layout)
        self.bytes = self.ref.type.dtype.bytes
        self.vector_axis, self.vector = self._choose_vector()
        self._bases: dict[Offsets, Val] = {}
        self._predicates: dict[tuple[int, int], Val | None] = {}
        self._limits: dict[int, tuple[Val | None, Val]] = {}
        self._inside: dict[int, Val] = {}
        self._start: Val | None = None

    # ---- how wide ---------------------------------------------------------------------------------------------

    def _choose_vector(self) -> tuple[int, int]:
        """(axis, elements) of one access: consecutive in memory and in registers, aligned; (-1, 1) if none are."""
        if self.layout is None:
            return -1, 1
        best = (-1, 1)
        for axis in range(len(self.shape)):
            if self._stride(axis) == 1:
                width = self._aligned(axis, min(vector_along(self.layout, axis), MAX_BYTES // self.bytes))
                if width > best[1]:
                    best = (axis, width)
        return best

    def _stride(self, axis: int) -> int | None:
        return self.ref.type.strides[self.order[axis]]

    def _extent_divisor(self, axis: int) -> int:
        """A number that divides the extent (0 if the extent is 0)."""
        known = self.ref.type.extents[self.order[axis]]
        return known if known is not None else self.ref.type.extent_div[self.order[axis]]

    def _origin_divisor(self, axis: int) -> int:
        """A number that divides the tile's first index (0 if that is 0)."""
        return self.ctx.facts[self.index[axis]].divisor * self.steps[axis]

    def _aligned(self, axis: int, width: int) -> int:
        """The largest power of two up to `width` at a multiple of which every access along `axis` starts."""
        type = self.ref.type
        common = gcd(width, type.align // self.bytes or 1, self._origin_divisor(axis))
        for other in range(len(self.shape)):
            if other != axis and type.extents[self.order[other]] != 1:
                known = self._stride(other)
                common = gcd(common, type.stride_div[self.order[other]] if known is None else known)
        return common & -common

    # ---- where ------------------------------------------------------------------------------------------------

    def _origin(self, axis: int, elem: str) -> Val:
        """First element of the tile along an axis."""
        value = self.index[axis]
        b = self.ctx.b
        return b.mul(as_index(b, self.ctx[value], value.type.dtype.is_signed, elem), self.steps[axis])

    def _thread(self, axis: int) -> Val:
        if self.layout is None:
            return self.ctx.b.const("i32", 0)
        return thread_index(self.ctx, self.layout, axis)

    def _byte_stride(self, axis: int, elem: str) -> Val:
        b = self.ctx.b
        return b.mul(as_index(b, self.ref.strides[self.order[axis]], True, elem), self.bytes)

    def _thread_start(self) -> Val:
        """Address of the thread's register 0 (for plain layouts)."""
        if self._start is None:
            if self.small:
                self._start = self._start_small()
            else:
                self._start = self._start_wide()
        return self._start

    def _start_small(self) -> Val:
        b = self.ctx.b
        offset = b.const("i32", 0)
        for axis in range(len(self.shape)):
            place = self._origin(axis, "i32")
            if self.plain:
                place = b.add(place, self._thread(axis))
            offset = b.add(offset, b.mul(place, self._byte_stride(axis, "i32")))
        return b.gep(self.ref.pointer, b.cast("sext", offset, "i64"))

    def _start_wide(self) -> Val:
        b = self.ctx.b
        uniform = b.const("i64", 0)
        for axis in range(len(self.shape)):
            uniform = b.add(uniform, b.mul(self._origin(axis, "i64"), self._byte_stride(axis, "i64")))
        base = b.gep(self.ref.pointer, uniform)
        if not self.plain:
            return base
        return b.gep(base, self._inner([self._thread(axis) for axis in range(len(self.shape))]))

    def _inner(self, places: Sequence[Val]) -> Val:
        """Byte offset inside the tile of the i32 indices `places`, in i64."""
        b = self.ctx.b
        near, far = b.const("i32", 0), b.const("i64", 0)
        for axis, place in enumerate(places):
            known = self._stride(axis)
            if known is not None and abs(known) * self.bytes * self.shape[axis] < 1 << 28:
                near = b.add(near, b.mul(place, known * self.bytes))
            else:
                far = b.add(far, b.mul(b.cast("sext", place, "i64"), self._byte_stride(axis, "i64")))
        return b.add(far, b.cast("sext", near, "i64"))

    def pointer(self, offsets: Offsets) -> Val:
        """Address of the register whose tile index is the thread's combined with `offsets`."""
        b = self.ctx.b
        if not self.plain:
            return b.gep(self._thread_start(), self._inner([self._element(k, o) for k, o in enumerate(offsets)]))
        constant = sum((self._stride(k) or 0) * o for k, o in enumerate(offsets)) * self.bytes
        return b.gep(self._base(offsets), constant)

    def prepare(self, groups: Sequence[Offsets]) -> None:
        """Emit now what accesses at these offsets share, so that several branches may use it."""
        for offsets in groups:
            self._base(offsets)
            for axis, offset in enumerate(offsets):
                self._axis_predicate(axis, offset)

    def _base(self, offsets: Offsets) -> Val:
        """The thread's address moved by the offsets along axes whose strides are known only at launch."""
        dynamic = tuple(0 if self._stride(k) is not None else o for k, o in enumerate(offsets))
        if not self.plain or not any(dynamic):
            return self._thread_start()
        if dynamic not in self._bases:
            b = self.ctx.b
            moved = b.const("i64", 0)
            for axis, o in enumerate(dynamic):
                moved = b.add(moved, b.mul(self._byte_stride(axis, "i64"), o))
            self._bases[dynamic] = b.gep(self._thread_start(), moved)
        return self._bases[dynamic]

    def _element(self, axis: int, offset: int) -> Val:
        """Index inside the tile along an axis."""
        b = self.ctx.b
        return b.add(self._thread(axis), offset) if self.plain else b.xor(self._thread(axis), offset)

    # ---- which are inside -------------------------------------------------------------------------------------

    def kind(self, axis: int) -> str:
        """What the edge may cut along an axis: "nothing", "tiles" (all or none), "vectors" (whole accesses), "any"."""
        if not self.check_bounds:
            return "nothing"
        shape, divisor = self.shape[axis], self._extent_divisor(axis)
        if self._surely_inside(axis):
            return "nothing"
        if divisor % shape == 0 and self._origin_divisor(axis) % shape == 0:
            return "tiles"
        if axis != self.vector_axis or divisor % self.vector == 0:
            return "vectors"
        return "any"

    def _surely_inside(self, axis: int) -> bool:
        known = self.ref.type.extents[self.order[axis]]
        index = self.ctx.facts[self.index[axis]]
        step = self.steps[axis]
        return known is not None and index.low >= 0 and index.high * step + self.shape[axis] <= known

    @property
    def cuts_vectors(self) -> bool:
        """Whether an edge may fall inside an access of `vector` elements."""
        return any(self.kind(axis) == "any" for axis in range(len(self.shape)))

    @property
    def is_cut(self) -> bool:
        """Whether some of the tile may lie outside of the array."""
        return any(self.kind(axis) != "nothing" for axis in range(len(self.shape)))

    def _limit(self, axis: int) -> tuple[Val | None, Val]:
        """(low, high) in i32: tile indices from low (None: 0) up to below high lie in the array."""
        if axis not in self._limits:
            b, shape = self.ctx.b, self.shape[axis]
            origin = self._origin(axis, "i64")
            extent = as_index(b, self.ref.extents[self.order[axis]], True, "i64")
            low = None
            if self.ctx.facts[self.index[axis]].low < 0:
                low = _clamped(self.ctx, b.sub(b.const("i64", 0), origin), shape)
            self._limits[axis] = low, _clamped(self.ctx, b.sub(extent, origin), shape)
        return self._limits[axis]

    def _axis_predicate(self, axis: int, offset: int) -> Val | None:
        """Whether the element at the thread's index and `offset` is inside along one axis; None if all are."""
        kind = self.kind(axis)
        if kind == "nothing":
            return None
        offset = 0 if kind == "tiles" else offset
        key = (axis, offset)
        if key not in self._predicates:
            b = self.ctx.b
            low, high = self._limit(axis)
            if kind == "tiles":
                predicate = b.icmp("sgt", high, 0)
                first = None if low is None else b.icmp("eq", low, 0)
            elif self.plain:
                predicate = b.icmp("slt", self._thread(axis), b.sub(high, offset))
                first = None if low is None else b.icmp("sge", self._thread(axis), b.sub(low, offset))
            else:
                place = self._element(axis, offset)
                predicate = b.icmp("slt", place, high)
                first = None if low is None else b.icmp("sge", place, low)
            self._predicates[key] = predicate if first is None else b.and_(predicate, first)
        return self._predicates[key]

    def predicate(self, offsets: Offsets) -> Val | None:
        """Whether the element at `offsets` is inside the array; None if it surely is."""
        out: Val | None = None
        for axis, offset in enumerate(offsets):
            one = self._axis_predicate(axis, offset)
            if one is not None:
                out = one if out is None else self.ctx.b.and_(out, one)
        return out

    def room(self, offsets: Offsets, count: int) -> Val | None:
        """How many of `count` elements along the vector axis, from `offsets` on, are inside (i32); None if all are.

        `count` is at most `vector`, so that the first index is a multiple of it, and none before it is cut off alone.
        """
        b, cut = self.ctx.b, self.vector_axis
        whole = self.predicate(offsets)
        if whole is None or cut < 0 or self.kind(cut) != "any" or self._extent_divisor(cut) % count == 0:
            return None if whole is None else b.select(whole, b.const("i32", count), b.const("i32", 0))
        _, high = self._limit(cut)
        left = b.intrinsic("llvm.smin", [b.sub(high, self._element(cut, offsets[cut])), b.const("i32", count)])
        return b.select(whole, left, b.const("i32", 0))

    def whole(self) -> Val:
        """Whether the whole tile is inside: one answer for all threads."""
        b = self.ctx.b
        out: Val | None = None
        for axis, shape in enumerate(self.shape):
            if self.kind(axis) == "nothing":
                continue
            low, high = self._limit(axis)
            one = b.icmp("sge", high, shape)
            if low is not None:
                one = b.and_(one, b.icmp("eq", low, 0))
            out = one if out is None else b.and_(out, one)
        assert out is not None
        return out


def _clamped(ctx: Context, distance: Val, shape: int) -> Val:
    """A distance in i64 cut to 0..shape, as i32."""
    b = ctx.b
    above = b.intrinsic("llvm.smax", [distance, b.like(distance, 0)])
    return b.cast("trunc", b.intrinsic("llvm.smin", [above, b.like(distance, shape)]), "i32")
