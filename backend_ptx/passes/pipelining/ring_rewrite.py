"""The rewriting that `ring_loads` does: state through control flow, copies, waits and releases of each round."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.backend_ptx.ops.bulk import MbarrierArrive, MbarrierExpect, MbarrierInit, MbarrierWait, TmaLoad
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import is_outstanding, left_outstanding, waits_for
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.ops.warpgroup import SharedView, Stage
from tilewright.backend_ptx.passes.matmul.operands import view_of
from tilewright.backend_ptx.passes.pipelining.ring_candidates import Candidate, only_leads_to
from tilewright.backend_ptx.passes.pipelining.ring_groups import Group, Ring, State, name_of
from tilewright.tileir.analysis.uses import all_reads, replace_everywhere
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import DType, int32, int64
from tilewright.tileir.ops import arith, control
from tilewright.tileir.types import SharedType, TileType

SLOT = TileType(int32)


class Rings:
    """Rewrites the function: state of every group through the control flow around it, copies, waits and releases."""

    def __init__(self, function: Function, groups: Sequence[Group], users: dict[Value, list[Op]]) -> None:
        self.function = function
        self.groups = list(groups)
        self.users = users
        self.warps = function.plan.warps
        self.of_loop: dict[Op, list[Group]] = {}
        for group in groups:
            self.of_loop.setdefault(group.loop, []).append(group)
        self.constants: dict[tuple[int, DType], Value] = {}
        self.top = Builder(Block(), function.span)

    def run(self) -> None:
        start: dict[Ring, State] = {}
        for group in self.groups:
            if group.ring not in start:
                self._allocate(group)
                start[group.ring] = State(self._constant(0), self._constant(0))
        self._block(self.function.body, start)
        self.function.body.ops[:0] = self.top.block.ops

    def _constant(self, value: int, dtype: DType = int32) -> Value:
        key = (value, dtype)
        if key not in self.constants:
            self.constants[key] = self.top.value(arith.Constant(value=value, type=TileType(dtype)))
        return self.constants[key]

    def _allocate(self, group: Group) -> None:
        b, ring = self.top, group.ring
        for candidate, slot in zip(group.loads, ring.types, strict=True):
            with b.at(candidate.load.span):
                type_ = SharedType(slot.dtype, slot.shape, ring.slots, slot.layout)
                ring.buffers.append(b.value(SharedAlloc(type=type_), f"{name_of(candidate.load)}_ring"))
        words = SharedType(int64, (), ring.slots)
        ring.barriers += [b.value(SharedAlloc(type=words), name) for name in ("full", "empty")]
        b.emit(MbarrierInit(barriers=ring.full, count=1))
        b.emit(MbarrierInit(barriers=ring.empty, count=self.warps * ring.ctas))

    # ---- the state through control flow --------------------------------------------------------------------------

    def _inside(self, op: Op) -> list[Ring]:
        """The rings of the loops that an op is or contains."""
        if not op.blocks:
            return []
        groups = [*self.of_loop.get(op, [])]
        groups += [g for block in op.blocks for nested in block.walk() for g in self.of_loop.get(nested, [])]
        return list(dict.fromkeys(g.ring for g in groups))

    def _block(self, block: Block, states: dict[Ring, State]) -> dict[Ring, State]:
        """Rewrite a block; the states at its end."""
        states = dict(states)
        old, block.ops = block.ops, []
        for op in old:
            rings = self._inside(op)
            if isinstance(op, control.For) and rings:
                states.update(self._for(op, rings, states))
            elif isinstance(op, control.If) and rings:
                states.update(self._if(op, rings, states))
            block.ops.append(op)
            if isinstance(op, control.For) and op in self.of_loop:
                self._after(block, op, old, states)
        return states

    def _for(self, op: control.For, rings: list[Ring], states: dict[Ring, State]) -> dict[Ring, State]:
        op.init = (*op.init, *(v for r in rings for v in states[r]))
        params = {r: State(op.loop.add_param(SLOT, "slot"), op.loop.add_param(SLOT, "parity")) for r in rings}
        ends = self._block(op.loop, {**states, **params})
        for group in self.of_loop.get(op, []):
            ends[group.ring] = self._round(group, params[group.ring])
        _hand_on(op.loop, rings, ends)
        return _results(op, rings)

    def _if(self, op: control.If, rings: list[Ring], states: dict[Ring, State]) -> dict[Ring, State]:
        for block in (op.then, op.orelse):
            _hand_on(block, rings, self._block(block, states))
        return _results(op, rings)

    def _after(self, block: Block, loop: control.For, following: list[Op], states: dict[Ring, State]) -> None:
        """Release what the last round held, once the wait behind the loop has passed."""
        late = [g for g in self.of_loop[loop] if g.release is None]
        if not late:
            return
        place = following.index(loop) + 1
        while place < len(following) and left_outstanding(following[place]) is None:
            place += 1
        b = Builder(Block(), loop.span)
        if place == len(following):
            for wait in waits_for(loop.loop.ops):
                b.emit(wait)
        ran = b.value(arith.Lt(lhs=loop.lower, rhs=loop.upper))
        for ring in (g.ring for g in late):
            b.emit(self._free(ring, self._before(b, ring, states[ring].slot), ran))
        if place == len(following):
            block.ops += b.block.ops
        else:
            following[place + 1:place + 1] = b.block.ops

    # ---- one round -----------------------------------------------------------------------------------------------

    def _round(self, group: Group, state: State) -> State:
        """Rewrite the body of a group's loop; the state of the next round."""
        body = group.loop.loop
        loads = {c.load: c for c in group.loads}
        stages = {s: c for c in group.loads for s in c.stages}
        loads_of = {c.load.result: c for c in group.loads}
        old, body.ops = body.ops, []
        b = Builder(body, group.loop.span)
        waited = started = False
        renamed: dict[Value, Value] = {}
        end = old.pop()
        for op in old:
            b.span = op.span
            if op in loads:
                if not started:
                    self._announce(b, group, state)
                    started = True
                self._copy(b, group, loads[op], state)
                continue
            if isinstance(op, Stage) and op in stages:
                continue
            if isinstance(op, ConvertLayout) and op.src in loads_of and op.src not in renamed:
                if not waited:
                    b.emit(MbarrierWait(barriers=group.ring.full, slot=state.slot, parity=state.parity))
                    waited = True
                # Any layout can be read from a slot.
                tile = self._read(b, group, loads_of[op.src], state)
                tile.type = op.result.type
                renamed[op.result] = tile
                if op is group.release:
                    b.emit(self._free(group.ring, state.slot))
                continue
            sources = self._sources(op, group, stages, renamed)
            if sources and not waited:
                b.emit(MbarrierWait(barriers=group.ring.full, slot=state.slot, parity=state.parity))
                waited = True
            for value, source in sources.items():
                renamed[value] = self._read(b, group, source, state)
            replace_everywhere(op, renamed)
            body.ops.append(op)
            if op is group.release:
                b.emit(self._free(group.ring, state.slot))
        if group.release is None:
            self._release_previous(b, group, state)
        replace_everywhere(end, renamed)
        following = self._next(b, group, state)
        body.ops.append(end)
        return following

    def _sources(
        self, op: Op, group: Group, stages: dict[Stage, Candidate], renamed: dict[Value, Value],
    ) -> dict[Value, Stage | Candidate]:
        """What an op reads of the group's loads for the first time, and what it becomes."""
        reads = all_reads(op)
        staged: dict[Value, Stage | Candidate] = {s.result: s for s in stages if s.result in reads}
        loads = {c.load.result: c for c in group.loads if c.load.result in reads}
        if loads and not self._only_views(op, stages):
            staged |= loads
        return {value: source for value, source in staged.items() if value not in renamed}

    def _read(self, b: Builder, group: Group, source: Stage | Candidate, state: State) -> Value:
        """A staged operand as a view of the slot, or the tile in registers."""
        if isinstance(source, Stage):
            [ring] = [group.buffer(c) for c in group.loads if source in c.stages]
            axes, shape = view_of(source.src)
            view = b.value(SharedView(buffer=ring, slot=state.slot, axes=axes, shape=shape), source.src.hint)
            view.type = source.result.type
            return view
        load = source.load
        tile = b.value(
            SharedLoad(buffer=group.buffer(source), slot=state.slot, index=(), shape=load.shape), load.result.hint)
        tile.type = load.result.type
        return tile

    def _only_views(self, op: Op, stages: dict[Stage, Candidate]) -> bool:
        """Whether an op only leads to staged operands, so that it will be dead."""
        if len(op.results) != 1 or op.blocks or op.effects().writes:
            return False
        return only_leads_to(op.results[0], stages, self.users)

    def _announce(self, b: Builder, group: Group, state: State) -> None:
        free = b.value(arith.Xor(lhs=state.parity, rhs=self._constant(1)))
        b.emit(MbarrierWait(barriers=group.ring.empty, slot=state.slot, parity=free, role="producer"))
        b.emit(MbarrierExpect(barriers=group.ring.full, slot=state.slot, bytes=group.ring.bytes))

    def _copy(self, b: Builder, group: Group, candidate: Candidate, state: State) -> None:
        load = candidate.load
        b.emit(TmaLoad(
            buffer=group.buffer(candidate), barriers=group.ring.full, slot=state.slot, array=load.array,
            index=load.index, steps=load.steps, order=load.order, check_bounds=load.check_bounds, ctas=candidate.ctas))

    def _release_previous(self, b: Builder, group: Group, state: State) -> None:
        """Products of this round may run on; those of the round before are done."""
        products = [op for op in b.block.ops if is_outstanding(op)]
        for wait in waits_for(products, len(products)):
            b.emit(wait)
        variable = group.loop.loop.params[0]
        later = b.value(arith.Gt(lhs=variable, rhs=group.loop.lower))
        b.emit(self._free(group.ring, self._before(b, group.ring, state.slot), later))

    def _free(self, ring: Ring, slot: Value, active: Value | None = None) -> MbarrierArrive:
        """Tell every producer that fills the slot that this warp has read it."""
        return MbarrierArrive(barriers=ring.empty, slot=slot, active=active, ctas=ring.ctas)

    def _before(self, b: Builder, ring: Ring, slot: Value) -> Value:
        first = b.value(arith.Eq(lhs=slot, rhs=self._constant(0)))
        less = b.value(arith.Sub(lhs=slot, rhs=self._constant(1)))
        return b.value(arith.Select(cond=first, lhs=self._constant(ring.slots - 1), rhs=less))

    def _next(self, b: Builder, group: Group, state: State) -> State:
        one = self._constant(1)
        wraps = b.value(arith.Eq(lhs=state.slot, rhs=self._constant(group.ring.slots - 1)))
        slot = b.value(arith.Select(
            cond=wraps, lhs=self._constant(0), rhs=b.value(arith.Add(lhs=state.slot, rhs=one))))
        flipped = b.value(arith.Xor(lhs=state.parity, rhs=one))
        return State(slot, b.value(arith.Select(cond=wraps, lhs=flipped, rhs=state.parity)))


def _hand_on(block: Block, rings: list[Ring], states: dict[Ring, State]) -> None:
    """A block yields the states too."""
    end = block.terminator
    assert isinstance(end, control.Yield)
    end.values = (*end.values, *(v for r in rings for v in states[r]))


def _results(op: Op, rings: list[Ring]) -> dict[Ring, State]:
    """New results of a structured op."""
    states = {r: State(Value(SLOT, "slot", op), Value(SLOT, "parity", op)) for r in rings}
    op.results = (*op.results, *(v for r in rings for v in states[r]))
    return states
