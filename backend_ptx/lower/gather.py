"""Gathers and scatters: an address and a predicate for every element, or for every few that lie side by side.

Where the index of the dense axis counts up along the registers of a thread, one access moves a whole vector. Masks and
edges that may fall inside a vector are looked at first: a thread none of whose vectors is cut moves whole ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.layouts.memory import GatherRun, gather_run
from tilewright.backend_ptx.layouts.queries import vector_along
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower import access
from tilewright.backend_ptx.lower.arrays import as_index
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
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

    def pick(self, value: Val, lanes: Sequence[int]) -> Val:
        """Some lanes of a tile."""
        b = self.ctx.b
        return b.shuffle(value if value.n else b.vector([value]), lanes)

    def predicate(self, lanes: Sequence[int]) -> Val | None:
        """Which of these lanes are read or written; None if surely all are."""
        b, op = self.ctx.b, self.op
        out = None if op.mask is None else self.pick(self.ctx[op.mask], lanes)
        for axis, index in enumerate(op.indices):
            if self.checks(axis):
                inside = self._inside(axis, index, lanes)
                out = inside if out is None else b.and_(out, inside)
        return out

    def checks(self, axis: int) -> bool:
        """Whether an index may be outside the array."""
        extent, index = self.ref.type.extents[axis], self.ctx.facts[self.op.indices[axis]]
        return self.op.check_bounds and not (extent is not None and index.within(0, extent - 1))

    def _inside(self, axis: int, index: Value, lanes: Sequence[int]) -> Val:
        """0 <= index < extent by one unsigned comparison, in the wider of both types (at least 32 bits)."""
        b, dtype, type = self.ctx.b, index.type.dtype, self.ref.type
        wide = "i64" if 64 in (dtype.bitwidth, type.index.bitwidth) else "i32"
        position = as_index(b, self.pick(self.ctx[index], lanes), dtype.is_signed, wide)
        extent = as_index(b, self.ref.extents[axis], True, wide)
        return b.icmp("ult", position, b.splat(extent, position.n))

    def may_end(self, axis: int, count: int) -> bool:
        """Whether the array may end, along an axis, inside `count` elements that start at a multiple of it."""
        type = self.ref.type
        known = type.extents[axis]
        return self.checks(axis) and (type.extent_div[axis] if known is None else known) % count != 0

    def left(self, axis: int, lanes: Sequence[int]) -> Val:
        """How many elements lie between an index that is inside and the end of the axis, in i32, at most 2^31 - 1."""
        b, index = self.ctx.b, self.op.indices[axis]
        position = as_index(b, self.pick(self.ctx[index], lanes), index.type.dtype.is_signed, "i64")
        extent = b.splat(as_index(b, self.ref.extents[axis], True, "i64"), len(lanes))
        left = b.intrinsic("llvm.smin", [b.sub(extent, position), b.like(position, (1 << 31) - 1)])
        return b.cast("trunc", left, "i32")

    def offsets(self, lanes: Sequence[int]) -> Val:
        """Byte offsets, in i32 where those of all elements inside fit."""
        b, type = self.ctx.b, self.ref.type
        elem = "i32" if type.small else "i64"
        total = b.const(elem, 0, len(lanes))
        for axis, index in enumerate(self.op.indices):
            position = as_index(b, self.pick(self.ctx[index], lanes), index.type.dtype.is_signed, elem)
            stride = b.mul(as_index(b, self.ref.strides[axis], True, elem), type.dtype.bytes)
            total = b.add(total, b.mul(position, b.splat(stride, len(lanes))))
        return total

    def pointers(self, lanes: Sequence[int]) -> list[Val]:
        """The addresses of some lanes."""
        b, offsets = self.ctx.b, self.offsets(lanes)
        return [b.gep(self.ref.pointer, as_index(b, b.extract(offsets, i), True, "i64")) for i in range(len(lanes))]


class GatherVectors:
    """Accesses of `count` elements at a time. `heads` are the first lanes of each, `pointers` and `whole` (None: all)
    their addresses and predicates; `cut`: lanes of a vector, counted from its head, whose predicates may differ from
    that of the head."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.axis, (self.count, self.dense) = self._choose()
        self.heads = range(0, elements.lanes, self.count)
        self.cut = self._cut()
        self.pointers = elements.pointers(self.heads)
        self.whole = elements.predicate(self.heads)

    def _choose(self) -> tuple[int, GatherRun]:
        """The axis of the index tiles along which one access goes (-1: nothing lies side by side), and its elements."""
        op, ctx = self.elements.op, self.elements.ctx
        best = (-1, GatherRun(1, -1))
        if not op.shape:
            return best
        layout = ctx.layout(op.indices[0])
        runs = tuple(ctx.runs[i] for i in op.indices)
        for axis in range(len(op.shape)):
            found = gather_run(self.elements.ref.type, runs, axis)
            count = min(found.length, vector_along(layout, axis))
            if count > best[1].length:
                best = (axis, GatherRun(count, found.dense))
        return best

    def _cut(self) -> Sequence[int]:
        op, ctx = self.elements.op, self.elements.ctx
        if self.count == 1:
            return ()
        if op.mask is not None and ctx.runs[op.mask][self.axis].stays < self.count:
            return range(1, self.count)
        # What is inside at both ends is inside between.
        return (self.count - 1,) if self.elements.may_end(self.dense, self.count) else ()

    def lanes(self, number: int) -> Sequence[int]:
        """The lanes of one access."""
        return range(self.heads[number], self.heads[number] + self.count)

    def is_whole(self) -> Val:
        """Whether this thread's vectors are each in or out as a whole."""
        b = self.elements.ctx.b
        assert self.whole is not None
        out: Val | None = None
        for distance in self.cut:
            other = self.elements.predicate([head + distance for head in self.heads])
            assert other is not None
            differ = b.xor(self.whole, other)
            out = differ if out is None else b.or_(out, differ)
        assert out is not None
        cut = b.extract(out, 0)
        for i in range(1, out.n):
            cut = b.or_(cut, b.extract(out, i))
        return b.xor(cut, 1)


@lower(ops.Gather)
def gather(ctx: Context, op: ops.Gather) -> None:
    b = ctx.b
    vectors = GatherVectors(Elements(ctx, op))
    padding = vectors.elements.pick(ctx[op.padding], range(vectors.elements.lanes))
    if not vectors.cut:
        value = _load_vectors(vectors, padding)
    else:
        whole, edge, done = b.label("whole"), b.label("edge"), b.label("gathered")
        b.cbr(vectors.is_whole(), whole, edge)
        b.start(whole)
        fast = _load_vectors(vectors, padding)
        b.br(done)
        b.start(edge)
        slow = _load_elements(vectors, padding)
        b.br(done)
        b.start(done)
        merged = b.phi(fast.elem, fast.n)
        merged.add(fast, whole)
        merged.add(slow, edge)
        value = merged.value
    ctx.set(op.result, value if op.shape else b.extract(value, 0))


def _load_vectors(vectors: GatherVectors, padding: Val) -> Val:
    b, read_only = vectors.elements.ctx.b, vectors.elements.ref.read_only
    parts = []
    for i, pointer in enumerate(vectors.pointers):
        if vectors.whole is None:
            parts.append(access.load(b, padding.elem, vectors.count, pointer, read_only=read_only))
        else:
            instead = b.shuffle(padding, vectors.lanes(i))
            predicate = b.extract(vectors.whole, i)
            parts.append(access.load_if(b, padding.elem, pointer, predicate, instead, read_only=read_only))
    return b.concat(parts)


def _load_elements(vectors: GatherVectors, padding: Val) -> Val:
    """Each element of each vector by itself."""
    elements, b = vectors.elements, vectors.elements.ctx.b
    inside = elements.predicate(range(elements.lanes))
    assert inside is not None
    parts = []
    for i, pointer in enumerate(vectors.pointers):
        for distance, lane in enumerate(vectors.lanes(i)):
            parts.append(access.load_if(
                b, padding.elem, b.gep(pointer, distance * elements.ref.type.dtype.bytes), b.extract(inside, lane),
                b.shuffle(padding, [lane]), read_only=elements.ref.read_only))
    return b.concat(parts)


@lower(ops.Scatter)
def scatter(ctx: Context, op: ops.Scatter) -> None:
    b = ctx.b
    vectors = GatherVectors(Elements(ctx, op))
    value = vectors.elements.pick(ctx[op.value], range(vectors.elements.lanes))
    mine = owner(ctx, op.value.type.layout if op.shape else None)
    if not vectors.cut:
        _store_vectors(vectors, value, mine)
        return
    whole, edge, done = b.label("whole"), b.label("edge"), b.label("scattered")
    b.cbr(vectors.is_whole(), whole, edge)
    b.start(whole)
    _store_vectors(vectors, value, mine)
    b.br(done)
    b.start(edge)
    _store_elements(vectors, value, mine)
    b.br(done)
    b.start(done)


def _store_vectors(vectors: GatherVectors, value: Val, mine: Val | None) -> None:
    b = vectors.elements.ctx.b
    for i, pointer in enumerate(vectors.pointers):
        own = None if vectors.whole is None else b.extract(vectors.whole, i)
        access.store(b, b.shuffle(value, vectors.lanes(i)), pointer, access.both(b, own, mine))


def _store_elements(vectors: GatherVectors, value: Val, mine: Val | None) -> None:
    """Each element of each vector by itself."""
    elements, b = vectors.elements, vectors.elements.ctx.b
    inside = elements.predicate(range(elements.lanes))
    assert inside is not None
    for i, pointer in enumerate(vectors.pointers):
        for distance, lane in enumerate(vectors.lanes(i)):
            place = b.gep(pointer, distance * elements.ref.type.dtype.bytes)
            access.store(b, b.shuffle(value, [lane]), place, access.both(b, b.extract(inside, lane), mine))
