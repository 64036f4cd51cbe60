"""Start the loads of a loop some rounds early: a ring of slots in shared memory for each load.

    before: %r: tile<...> = for(lower=%l, upper=%u, step=%s, init=(%x)) .loop(%k: i32, %acc: tile<...>) {
                %t: tile<64x32xf16, #0> = load(array=%a, index=(%i, %k), ...)
                %d: tile<64x32xf16, #1> = convert_layout(src=%t)
                ... %d ...
            }
    after:  %ring: shared<3, 64x32xf16, #2> = shared_alloc(type=shared<3, 64x32xf16, #2>)
            async_load(buffer=%ring, slot=%zero, array=%a, index=(%i, %l), active=%l < %u, tile=tile<..., #0>, ...)
            async_commit()
            async_load(buffer=%ring, slot=%zero, ahead=1, ..., index=(%i, %l + %s), ...)     // one a round ahead
            async_commit()
            %r, %end = for(lower=%l, upper=%u, step=%s, init=(%x, %zero)) .loop(%k: i32, %acc: tile<...>, %slot: i32) {
                async_wait(pending=1)
                async_load(buffer=%ring, slot=%slot, ahead=2, index=(%i, %k + 2 * %s), active=%u - %k > 2 * %s, ...)
                async_commit()
                %d: tile<64x32xf16, #1> = shared_load(buffer=%ring, slot=%slot, shape=(64, 32))
                ... %d ...
                yield(values=(..., %slot + 1 == 3 ? 0 : %slot + 1))
            }
            async_wait()

A load that other threads read (its users convert the layout) goes to a ring that all threads share, and insert_barriers
puts one barrier into each round, between the wait and the first access. A load whose users work in its own layout gets
a ring in which each thread reads what it has copied itself, without a barrier, where that pays. Which loads qualify:
pipeline_candidates; how many slots: pipeline_depth. The option `pipeline` says what was decided, and why.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.queries import registers
from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncGather, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.bulk import TmaLoad
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.shared import SharedAlloc, SharedLoad
from tilewright.backend_ptx.ops.warpgroup import ProxyFence, SharedView, Stage, Wgmma, WgmmaWait
from tilewright.backend_ptx.passes.choose_warps import OPTION as WARPS
from tilewright.backend_ptx.passes.gather_candidates import GatherCandidate, GatherFinder
from tilewright.backend_ptx.passes.pipeline_candidates import Candidate, find_candidate, users_of
from tilewright.backend_ptx.passes.pipeline_depth import Depth, decide_depth, resident_blocks
from tilewright.backend_ptx.passes.pipeline_rounds import Constants, Rounds, most_rounds
from tilewright.backend_ptx.passes.plan_shared_memory import buffer_bytes, peak_bytes
from tilewright.backend_ptx.passes.product_operands import view_of
from tilewright.backend_ptx.passes.rewrite import Rewriter, rewrite
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.analysis.runs import runs
from tilewright.tileir.analysis.uses import uses
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.dtypes import int32
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.layout import Layout
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute
from tilewright.tileir.types import SharedType, TileType

OPTION = "pipeline"
SLOT = TileType(int32)
_MADE_IN_PLACE = (arith.Constant, Iota, Broadcast, arith.Compare)


def pipeline_loops(function: Function, target: Target) -> None:
    """Needs layouts on every tile; conversions must still be `convert_layout`."""
    if not target.has_cp_async:
        return
    loops = [op for op in function.walk() if isinstance(op, For) and _is_innermost(op)]
    if not loops:
        return
    known, dependences = facts(function), Dependences(function)
    decisions: dict[Op, Depth] = {}
    reports = []
    for loop in loops:
        found, left = _find(loop, function, known, dependences)
        depth, report = _decide(loop, function, known, found, left, target)
        if report:
            reports.append(report)
        if depth.stages > 1:
            decisions[loop] = depth
    if reports:
        function.options[OPTION] = "; ".join(reports)
    if decisions:
        rewrite(function, lambda rewriter, op: _rule(rewriter, op, decisions, known))


def _is_innermost(loop: For) -> bool:
    return not any(isinstance(op, (For, While)) for op in loop.loop.walk())


# ---- what to do -------------------------------------------------------------------------------------------------


def _find(
    loop: For, function: Function, known: Facts, dependences: Dependences,
) -> tuple[list[Candidate], list[str]]:
    """The rings that a loop could have, and of each other load why it stays one."""
    warps: int = function.options[WARPS]
    found: list[Candidate] = []
    left: list[str] = []
    if any(isinstance(op, Gather) and op.shape for op in loop.loop.ops):
        found, left = _find_gathers(loop, function, known, dependences)
    fetched = _only_fetched(loop, found)
    for op in loop.loop.ops:
        if not isinstance(op, Load) or not op.shape or op in fetched:
            continue
        users = users_of(op.result, loop)
        what = find_candidate(loop, op, users, dependences, known, warps)
        if isinstance(what, Candidate):
            found.append(what)
        else:
            left.append(f"{_name(op)} stays a load: {what}")
    return found, left


def _find_gathers(
    loop: For, function: Function, known: Facts, dependences: Dependences,
) -> tuple[list[Candidate], list[str]]:
    finder = GatherFinder(loop, uses(function), dependences, known, runs(function, known, (ConvertLayout,)))
    found: list[Candidate] = []
    left = []
    for op in loop.loop.ops:
        if isinstance(op, Gather) and op.shape:
            what = finder.find(op)
            if isinstance(what, GatherCandidate):
                found.append(what)
            else:
                left.append(f"{_name(op)} stays a gather: {what}")
    return found, left


def _only_fetched(loop: For, found: list[Candidate]) -> set[Op]:
    """The ops of the body that nobody but gathers which start early needs."""
    gathers = [c for c in found if isinstance(c, GatherCandidate)]
    inside = {op for c in gathers for op in c.inside}
    out: set[Op] = {c.load for c in gathers}
    for op in reversed(loop.loop.ops):
        if op in inside and all(user in out for user in users_of(op.results[0], loop)):
            out.add(op)
    return out


def _decide(
    loop: For, function: Function, known: Facts, found: list[Candidate], left: list[str], target: Target,
) -> tuple[Depth, str]:
    """The decision for a loop and what to say of it (nothing where it loads no tile)."""
    warps: int = function.options[WARPS]
    if not Rounds.countable(loop, known):
        found, left = [], [*left, *("the distance of the loop's bounds may overflow" for _ in found[:1])]
    if not found:
        return Depth(1, (), ""), ", ".join(left)
    blocks = resident_blocks(_tile_registers(loop), 32 * warps, function.options.get("occupancy"), target)
    depth = decide_depth(found, most_rounds(loop, known), blocks, _other_bytes(function, loop, found), target)
    if depth.stages > 1:
        left += [f"{_name(c.load)} stays a load: too little to load in each round"
                 for c in found if c not in depth.rings]
        names = " and ".join(
            _name(c.load) + ("" if c.exchanged else " (each thread its own part)") for c in depth.rings)
        return depth, ", ".join([f"{names} in {depth.reason}", *left])
    return depth, ", ".join([f"no ring: {depth.reason}", *left])


def _name(load: Load | Gather) -> str:
    return load.result.hint or load.array.hint or "a load"


def _tile_registers(loop: For) -> int:
    """32-bit registers that a thread needs for carried tiles and for the largest two tiles of a round.

    What is yielded takes the registers of what was carried. Operands of products come in small pieces. Constants,
    places and what is repeated are made where they are used.
    """
    yielded = set(loop.loop.terminator.operands)
    passing = _only_for_products(loop)
    inside = sorted((
        _registers_of(r) for op in loop.loop.ops if not isinstance(op, _MADE_IN_PLACE)
        for r in op.results if r not in yielded and r not in passing
    ), reverse=True)
    return sum(_registers_of(v) for v in loop.init) + sum(inside[:2])


def _registers_of(value: Value) -> int:
    type_ = value.type
    if not isinstance(type_, TileType) or type_.layout is None:
        return 0
    return -(-registers(type_.layout) * type_.dtype.bytes // 4)


def _only_for_products(loop: For) -> set[Value]:
    """Tiles that become operands of products, and nothing else, by loads, conversions and casts."""
    out: set[Value] = set()
    others: set[Value] = set()
    for op in reversed(list(loop.loop.walk())):
        if isinstance(op, Product):
            out.update((op.a, op.b))
            others.add(op.acc)
        elif isinstance(op, (ConvertLayout, Cast, Permute)) and op.results[0] in out - others:
            out.update(op.operands)
        else:
            others.update(op.operands)
    return {v for v in out - others if isinstance(v.op, (Load, ConvertLayout, Cast, Permute))}


def _other_bytes(function: Function, loop: For, rings: list[Candidate]) -> int:
    """Shared memory for buffers in the loop, for conversions in it that reading from rings does not replace, for those
    before it whose results products in the loop read piece by piece, for operands that threads put there for wgmma, and
    for rings that live as long as the kernel."""
    replaced = {c for ring in rings for c in ring.conversions}
    inside = set(loop.loop.walk())
    read = {_converted(v) for op in inside if isinstance(op, Product) for v in (op.a, op.b)}
    conversions: int = sum(
        op.src.type.size * op.src.type.dtype.bytes
        for op in function.walk()
        if isinstance(op, ConvertLayout) and op not in replaced and (op in inside or op.result in read)
        and plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("warp", "block"))
    placed = {s for ring in rings if isinstance(ring, GatherCandidate) for s in ring.stages}
    staged: int = sum(op.src.type.size * op.src.type.dtype.bytes for op in function.walk()
                      if isinstance(op, Stage) and op not in placed)
    guarded = {op.buffer for op in function.walk() if isinstance(op, TmaLoad)}
    return conversions + staged + peak_bytes(function, inside) + sum(buffer_bytes(ring.type) for ring in guarded)


def _converted(value: Value) -> Value:
    """What is in shared memory of an operand: casts are done piece by piece too."""
    while isinstance(value.op, Cast):
        value = value.op.src
    return value


# ---- doing it ---------------------------------------------------------------------------------------------------


def _rule(rewriter: Rewriter, op: Op, decisions: dict[Op, Depth], known: Facts) -> None:
    depth = decisions.get(op)
    if depth is None:
        rewriter.keep(op)
        return
    assert isinstance(op, For)
    _Pipeline(rewriter, op, depth, known).run()


@dataclass(slots=True)
class _Ring:
    candidate: Candidate
    buffer: Value


class _Pipeline:
    """Rewrites one loop. `before` builds what comes before it."""

    def __init__(self, before: Builder, loop: For, depth: Depth, known: Facts) -> None:
        self.before = before
        self.loop = loop
        self.stages = depth.stages
        self.candidates = depth.rings
        self.gathers = [c for c in depth.rings if isinstance(c, GatherCandidate)]
        # Products that run on into the next round read one slot more.
        self.late = any(c.stages for c in self.gathers)
        self.ahead = self.stages - max(c.least for c in depth.rings) + 1
        self.constants = Constants(before)
        self.rounds = Rounds(loop, known, self.constants)
        self.known = known

    def run(self) -> None:
        b = self.before
        rings = [_Ring(c, self._allocate(c)) for c in self.candidates]
        zero = self.constants(0, int32)
        self.rounds.prepare(b)
        for stage in range(self.ahead):
            active, variable = self.rounds.first(b, stage)
            self._start(b, rings, zero, stage, active, variable, self._fetch(b, variable))
        fetched: dict[Value, Value] = {}
        if any(c.fetched for c in self.gathers):
            fetched = self._carry_tiles(self._fetch(b, self.rounds.first(b, self.ahead)[1]))
        slot = self._carry(zero)
        body = Builder(Block(), self.loop.span)
        body.emit(AsyncWait(pending=self.ahead - 1))
        if self.late:
            body.emit(ProxyFence())
        else:
            self._later(body, rings, slot, fetched)
        self._use(body, rings, slot, fetched)
        self.loop.loop.ops = self._without_dead(body.block.ops)
        b.block.ops.append(self.loop)
        if self.late:
            b.emit(WgmmaWait(accs=(), pending=0))
        b.emit(AsyncWait())

    def _allocate(self, ring: Candidate) -> Value:
        type_ = ring.load.result.type
        with self.before.at(ring.load.span):
            buffer = SharedType(type_.dtype, type_.shape, self.stages, ring.slot)
            return self.before.value(SharedAlloc(type=buffer), f"{_name(ring.load)}_ring")

    def _later(self, b: Builder, rings: list[_Ring], slot: Value, fetched: dict[Value, Value]) -> None:
        """The copies of a later round, with what was fetched for them a round ago; what the next ones need."""
        active, variable = self.rounds.later(b, self.ahead)
        self._start(b, rings, slot, self.ahead, active, variable, fetched)
        if fetched:
            following = self._fetch(b, self.rounds.later(b, self.ahead + 1)[1])
            self.loop.loop.terminator.values = (  # type: ignore[attr-defined]
                *self.loop.loop.terminator.values, *following.values())  # type: ignore[attr-defined]

    def _fetch(self, b: Builder, variable: Value) -> dict[Value, Value]:
        """What the gathers of the round with this loop variable need of other arrays."""
        mapping = {self.loop.loop.params[0]: variable}
        out: dict[Value, Value] = {}
        for candidate in self.gathers:
            self._clone(b, candidate.places, mapping)
            for value, load in candidate.fetched:
                if value in out:
                    continue
                copy = load.clone(dict(mapping))
                copy.result.type = value.type
                b.block.ops.append(copy)
                out[value] = copy.result
        return out

    def _clone(self, b: Builder, ops: list[Op], mapping: dict[Value, Value]) -> None:
        for op in ops:
            if op.result not in mapping:
                b.block.ops.append(op.clone(mapping))

    def _carry_tiles(self, first: dict[Value, Value]) -> dict[Value, Value]:
        """The loop carries what was fetched for the next copies."""
        self.loop.init = (*self.loop.init, *first.values())
        self.loop.results = (*self.loop.results, *(Value(v.type, "", self.loop) for v in first.values()))
        return {value: self.loop.loop.add_param(v.type, value.hint) for value, v in first.items()}

    def _start(
        self, b: Builder, rings: list[_Ring], slot: Value, ahead: int, active: Value, variable: Value,
        fetched: dict[Value, Value],
    ) -> None:
        """The copies of one round, as a group."""
        mapping = {self.loop.loop.params[0]: variable, **fetched}
        for ring in rings:
            load, candidate = ring.candidate.load, ring.candidate
            self._clone(b, candidate.slice, mapping)
            if isinstance(candidate, GatherCandidate):
                self._start_gather(b, ring.buffer, candidate, slot, ahead, active, mapping)
                continue
            # Nothing is padded where nothing lies outside, so that any padding will do.
            padding = load.padding if load.check_bounds else PaddingMode.ZERO
            with b.at(load.span):
                b.emit(AsyncLoad(
                    buffer=ring.buffer, slot=slot, ahead=ahead, array=load.array, active=active,
                    index=tuple(mapping.get(i, i) for i in load.index), steps=load.steps, order=load.order,
                    tile=load.result.type.with_layout(candidate.copy), padding=padding,
                    check_bounds=load.check_bounds and not self._inside(load)))
        b.emit(AsyncCommit())

    def _start_gather(
        self, b: Builder, buffer: Value, candidate: GatherCandidate, slot: Value, ahead: int, active: Value,
        mapping: dict[Value, Value],
    ) -> None:
        gather, run = candidate.load, candidate.run
        with b.at(gather.span):
            b.emit(AsyncGather(
                buffer=buffer, slot=slot, ahead=ahead, array=gather.array, active=active,
                indices=tuple(mapping.get(i, i) for i in gather.indices),
                mask=None if gather.mask is None else mapping.get(gather.mask, gather.mask), padding=gather.padding,
                tile=gather.result.type.with_layout(candidate.copy), vector=run.length, dense=run.dense,
                check_bounds=gather.check_bounds))

    def _inside(self, load: Load) -> bool:
        """Whether every round's tile lies in the array by what is known of its index."""
        array = load.array.type
        for axis, index in enumerate(load.index):
            extent, fact = array.extents[load.order[axis]], self.known[index]
            if extent is None or fact.low < 0 or fact.high * load.steps[axis] + load.shape[axis] > extent:
                return False
        return True

    def _carry(self, zero: Value) -> Value:
        """The loop carries the slot of the round."""
        self.loop.init = (*self.loop.init, zero)
        self.loop.results = (*self.loop.results, Value(SLOT, "", self.loop))
        return self.loop.loop.add_param(SLOT, "slot")

    def _use(self, b: Builder, rings: list[_Ring], slot: Value, fetched: dict[Value, Value]) -> None:
        """The old body: loads and their conversions read from the rings, right before the first user."""
        products = [op for op in self.loop.loop.ops if isinstance(op, Wgmma)]
        dead: set[Op] = {ring.candidate.load for ring in rings}
        source: dict[Value, tuple[_Ring, Layout]] = {}
        for ring in rings:
            result = ring.candidate.load.result
            source[result] = ring, result.type.layout
            for conversion in ring.candidate.conversions:
                dead.add(conversion)
                source[conversion.result] = ring, conversion.result.type.layout
            if isinstance(ring.candidate, GatherCandidate):
                dead.update((*ring.candidate.stages, *ring.candidate.moves))
                source.update((stage.result, (ring, stage.result.type.layout)) for stage in ring.candidate.stages)
        read: dict[tuple[_Ring, Layout] | Value, Value] = {}
        for op in self.loop.loop.ops:
            if op in dead:
                continue
            for value in _reads(op):
                if value in source and value not in read:
                    read[value] = self._read(b, *source[value], slot, value)
            if op.terminator:
                op.values = (*op.values, self._next(b, slot))  # type: ignore[attr-defined]
            _replace(op, {v: n for v, n in read.items() if isinstance(v, Value)})
            b.block.ops.append(op)
            if self.late and op is products[-1]:
                # While these run, behind those of the round before: it is their slot that is filled.
                self._later(b, rings, slot, fetched)
                b.emit(WgmmaWait(accs=(), pending=len(products)))

    def _without_dead(self, ops: list[Op]) -> list[Op]:
        """Leave out index arithmetic of the loads that are gone."""
        slices = {op for c in self.candidates for op in c.slice}
        slices.update(op for c in self.gathers for op in c.inside)
        used: set[Value] = set()
        kept = []
        for op in reversed(ops):
            if op not in slices or any(r in used for r in op.results):
                used.update(_reads(op))
                kept.append(op)
        return kept[::-1]

    def _read(self, b: Builder, ring: _Ring, layout: Layout, slot: Value, value: Value) -> Value:
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


def _reads(op: Op) -> list[Value]:
    """What an op and its bodies read."""
    return [*op.operands, *(v for block in op.blocks for inner in block.walk() for v in inner.operands)]


def _replace(op: Op, new: dict[Value, Value]) -> None:
    op.replace_operands(new)
    for block in op.blocks:
        for inner in block.walk():
            inner.replace_operands(new)
