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

A gather qualifies too: then `async_gather` starts it, with indices that were loaded a round before (gather_candidates).
Where a tile becomes an operand of wgmma, the slot itself is that operand, and the copies of a round start behind its
products, which may run on into the next round: the ring has a slot more.

A load that other threads read (its users convert the layout) goes to a ring that all threads share, and insert_barriers
puts one barrier into each round, between the wait and the first access. A load whose users work in its own layout gets
a ring in which each thread reads what it has copied itself, without a barrier, where that pays. Which loads qualify:
copy_candidates.py; how many slots: copy_depth.py. The decision `pipeline` says what was decided, and why.
"""

from __future__ import annotations

from functools import cached_property

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.queries import registers
from tilewright.backend_ptx.ops.engines import TMA_LOAD
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.pipelining.copy_candidates import Candidate, find_candidate, users_of
from tilewright.backend_ptx.passes.pipelining.copy_depth import Depth, decide_depth
from tilewright.backend_ptx.passes.pipelining.copy_rewrite import Pipeline, name_of
from tilewright.backend_ptx.passes.pipelining.gather_candidates import GatherCandidate, GatherFinder
from tilewright.backend_ptx.passes.pipelining.trip_counts import Rounds, most_rounds
from tilewright.backend_ptx.resources.occupancy import resident_aim
from tilewright.backend_ptx.resources.shared import buffer_bytes, lasting_bytes, peak_bytes
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.analysis.runs import Runs, runs
from tilewright.tileir.analysis.uses import uses
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import arith
from tilewright.tileir.ops.control import For, While
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.ops.shape import Broadcast, Iota, Permute
from tilewright.tileir.plan import Decision
from tilewright.tileir.rewrite import Rewriter, rewrite
from tilewright.tileir.types import TileType

_MADE_IN_PLACE = (arith.Constant, Iota, Broadcast, arith.Compare)


def pipeline_loops(c: Compilation) -> None:
    """Needs layouts on every tile; conversions must still be `convert_layout`."""
    function, target = c.function, c.target
    if not target.has_cp_async:
        return
    loops = [op for op in function.walk() if isinstance(op, For) and _is_innermost(op)]
    if not loops:
        return
    seen = _Seen(function)
    known = seen.known
    depths: dict[Op, Depth] = {}
    for loop in loops:
        found, left = _find(loop, seen)
        depth, made = _decide(loop, function, known, found, left, target)
        c.decide(*made)
        if depth.stages > 1:
            depths[loop] = depth
            c.plan.stages = (*c.plan.stages, depth.stages)
    if depths:
        rewrite(function, lambda rewriter, op: _rule(rewriter, op, depths, known))


def _is_innermost(loop: For) -> bool:
    return not any(isinstance(op, (For, While)) for op in loop.loop.walk())


# ---- what to do -------------------------------------------------------------------------------------------------


class _Seen:
    """What is known of the function before any loop is rewritten."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.known = facts(function)
        self.dependences = Dependences(function)
        self.users = uses(function)

    @cached_property
    def runs(self) -> Runs:
        """Only gathers ask."""
        return runs(self.function, self.known)


def _find(loop: For, seen: _Seen) -> tuple[list[Candidate], list[Decision]]:
    """The rings that a loop could have, and of each other load why it stays one."""
    warps = seen.function.plan.warps
    found: list[Candidate] = []
    left: list[Decision] = []
    if any(isinstance(op, Gather) and op.shape for op in loop.loop.ops):
        found, left = _find_gathers(loop, seen)
    fetched = _only_fetched(loop, found)
    for op in loop.loop.ops:
        if not isinstance(op, Load) or not op.shape or op in fetched:
            continue
        what = find_candidate(loop, op, seen.users, seen.dependences, seen.known, warps)
        if isinstance(what, Candidate):
            found.append(what)
        else:
            left.append(decisions.stays_a_load("pipeline", name_of(op), what, op.span))
    return found, left


def _find_gathers(loop: For, seen: _Seen) -> tuple[list[Candidate], list[Decision]]:
    finder = GatherFinder(loop, seen.users, seen.dependences, seen.known, seen.runs)
    found: list[Candidate] = []
    left = []
    for op in loop.loop.ops:
        if isinstance(op, Gather) and op.shape:
            what = finder.find(op)
            if isinstance(what, GatherCandidate):
                found.append(what)
            else:
                left.append(decisions.stays_a_gather(name_of(op), what, op.span))
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
    loop: For, function: Function, known: Facts, found: list[Candidate], left: list[Decision], target: Target,
) -> tuple[Depth, list[Decision]]:
    """The depth for a loop and what to say of it (nothing where it loads no tile)."""
    warps = function.plan.warps
    if not Rounds.countable(loop, known):
        found, left = [], [*left, *(decisions.no_pipeline(decisions.BOUNDS_OVERFLOW, loop.span) for _ in found[:1])]
    if not found:
        return Depth(1, (), ""), left
    planned = max(function.plan.occupancy, 1)
    blocks = max(planned, resident_aim(_tile_registers(loop), 32 * warps, function.hints.occupancy, target))
    other = _other_bytes(function, loop, found)
    depth = decide_depth(found, most_rounds(loop, known), range(blocks, planned - 1, -1), other, target,
                         function.limits.max_stages)
    if depth.stages > 1:
        left += [decisions.stays_a_load("pipeline", name_of(c.load), decisions.TOO_LITTLE, c.load.span)
                 for c in found if c not in depth.rings]
        names = [(name_of(c.load), c.exchanged) for c in depth.rings]
        return depth, [decisions.pipeline(names, depth.stages, depth.bytes, depth.reason, loop.span), *left]
    return depth, [decisions.no_pipeline(depth.reason, loop.span), *left]


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
    before it whose results products in the loop read piece by piece, for operands that threads put there for wgmma, for
    rings that live as long as the kernel and buffers from which bulk stores may still read."""
    replaced = {c for ring in rings for c in ring.conversions}
    inside = set(loop.loop.walk())
    read = {_converted(v) for op in inside if isinstance(op, Product) for v in (op.a, op.b)}
    conversions: int = sum(
        op.src.type.size * op.src.type.dtype.bytes
        for op in function.walk()
        if isinstance(op, ConvertLayout) and op not in replaced and (op in inside or op.result in read)
        and plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("warp", "block"))
    placed = {s for ring in rings for s in ring.stages}
    staged: int = sum(op.src.type.size * op.src.type.dtype.bytes for op in function.walk()
                      if isinstance(op, Stage) and op not in placed)
    starts = (s for op in function.walk() for s in op.effects().starts)
    filled = {s.memory for s in starts if s.engine is TMA_LOAD and s.writes}
    around = lasting_bytes(function, inside) + sum(buffer_bytes(ring.type) for ring in filled)
    return conversions + staged + peak_bytes(function, inside) + around


def _converted(value: Value) -> Value:
    """What is in shared memory of an operand: casts are done piece by piece too."""
    while isinstance(value.op, Cast):
        value = value.op.src
    return value


# ---- doing it ---------------------------------------------------------------------------------------------------


def _rule(rewriter: Rewriter, op: Op, depths: dict[Op, Depth], known: Facts) -> None:
    depth = depths.get(op)
    if depth is None:
        rewriter.keep(op)
        return
    assert isinstance(op, For)
    Pipeline(rewriter, op, depth, known).run()
