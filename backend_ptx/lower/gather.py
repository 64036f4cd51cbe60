"""Gathers and scatters: an address and a predicate for every element, or for every few that lie side by side.

Where the index of the dense axis counts up along the registers of a thread, one access moves a whole vector. Masks and
edges that may fall inside a vector are looked at first: a thread none of whose vectors is cut moves whole ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.backend_ptx.layouts.memory import GatherRun, gather_run
from tilewright.backend_ptx.layouts.queries import vector_along
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.access import Accesses, Offsets, both
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops.async_copy import AsyncGather
from tilewright.tileir.core import Value
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.atomics import Atomic


class Elements:
    """Addresses and predicates of the elements that this thread reads or writes; scalars count as one lane."""

    def __init__(self, ctx: Context, op: ops.Gather | ops.Scatter | Atomic | AsyncGather) -> None:
        self.ctx = ctx
        self.ref: ArrayRef = ctx[op.array]
        self.op = op
        self.lanes = max(1, ctx.lanes(op.indices[0])) if op.indices else 1

    def _index(self, index: Value, lanes: Sequence[int], elem: str) -> Val:
        """Some lanes of an index tile as integers of type `elem`."""
        return resized(self.ctx.b, self.ctx.b.shuffle(self.ctx.vector(index), lanes), index.type.dtype.is_signed, elem)

    def predicate(self, lanes: Sequence[int]) -> Val | None:
        """Which of these lanes are read or written; None if surely all are."""
        b, op = self.ctx.b, self.op
        out = None if op.mask is None else b.shuffle(self.ctx.vector(op.mask), lanes)
        for axis, index in enumerate(op.indices):
            if self.checks(axis):
                out = both(b, out, self._inside(axis, index, lanes))
        return out

    def checks(self, axis: int) -> bool:
        """Whether an index may be outside the array."""
        extent, index = self.ref.type.extents[axis], self.ctx.facts[self.op.indices[axis]]
        return self.op.check_bounds and not (extent is not None and index.within(0, extent - 1))

    def _inside(self, axis: int, index: Value, lanes: Sequence[int]) -> Val:
        """0 <= index < extent by one unsigned comparison, in the wider of both types (at least 32 bits)."""
        b = self.ctx.b
        wide = "i64" if 64 in (index.type.dtype.bitwidth, self.ref.type.index.bitwidth) else "i32"
        position = self._index(index, lanes, wide)
        return b.icmp("ult", position, b.splat(resized(b, self.ref.extents[axis], True, wide), position.n))

    def may_end(self, axis: int, count: int) -> bool:
        """Whether the array may end, along an axis, inside `count` elements that start at a multiple of it."""
        type = self.ref.type
        known = type.extents[axis]
        return self.checks(axis) and (type.extent_div[axis] if known is None else known) % count != 0

    def left(self, axis: int, lanes: Sequence[int]) -> Val:
        """How many elements lie between an index that is inside and the end of the axis, in i32, at most 2^31 - 1."""
        b, position = self.ctx.b, self._index(self.op.indices[axis], lanes, "i64")
        extent = b.splat(resized(b, self.ref.extents[axis], True, "i64"), len(lanes))
        left = b.intrinsic("llvm.smin", [b.sub(extent, position), b.like(position, (1 << 31) - 1)])
        return b.cast("trunc", left, "i32")

    def offsets(self, lanes: Sequence[int]) -> Val:
        """Byte offsets, in i32 where those of all elements inside fit."""
        b, type = self.ctx.b, self.ref.type
        elem = "i32" if type.small else "i64"
        total = b.const(elem, 0, len(lanes))
        for axis, index in enumerate(self.op.indices):
            stride = b.mul(resized(b, self.ref.strides[axis], True, elem), type.dtype.bytes)
            total = b.add(total, b.mul(self._index(index, lanes, elem), b.splat(stride, len(lanes))))
        return total

    def pointers(self, lanes: Sequence[int]) -> list[Val]:
        """The addresses of some lanes."""
        b, offsets = self.ctx.b, self.offsets(lanes)
        return [b.gep(self.ref.pointer, resized(b, b.extract(offsets, i), True, "i64")) for i in range(len(lanes))]


class GatherAccess(Elements, Accesses):
    """Accesses of `vector` elements at a time along axis `dense` of the array, which is `axis` of the index tiles.

    `heads` are the first lanes of each, `places` and `chosen` (None: all) their addresses and predicates; `cut`: lanes
    of a vector, counted from its head, whose predicates may differ from that of the head."""

    def __init__(self, ctx: Context, op: ops.Gather | ops.Scatter) -> None:
        super().__init__(ctx, op)
        self.axis, (self.vector, self.dense) = self._choose(op)
        self.heads = range(0, self.lanes, self.vector)
        self.cut = self._cut()
        self.places = self.pointers(self.heads)
        self.chosen = self.predicate(self.heads)

    def _choose(self, op: ops.Gather | ops.Scatter) -> tuple[int, GatherRun]:
        """The axis of the index tiles along which one access goes (-1: nothing lies side by side), and its elements."""
        best = (-1, GatherRun(1, -1))
        runs = tuple(self.ctx.runs[i] for i in op.indices)
        for axis in range(len(op.shape)):
            found = gather_run(self.ref.type, runs, axis)
            count = min(found.length, vector_along(self.ctx.layout(op.indices[0]), axis))
            if count > best[1].length:
                best = (axis, GatherRun(count, found.dense))
        return best

    def _cut(self) -> Sequence[int]:
        mask = self.op.mask
        if self.vector == 1:
            return ()
        if mask is not None and self.ctx.runs[mask][self.axis].stays < self.vector:
            return range(1, self.vector)
        # What is inside at both ends is inside between.
        return (self.vector - 1,) if self.may_end(self.dense, self.vector) else ()

    @property
    def cuts_vectors(self) -> bool:
        return bool(self.cut)

    def whole(self) -> Val:
        b = self.ctx.b
        assert self.chosen is not None
        out: Val | None = None
        for distance in self.cut:
            other = self.predicate([head + distance for head in self.heads])
            assert other is not None
            differ = b.xor(self.chosen, other)
            out = differ if out is None else b.or_(out, differ)
        assert out is not None
        cut = b.extract(out, 0)
        for i in range(1, out.n):
            cut = b.or_(cut, b.extract(out, i))
        return b.xor(cut, 1)

    def groups(self, count: int) -> Sequence[Offsets]:
        """The number of the vector, and the distance from its head."""
        return [divmod(lane, self.vector) for lane in range(0, self.lanes, count)]

    def pointer(self, place: Offsets) -> Val:
        number, distance = place
        return self.ctx.b.gep(self.places[number], distance * self.ref.type.dtype.bytes)

    def predicates(self, count: int, whole: bool, mine: Val | None = None) -> Iterator[Val | None]:
        b, chosen = self.ctx.b, self.chosen if count == self.vector else self.predicate(range(self.lanes))
        for number in range(self.lanes // count):
            yield both(b, None if chosen is None else b.extract(chosen, number), mine)


@lower(ops.Gather)
def gather(ctx: Context, op: ops.Gather) -> None:
    value = GatherAccess(ctx, op).read(ctx.vector(op.padding))
    ctx.set(op.result, value if op.shape else ctx.b.extract(value, 0))


@lower(ops.Scatter)
def scatter(ctx: Context, op: ops.Scatter) -> None:
    GatherAccess(ctx, op).write(ctx.vector(op.value), owner(ctx, ctx.layout(op.value)))
