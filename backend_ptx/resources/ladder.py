"""The ladder of plans: a plan that the assembler refuses goes one rung down, until code is accepted.

A rung is data: a name, the shortages that it helps against, and a function that gives tighter limits of a plan, if any.
The order is that of cost: first what a hint asked for beyond the machine, then what makes a kernel a little slower,
then what gives up an instruction; spills come last. Where there is no code that runs, each rung leads down; spills and
serialised wgmma are accepted where no rung has less of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tilewright.backend_ptx.decisions import kib
from tilewright.backend_ptx.resources.occupancy import AIM, register_cap
from tilewright.backend_ptx.resources.registers import MARGIN
from tilewright.backend_ptx.resources.verdict import Rejection, Shortage
from tilewright.backend_ptx.targets import KIB, Target
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.plan import Hints, Limits


class Facts(NamedTuple):
    """What a plan has come to. `slots`: of its deepest ring; `largest`: bytes of its largest buffer; `depth`: the K
    of its deepest multiply; `registers`: those that live ranges give each thread, of `register_cap` that it can have;
    `unit`: the matrix unit with outstanding MMAs, and `next_unit` the one that the target prefers after it;
    `resident`: CTAs for which ptxas must leave registers (0: as it chooses); `split`: some loop became several;
    `early`: some MMAs start early; `deferred`: some loop carries partial results of a reduction; `reduces`: some tile
    is reduced; `looped`: CTAs loop over blocks, `teams`: of warps, in turns; `shared_by`: CTAs per SM that the plan was
    made for, as a hint or a pass asked, `fits`: those for which there is shared memory."""

    warps: int
    threads: int
    cluster: int
    slots: int
    largest: int
    depth: int
    registers: int
    register_cap: int
    unit: str | None
    next_unit: str | None
    reallocates: bool
    resident: int
    split: bool
    early: bool
    deferred: bool
    reduces: bool
    looped: bool
    teams: bool
    shared_by: int
    fits: int


class TriedPlan(Protocol):
    """A plan within its limits, compiled as far as it could be."""

    limits: Limits
    target: Target
    hints: Hints

    @cached_property
    def facts(self) -> Facts: ...


class Descent(NamedTuple):
    """Tighter limits, and what to say of them. `ends`: they are kept only where nothing is refused any more."""

    limits: Limits
    words: str
    ends: bool = False


Tighten = Callable[[TriedPlan, Rejection], Iterator[Descent]]
Bears = Callable[[Facts], int]


def _descent(plan: TriedPlan, refused: Rejection, what: str, ends: bool = False, **limits: Any) -> Descent:
    """Down to these limits, for the reason of the refusal."""
    return Descent(replace(plan.limits, **limits), f"{what}: {refused.words}", ends)


@dataclass(frozen=True, slots=True)
class Rung:
    """`tighten` gives the steps of the rung, in the order in which they are tried. `keeps`: whether what was tightened
    before stays so, but for what the rung `undoes`. `hopes`: whether it is tried against spills only where the
    registers of an SM come near to what the tiles take (HOPE). `bears`: the spilled bytes with which a plan is faster
    than one rung down."""

    name: str
    helps: frozenset[Shortage]
    tighten: Tighten
    keeps: bool = True
    undoes: tuple[str, ...] = ()
    hopes: bool = False
    bears: Bears = lambda facts: 0


_THREADS = frozenset({Shortage.SPILLS, Shortage.SERIALISED, Shortage.REGISTERS, Shortage.HOPELESS})
_MEMORY = frozenset({Shortage.SHARED})
MOST_CTAS = 8
# Beyond FULL warps each thread has fewer registers; so many warps use all registers of an SM.
MOST_WARPS, FULL = 16, 8
LEAST_EXCHANGE = 4 * KIB
DEPTH = 64  # K of the parts of a multiply: a row of 128 bytes of 16-bit operands, as TMA loads them
# Spilled bytes up to which wgmma with spills is faster than mma.sync without, which reaches about half of its rate.
FEW_SPILLS = 512
# The same beside parts of the tiles in a cluster, whose warpgroups share rows and exchange operands. Gradients of
# attention by the library on an H100 (64 x 4096 x 128) took 3.59 ms with those of keys and values in a cluster; with 8
# bytes of spills these take 1.70, beside 1.04 of those of queries.
CHEAP_SPILLS = 128
# Live tiles beyond so many times the registers of an SM spill under every plan; large ones compile for minutes.
HOPE = 2
PRODUCER = "producer"
IN_ORDER, IN_EACH = "MMAs in the order of the program", "reductions combined in each iteration"
AS_WRITTEN = "as written, without what takes registers"
GIVEN_UP = ("MMAs in order", "reductions in loops", "whole loops", "warps for a hint")  # for a hint
NO_REALLOCATION = "no register reallocation between warpgroups (setmaxnreg)"


def one_resident(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """One CTA per SM as the least that must fit: ptxas then knows how many registers threads enter with, where its
    own choice is made after it needs to know (C7508)."""
    if refused.ignored:
        yield from uncapped(plan, refused)


def without(fact: str, limit: str, what: str, **again: bool) -> Tighten:
    """A plan without what a fact says of this one, which a limit forbids; `again` allows what another rung forbade."""
    def tighten(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
        if getattr(plan.facts, fact):
            yield _descent(plan, refused, what, **{limit: False}, **again)
    return tighten


def lean_producer(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """For teams, what a producer can do without: of two times eight warps each thread gets 112 registers, not 104."""
    if plan.facts.teams and plan.limits.producer_ease:
        yield _descent(plan, refused, "a producer with the fewest registers", producer_ease=False)


def as_written(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """All at once that takes registers to make a kernel faster, which one by one may end no spills: what passes do on
    their own (EXTRAS of the pipeline), then the order of blocks, then what the rungs above give up, then conversions at
    loads. Not beside outstanding MMAs, whose results TMA stores in sub-tiles."""
    limits = "order_blocks", "early_mmas", "defer_reductions", "split_loops", "hoist_conversions"
    for more in limits[:0], limits[:1], limits[:4], limits:
        if refused.amount <= FEW_SPILLS and not plan.facts.unit:
            yield _descent(plan, refused, AS_WRITTEN, True, extras=False, **dict.fromkeys(more, False))


def warps_for_a_hint(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Half of FULL: as many registers of a CTA, in which what each warp needs stands fewer times. A product of
    e5m2 2048^3 by 256x32x128 for four CTAs, code for sm_80 on an H100: 90 us as written with 4 warps, 106 with 8 warps
    of three CTAs. Or twice as many, where an SM has room for their threads: tiles that are spilled then take shared
    memory, of which fewer CTAs would use as much."""
    facts, said = plan.facts, "{} warps in place of {}"
    if not plan.hints.occupancy or plan.hints.num_worker_warps or facts.shared_by == 1 or plan.limits.warps:
        return
    if facts.warps == FULL:
        fewer = said.format(FULL // 2, FULL)
        yield _descent(plan, refused, fewer, warps=FULL // 2)
        if not facts.unit:
            yield _descent(plan, refused, f"{fewer}, {AS_WRITTEN}", True, warps=FULL // 2, extras=False)
    if not facts.unit and 2 * facts.threads * facts.shared_by <= plan.target.threads_per_sm:
        yield _descent(plan, refused, said.format(2 * facts.warps, facts.warps), True, warps=2 * facts.warps)


def room(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Not more CTAs than shared memory has room for: registers that ptxas leaves for others are lost."""
    if plan.facts.fits < plan.facts.shared_by:
        yield from _occupancies(plan, f"{refused.words}, shared memory has room for {plan.facts.fits}", plan.facts.fits)


def lower_occupancy(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """The highest occupancy that leaves the needed registers, as far as they are known, and lower ones."""
    asked, threads, most = plan.facts.shared_by, plan.facts.threads, plan.target.registers_per_thread
    if asked > 1:
        left = register_cap(asked, threads, plan.target)
        # A spilled register takes 4 bytes of stores and 4 of loads at least.
        lacking = -(-refused.amount // 8) if refused.kind is Shortage.SPILLS else most
        needed = min(refused.needed or plan.facts.registers - MARGIN, most, left + lacking)
        highest = next((n for n in range(asked - 1, 1, -1) if register_cap(n, threads, plan.target) >= needed), 1)
        why = refused.words + ("" if refused.kind is Shortage.SHARED else f", {asked} CTAs leave {left} registers")
        yield from _occupancies(plan, why, highest)


def _occupancies(plan: TriedPlan, why: str, highest: int) -> Iterator[Descent]:
    """From the highest down. Beside fewer CTAs there may be registers for what was given up for the hint."""
    free: dict[str, Any] = {"early_mmas": True, "defer_reductions": True, "split_loops": True, "warps": None}
    again = {} if plan.limits.max_occupancy else free
    for lower in range(max(1, highest), 0, -1):
        said = f"occupancy={plan.hints.occupancy or plan.facts.shared_by} lowered to {lower}: {why}"
        yield Descent(replace(plan.limits, max_occupancy=lower, **again), said)


def two_resident(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Registers for AIM CTAs per SM: ptxas, left alone, may take just as many and spill a little, told so nothing."""
    free = plan.facts.resident == 0 and plan.limits.max_occupancy is None
    if free and not plan.facts.unit and refused.kind is Shortage.SPILLS and refused.amount <= CHEAP_SPILLS:
        yield _descent(plan, refused, f"registers for {AIM} CTAs per SM", max_occupancy=AIM)


def fewer_stages(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    fewer = plan.facts.slots - 1
    if fewer > 0:
        yield _descent(plan, refused, f"stages lowered to {fewer}", max_stages=fewer)


def more_ctas(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Clusters of twice as many CTAs and more, each with a part of the accumulators or of the reduced rows. MMAs may
    start early again: beside a part there may be registers for what they hold."""
    ctas = 2 * max(plan.facts.cluster, plan.limits.ctas or 1)
    while (plan.facts.unit or plan.facts.reduces) and plan.limits.allow_cluster and ctas <= MOST_CTAS:
        yield _descent(plan, refused, f"{ctas} CTAs per cluster", ctas=ctas, early_mmas=True, defer_reductions=True)
        if not plan.limits.early_mmas:
            yield _descent(plan, refused, f"{ctas} CTAs per cluster, {IN_ORDER}", ctas=ctas, defer_reductions=True)
        ctas *= 2


def other_warps(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Twice as many warps, of half as many CTAs where these share an SM; from so many that they share the registers of
    an SM, back to those that just use them."""
    warps, ctas = plan.facts.warps, plan.facts.shared_by
    if (plan.limits.warps or 0) < MOST_WARPS and warps <= FULL:
        said = f"{2 * warps} warps in place of {warps}"
        yield _descent(plan, refused, said, warps=2 * warps)
        if ctas > 1:
            yield _descent(plan, refused, f"{said} of half as many CTAs", warps=2 * warps, max_occupancy=ctas // 2)


def fewer_warps(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    if plan.facts.warps > FULL and plan.limits.warps is None:
        yield _descent(plan, refused, f"{FULL} warps in place of {plan.facts.warps}", warps=FULL)


def exchange_in_pieces(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """Half the size of the largest buffer, if it is one of a layout conversion: these keep within the limit."""
    before = plan.limits.max_exchange
    most = 1 << (plan.facts.largest - 1).bit_length() - 1
    if most >= LEAST_EXCHANGE and (before is None or most < before):
        yield _descent(plan, refused, f"layout conversions in sub-tiles of {kib(most)}", max_exchange=most)


def split_depth(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """A loop over parts of K."""
    if plan.facts.depth > DEPTH and plan.limits.max_depth is None:
        yield _descent(plan, refused, f"K of {plan.facts.depth} in parts of {DEPTH}", max_depth=DEPTH)


def no_cluster(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    if plan.facts.cluster > 1 and plan.limits.ctas is None:
        yield _descent(plan, refused, "one CTA per block", allow_cluster=False)


def other_unit(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """The next matrix unit in place of one whose MMAs are outstanding, and hold registers meanwhile."""
    if plan.facts.unit and plan.facts.next_unit:
        limits = Limits(matrix_unit=plan.facts.next_unit, allow_cluster=plan.limits.allow_cluster)
        yield Descent(limits, f"{plan.facts.next_unit} in place of {plan.facts.unit}: {refused.words}")


def uncapped(plan: TriedPlan, refused: Rejection) -> Iterator[Descent]:
    """As many registers as one CTA per SM can have. ptxas takes fewer without a limit."""
    if plan.facts.resident != 1 and plan.limits.cap_registers:
        yield _descent(plan, refused, "registers for one CTA per SM", cap_registers=False)


def in_teams(facts: Facts) -> int:
    """GELU and a residual after 16384x1024x1024 by 128x128x64 on an H100: 69 us with a few bytes spilled by teams of
    warps in turns, 80 with all warps on one block."""
    return CHEAP_SPILLS if facts.teams else 0


def where_warps_are_few(facts: Facts) -> int:
    """Of MMAs, and where ptxas is held to several CTAs, and may be to fewer. SiLU and a residual after 4096^3 on an
    H100: 191 us with 8 bytes spilled, 216 with 16 warps; layer norm of 50257 float32 columns in a loop 0.74 of a copy's
    rate with 8 warps, 0.86 with 4 and registers for one CTA."""
    return CHEAP_SPILLS if facts.unit or facts.resident > 1 else 0


# Fewer MMAs, blocks and parts of loops have less live at once: accumulators and operands, and what they share.
LADDER: tuple[Rung, ...] = (
    Rung("entry", _THREADS | {Shortage.IGNORED}, one_resident),
    Rung(PRODUCER, _THREADS, lean_producer),
    Rung("teams", _THREADS | _MEMORY | {Shortage.IGNORED},
         without("teams", "teams", "all warps run one block", producer_ease=True), undoes=(PRODUCER,), bears=in_teams),
    Rung("blocks", _THREADS | _MEMORY | {Shortage.IGNORED},
         without("looped", "loop_over_blocks", "one block for each CTA"), bears=in_teams),
    Rung("room", _THREADS, room),
    Rung("MMAs in order", _THREADS | _MEMORY, without("early", "early_mmas", IN_ORDER), bears=in_teams),
    Rung("reductions in loops", _THREADS, without("deferred", "defer_reductions", IN_EACH), bears=in_teams),
    Rung("two CTAs", frozenset({Shortage.SPILLS}), two_resident),
    Rung("whole loops", _THREADS | _MEMORY, without("split", "split_loops", "no loop is split"), bears=in_teams),
    Rung("as written", frozenset({Shortage.SPILLS}), as_written),
    Rung("warps for a hint", _THREADS, warps_for_a_hint),
    Rung("occupancy", _THREADS | _MEMORY, lower_occupancy, undoes=GIVEN_UP),
    Rung("stages", _MEMORY, fewer_stages),
    Rung("K split", _MEMORY, split_depth),
    Rung("cluster", _THREADS, more_ctas, undoes=("MMAs in order", "reductions in loops"),
         bears=lambda facts: CHEAP_SPILLS),
    Rung("warps", _THREADS, other_warps, hopes=True, bears=where_warps_are_few),
    Rung("fewer warps", _THREADS, fewer_warps, hopes=True),
    Rung("exchanges", _MEMORY, exchange_in_pieces),
    Rung("setmaxnreg", _THREADS, without("reallocates", "allow_register_reallocation", NO_REALLOCATION), hopes=True,
         bears=in_teams),
    Rung("no cluster", _THREADS | _MEMORY, no_cluster),
    Rung("matrix unit", _THREADS | _MEMORY, other_unit, keeps=False, hopes=True, bears=lambda facts: FEW_SPILLS),
    Rung("spills", _THREADS, uncapped))


A = TypeVar("A", bound=TriedPlan)


class Accepted(NamedTuple, Generic[A]):
    """The plan to use, and how it was reached."""

    plan: A
    rungs: tuple[str, ...]


def climb(
    attempt: Callable[[Limits], A], judge: Callable[[A], Rejection | None], start: Limits = Limits(),
) -> Accepted[A]:
    """The first plan that `judge` accepts; without one, that with the least spills.

    Where no plan runs, it raises what the user shall read.
    """
    seen = {start}
    words: dict[str, str] = {}  # by rung, of which the lowest step counts
    plan = attempt(start)
    refused = judge(plan)
    while refused is not None:
        found_step = next(((r, s) for r, s in _steps(plan, refused) if s.limits not in seen), None)
        if found_step is None:
            break
        rung, step = found_step
        seen.add(step.limits)
        other = attempt(step.limits)
        found = judge(other)
        if found is None or not (step.ends or (refused.runs and found.is_worse_than(refused))):
            plan, refused = other, found
            kept = {name: said for name, said in words.items() if rung.keeps and name not in rung.undoes}
            words = {**kept, rung.name: step.words}
    if refused is not None and not refused.runs:
        raise refused.error or TileError(refused.words)
    return Accepted(plan, tuple(words.values()))


def _steps(plan: TriedPlan, refused: Rejection) -> Iterator[tuple[Rung, Descent]]:
    facts = plan.facts
    lost = refused.kind is Shortage.SPILLS and facts.registers * facts.threads > HOPE * plan.target.registers_per_sm
    for rung in LADDER:
        borne = refused.kind is Shortage.SPILLS and refused.amount <= rung.bears(facts)
        if refused.kind in rung.helps and not borne and not (lost and rung.hopes):
            yield from ((rung, step) for step in rung.tighten(plan, refused))
