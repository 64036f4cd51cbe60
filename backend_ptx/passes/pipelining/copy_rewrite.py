"""Rewrite one loop for `pipeline_loops`: copies before it and in it, and reads of slots in place of loads."""

from __future__ import annotations

from tilewright.backend_ptx.ops.async_copy import AsyncWait
from tilewright.backend_ptx.ops.engines import CP_ASYNC
from tilewright.backend_ptx.ops.matmul import is_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.ops.warpgroup import SharedView, Stage, proxy_fences
from tilewright.backend_ptx.passes.matmul.operands import view_of
from tilewright.backend_ptx.passes.pipelining.copy_candidates import Candidate
from tilewright.backend_ptx.passes.pipelining.copy_depth import Depth
from tilewright.backend_ptx.passes.pipelining.copy_starts import Ring, Starter
from tilewright.backend_ptx.passes.pipelining.gather_candidates import GatherCandidate
from tilewright.backend_ptx.passes.pipelining.trip_counts import Constants, Rounds
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.types import SharedType, TileType

SLOT = TileType(int32)


def name_of(load: Load | Gather) -> str:
    """What a user would call it."""
    return load.result.hint or load.array.hint or "a load"


class Pipeline:
    """Rewrites one loop. `before` builds what comes before it."""

    def __init__(self, before: Builder, loop: For, depth: Depth, known: Facts) -> None:
        self.before = before
        self.loop = loop
        self.stages = depth.stages
        self.candidates = depth.rings
        self.gathers = [c for c in depth.rings if isinstance(c, GatherCandidate)]
        # Products that run on into the next round read one slot more.
        self.late = any(c.stages for c in depth.rings)
        self.ahead = self.stages - max(c.least for c in depth.rings) + 1
        self.constants = Constants(before)
        self.rounds = Rounds(loop, known, self.constants)
        self.known = known

    def run(self) -> None:
        b = self.before
        rings = [Ring(c, self._allocate(c)) for c in self.candidates]
        starter = Starter(self.loop, rings, self.known)
        zero = self.constants(0, int32)
        self.rounds.prepare(b)
        for stage in range(self.ahead):
            active, variable = self.rounds.first(b, stage)
            starter.start(b, zero, stage, active, variable, starter.fetch(b, variable))
        fetched: dict[Value, Value] = {}
        if any(c.fetched for c in self.gathers):
            fetched = self._carry_tiles(starter.fetch(b, self.rounds.first(b, self.ahead)[1]))
        slot = self._carry(zero)
        body = Builder(Block(), self.loop.span)
        body.emit(AsyncWait(pending=self.ahead - 1))
        if self.late:
            for fence in proxy_fences(CP_ASYNC, self.loop.loop.ops):
                body.emit(fence)
        else:
            self._later(body, starter, slot, fetched)
        self._use(body, starter, slot, fetched)
        self.loop.loop.ops = self._without_dead(body.block.ops)
        b.block.ops.append(self.loop)
        if self.late:
            for wait in waits_for(self.loop.loop.ops):
                b.emit(wait)
        b.emit(AsyncWait())

    def _allocate(self, ring: Candidate) -> Value:
        type_ = ring.load.result.type
        with self.before.at(ring.load.span):
            buffer = SharedType(type_.dtype, type_.shape, self.stages, ring.slot)
            return self.before.value(SharedAlloc(type=buffer), f"{name_of(ring.load)}_ring")

    def _later(self, b: Builder, starter: Starter, slot: Value, fetched: dict[Value, Value]) -> None:
        """The copies of a later round, with what was fetched for them a round ago; what the next ones need."""
        active, variable = self.rounds.later(b, self.ahead)
        starter.start(b, slot, self.ahead, active, variable, fetched)
        if fetched:
            following = starter.fetch(b, self.rounds.later(b, self.ahead + 1)[1])
            self.loop.loop.terminator.values = (  # type: ignore[attr-defined]
                *self.loop.loop.terminator.values, *following.values())  # type: ignore[attr-defined]

    def _carry_tiles(self, first: dict[Value, Value]) -> dict[Value, Value]:
        """The loop carries what was fetched for the next copies."""
        self.loop.init = (*self.loop.init, *first.values())
        self.loop.results = (*self.loop.results, *(Value(v.type, "", self.loop) for v in first.values()))
        return {value: self.loop.loop.add_param(v.type, value.hint) for value, v in first.items()}

    def _carry(self, zero: Value) -> Value:
        """The loop carries the slot of the round."""
        self.loop.init = (*self.loop.init, zero)
        self.loop.results = (*self.loop.results, Value(SLOT, "", self.loop))
        return self.loop.loop.add_param(SLOT, "slot")

    def _use(self, b: Builder, starter: Starter, slot: Value, fetched: dict[Value, Value]) -> None:
        """The old body: loads and their conversions read from the rings, right before the first user."""
        products = [op for op in self.loop.loop.ops if is_outstanding(op)]
        dead: set[Op] = {ring.candidate.load for ring in starter.rings}
        source: dict[Value, tuple[Ring, Layout]] = {}
        for ring in starter.rings:
            result = ring.candidate.load.result
            source[result] = ring, result.type.layout
            for conversion in ring.candidate.conversions:
                dead.add(conversion)
                source[conversion.result] = ring, conversion.result.type.layout
            dead.update((*ring.candidate.stages, *ring.candidate.moves))
            source.update((stage.result, (ring, stage.result.type.layout)) for stage in ring.candidate.stages)
        read: dict[tuple[Ring, Layout] | Value, Value] = {}
        for op in self.loop.loop.ops:
            if op in dead:
                continue
            for value in all_reads(op):
                if value in source and value not in read:
                    read[value] = self._read(b, *source[value], slot, value)
            if op.terminator:
                op.values = (*op.values, self._next(b, slot))  # type: ignore[attr-defined]
            replace_everywhere(op, {v: n for v, n in read.items() if isinstance(v, Value)})
            b.block.ops.append(op)
            if self.late and op is products[-1]:
                # While these run, behind those of the round before: it is their slot that is filled.
                self._later(b, starter, slot, fetched)
                for wait in waits_for(products, len(products)):
                    b.emit(wait)

    def _without_dead(self, ops: list[Op]) -> list[Op]:
        """Leave out index arithmetic of the loads that are gone."""
        slices = {op for c in self.candidates for op in c.slice}
        slices.update(op for c in self.gathers for op in c.inside)
        used: set[Value] = set()
        kept = []
        for op in reversed(ops):
            if op not in slices or any(r in used for r in op.results):
                used.update(all_reads(op))
                kept.append(op)
        return kept[::-1]

    def _read(self, b: Builder, ring: Ring, layout: Layout, slot: Value, value: Value) -> Value:
        load = ring.candidate.load
        if isinstance(value.type, SharedType):
            assert isinstance(value.op, Stage)
            axes, shape = view_of(value.op.src)
            view = b.value(SharedView(buffer=ring.buffer, slot=slot, axes=axes, shape=shape), value.hint)
            view.type = value.type
            return view
        with b.at(load.span):
            out = b.value(SharedLoad(buffer=ring.buffer, slot=slot, index=(), shape=load.shape), value.hint)
        out.type = load.result.type.with_layout(layout)
        return out

    def _next(self, b: Builder, slot: Value) -> Value:
        one, last, zero = (self.constants(n, int32) for n in (1, self.stages - 1, 0))
        after = b.value(arith.Add(lhs=slot, rhs=one))
        return b.value(arith.Select(cond=b.value(arith.Eq(lhs=slot, rhs=last)), lhs=zero, rhs=after))
