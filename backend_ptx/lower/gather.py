"""Gathers and scatters: an address and a predicate for every element, or for every few that lie side by side.

Where the index of the dense axis counts up along the registers of a thread, one access moves a whole vector. Masks and
edges that may fall inside a vector are looked at first: a thread none of whose vectors is cut moves whole ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.backend_ptx.layouts.memory import VECTOR_BYTES
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.lower.access import Accesses, Offsets, any_of, both
from tilewright.backend_ptx.lower.context import Context
from tilewright.backend_ptx.lower.fragments import ArrayRef
from tilewright.backend_ptx.lower.integers import resized
from tilewright.backend_ptx.lower.positions import owner
from tilewright.backend_ptx.lower.registry import lower
from tilewright.backend_ptx.ops.async_copy import AsyncGather
from tilewright.tileir.analysis.accesses import ElementChecks, GatherWidths
from tilewright.tileir.analysis.lane_steps import LaneSteps
from tilewright.tileir.analysis.same_places import names_of_elements
from tilewright.tileir.core import Value
from tilewright.tileir.ops import memory as ops
from tilewright.tileir.ops.atomics import Atomic

MANY = 4
"""Predicates, from which on a thread asks once whether all are true."""


class Elements:
    """Addresses and predicates of the elements that this thread reads or writes; scalars count as one lane."""

    def __init__(self, ctx: Context, op: ops.Gather | ops.Scatter | Atomic | AsyncGather) -> None:
        self.ctx = ctx
        self.ref: ArrayRef = ctx[op.array]
        self.op = op
        self.edges = ElementChecks(op, self.ref.type, ctx.facts)
        self.lanes = max(1, ctx.lanes(op.indices[0])) if op.indices else 1
        self.steps = LaneSteps(ctx, op, ctx.layout(op.indices[0]) if self.lanes > 1 else None)

    def _index(self, index: Value, lanes: Sequence[int], elem: str) -> Val:
        """Some lanes of an index tile as integers of type `elem`."""
        return resized(self.ctx.b, self.ctx.b.shuffle(self.ctx.vector(index), lanes), index.type.dtype.is_signed, elem)

    def predicate(self, lanes: Sequence[int]) -> Val | None:
        """Which of these lanes are read or written; None if surely all are."""
        b, op = self.ctx.b, self.op
        out = None if op.mask is None else b.shuffle(self.ctx.vector(op.mask), lanes)
        for axis, index in enumerate(op.indices):
            if self.edges.checks(axis):
                out = both(b, out, self._inside(axis, index, lanes))
        return out

    def _inside(self, axis: int, index: Value, lanes: Sequence[int]) -> Val:
        """0 <= index < extent by one unsigned comparison, in the wider of both types (at least 32 bits)."""
        b = self.ctx.b
        wide = "i64" if 64 in (index.type.dtype.bitwidth, self.ref.type.index.bitwidth) else "i32"
        position = self._index(index, lanes, wide)
        return b.icmp("ult", position, b.splat(resized(b, self.ref.extents[axis], True, wide), position.n))

    def left(self, axis: int, lanes: Sequence[int]) -> Val:
        """How many elements lie between an index that is inside and the end of the axis, in i32, at most 2^31 - 1."""
        b, position = self.ctx.b, self._index(self.op.indices[axis], lanes, "i64")
        extent = b.splat(resized(b, self.ref.extents[axis], True, "i64"), len(lanes))
        return b.cast("trunc", b.intrinsic("llvm.smin", [b.sub(extent, position), b.like(position, 2**31 - 1)]), "i32")

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
        """The addresses of some lanes: of those from which others lie so many bytes away, and these bytes."""
        b, places = self.ctx.b, self.steps.places(self.ref.type, lanes)
        bases = sorted({place.base for place in places})
        offsets = self.offsets(bases)
        found = {base: b.gep(self.ref.pointer, resized(b, b.extract(offsets, i), True, "i64"))
                 for i, base in enumerate(bases)}
        return [b.gep(found[place.base], place.bytes) for place in places]


class GatherAccess(Elements, Accesses):
    """Accesses of `vector` elements at a time.

    `heads` are the first lanes of each, `places` and `chosen` (None: all) their addresses and predicates; `cut`: lanes
    of a vector, counted from its head, whose predicates may differ from that of the head."""

    def __init__(self, ctx: Context, op: ops.Gather | ops.Scatter | Atomic, most: int = VECTOR_BYTES) -> None:
        super().__init__(ctx, op)
        layout = ctx.layout(op.indices[0]) if op.indices else None
        widths = GatherWidths(op, self.ref.type, layout, ctx.facts, ctx.runs, most)
        self.vector, self.cut = widths.vector, widths.cut
        self.heads = range(0, self.lanes, self.vector)
        self.places = self.pointers(self.heads)
        self.chosen = self.predicate(self.heads)

    @property
    def cuts_vectors(self) -> bool:
        return bool(self.cut)

    def whole(self) -> Val:
        b = self.ctx.b
        assert self.chosen is not None
        others = (self.predicate([head + distance for head in self.heads]) for distance in self.cut)
        differ = any_of(b, (b.xor(self.chosen, other) for other in others if other is not None))
        return b.xor(any_of(b, [b.extract(differ, i) for i in range(differ.n)]), 1)

    def surely(self, known: Sequence[Val | None]) -> Val | None:
        """Whether this thread's accesses are all inside the array, as those at both ends are; None where that is not
        known from few of them. Not of bytes, which would be packed, and awaited, where they are loaded."""
        found: Val | None = None
        heads = [head for head in self.heads if not known or None in known[head:head + self.vector]]
        if self.chosen is None or self.cut or self.op.mask is not None or (
                len(heads) < MANY or self.ref.type.dtype.bytes == 1):
            return None
        for axis, index in enumerate(self.op.indices):
            if self.edges.checks(axis):
                ends = self.steps.ends(axis, heads)
                if ends is None:
                    return None
                inside = self._inside(axis, index, sorted(set(ends)))
                found = both(self.ctx.b, found, self.ctx.b.reduced(inside, self.ctx.b.and_))
        return found

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
    names, before = names_of_elements(ctx, op) if ctx[op.array].read_only else (), ctx.memo[ctx.homes[op]]
    value = GatherAccess(ctx, op).read(ctx.vector(op.padding), [before.get(name) for name in names])
    before.update((name, ctx.b.extract(value, lane)) for lane, name in enumerate(names) if name not in before)
    ctx.set(op.result, value if op.shape else ctx.b.extract(value, 0))


@lower(ops.Scatter)
def scatter(ctx: Context, op: ops.Scatter) -> None:
    GatherAccess(ctx, op).write(ctx.vector(op.value), owner(ctx, ctx.layout(op.value)))
