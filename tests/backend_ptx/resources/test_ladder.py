"""The ladder: which rung follows which refusal, and what the assembler says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from support.optional import needs_ptxas

from tilewright.backend_ptx.compile import hopeless
from tilewright.backend_ptx.resources.ladder import Facts, climb
from tilewright.backend_ptx.resources.occupancy import register_cap
from tilewright.backend_ptx.resources.verdict import Rejection, Shortage, of_error, of_log
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.targets import Target, get_target
from tilewright.tileir.core import Block, Function
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileValueError
from tilewright.tileir.plan import Hints, Limits


class Made:
    """A plan of which only the facts matter."""

    target: Target = get_target("sm_90a")
    hints: Hints = Hints(occupancy=4)

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        unit, next_unit = ("wgmma", "mma.sync") if limits.matrix_unit is None else (None, None)
        self.facts = Facts(
            warps=limits.warps or 4, threads=128, cluster=limits.ctas or 1, slots=limits.max_stages or 3,
            largest=limits.max_exchange or 65536, depth=64, registers=150, register_cap=128, unit=unit,
            next_unit=next_unit, reallocates=limits.allow_register_reallocation, resident=limits.max_occupancy or 4,
            split=False, early=False, deferred=False, reduces=False, looped=False, teams=False, fits=4,
            shared_by=limits.max_occupancy or 4)


def refuse(rejected: Callable[[Limits], Rejection | None]) -> Callable[[Made], Rejection | None]:
    return lambda plan: rejected(plan.limits)


SPILLS, REGISTERS = Rejection(Shortage.SPILLS, "spills", 1000), Rejection(Shortage.REGISTERS, "registers")
SHARED = Rejection(Shortage.SHARED, "shared memory")


def test_occupancy_is_lowered_to_what_the_registers_allow() -> None:
    found = climb(Made, refuse(lambda limits: None if limits.max_occupancy else replace(REGISTERS, needed=140)))
    assert found.plan.limits == Limits(max_occupancy=3)
    assert found.rungs == ("occupancy=4 lowered to 3: registers, 4 CTAs leave 128 registers",)


def hinted(limits: Limits, warps: int = 8, **facts: Any) -> Made:
    """Split loops, early MMAs and partial results in loops, at the hint of four CTAs."""
    plan = Made(limits)
    warps = limits.warps or warps
    plan.facts = plan.facts._replace(split=limits.split_loops, early=limits.early_mmas, warps=warps,
                                     deferred=limits.defer_reductions, **facts)
    return plan


@pytest.mark.parametrize(("given_up", "rungs"), [
    ({"early_mmas"}, ["MMAs in the order of the program"]),
    ({"early_mmas", "defer_reductions"},
     ["MMAs in the order of the program", "reductions combined in each iteration"]),
    ({"early_mmas", "defer_reductions", "split_loops", "warps"},
     ["MMAs in the order of the program", "reductions combined in each iteration", "no loop is split",
      "4 warps in place of 8"])], ids=len)
def test_a_hint_is_lowered_when_nothing_else_is_left_to_give_up(given_up: set[str], rungs: list[str]) -> None:
    def judge(limits: Limits) -> Rejection | None:
        done = {name for name in given_up if getattr(limits, name) not in (True, None)}
        return None if done == given_up else replace(SPILLS, amount=400 - len(done))

    found = climb(hinted, refuse(judge))
    assert [words.split(":")[0] for words in found.rungs] == rungs and found.plan.limits.max_occupancy is None


@pytest.mark.parametrize(("accepted", "limits"), [
    (lambda limits: not limits.extras, {}), (lambda limits: not limits.order_blocks, {"order_blocks": False}),
    (lambda limits: not (limits.extras or limits.split_loops or limits.early_mmas),
     {"order_blocks": False, "early_mmas": False, "defer_reductions": False, "split_loops": False}),
    (lambda limits: not limits.hoist_conversions, {
        "order_blocks": False, "early_mmas": False, "defer_reductions": False, "split_loops": False,
        "hoist_conversions": False})], ids=["extras", "order", "all", "conversions"])
@pytest.mark.parametrize("amount", [512, 520])
def test_what_takes_registers_is_given_up_at_once(
        accepted: Callable[[Limits], bool], limits: dict[str, Any], amount: int) -> None:
    """What only lessens the spills is kept: a plan without them has MMAs ahead, split loops and an order of blocks. So
    many bytes are no matter of a few registers."""
    def judge(limits: Limits) -> Rejection | None:
        return None if accepted(limits) else replace(SPILLS, amount=amount if limits == Limits() else amount + 8)

    found = climb(lambda now: hinted(now, unit=None), refuse(judge))
    assert (found.plan.limits == Limits(extras=False, **limits)) == (amount <= 512)
    assert amount > 512 or found.rungs == ("as written, without what takes registers: spills",)


def test_what_ends_no_spills_is_not_given_up() -> None:
    def judge(limits: Limits) -> Rejection | None:
        return None if limits.max_occupancy else replace(SPILLS, amount=16 if limits.extras else 8)

    assert climb(lambda now: hinted(now, unit=None), refuse(judge)).plan.limits == Limits(max_occupancy=3)


def test_half_the_warps_as_written_for_a_hint() -> None:
    limits = Limits(warps=4, extras=False)
    judge = refuse(lambda now: None if now == limits or now.max_occupancy else replace(SPILLS, amount=400))
    assert climb(hinted, judge).plan.limits == Limits(max_occupancy=3), "outstanding MMAs keep stores in sub-tiles"
    found = climb(lambda now: hinted(now, unit=None), judge)
    assert found.plan.limits == limits
    assert found.rungs == ("4 warps in place of 8, as written, without what takes registers: spills",)


@pytest.mark.parametrize(("threads", "unit", "limits"), [
    (128, None, Limits(warps=8)), (288, None, Limits(max_occupancy=3)), (128, "wgmma", Limits(max_occupancy=3))])
def test_twice_the_warps_for_a_hint(threads: int, unit: str | None, limits: Limits) -> None:
    """Where an SM has room for their threads, and no MMAs are outstanding."""
    judge = refuse(lambda now: None if now.warps == 8 or now.max_occupancy else replace(SPILLS, amount=72))
    assert climb(lambda now: hinted(now, unit=unit, warps=4, threads=threads), judge).plan.limits == limits


def test_beside_fewer_ctas_loops_are_split_again() -> None:
    """16 bytes of spills are two registers at most: three CTAs, which have 168, are tried before two and one."""
    found = climb(hinted, refuse(lambda limits: None if limits.max_occupancy else replace(SPILLS, amount=16)))
    assert found.plan.limits == Limits(max_occupancy=3)
    assert found.rungs == ("occupancy=4 lowered to 3: spills, 4 CTAs leave 128 registers",)


def test_a_hint_without_shared_memory_costs_no_registers() -> None:
    judge = refuse(lambda limits: None if limits.max_occupancy else SPILLS)
    found = climb(lambda limits: hinted(limits, fits=2), judge)
    assert found.plan.limits == Limits(max_occupancy=2)
    assert found.rungs == ("occupancy=4 lowered to 2: spills, shared memory has room for 2",)


def test_twice_the_warps_of_half_as_many_ctas() -> None:
    """Neither alone ends the spills: one CTA cannot have more registers a thread, nor eight warps of four CTAs."""
    found = climb(Made, refuse(lambda limits: None if (limits.warps, limits.max_occupancy) == (8, 2) else SPILLS))
    assert found.rungs == ("8 warps in place of 4 of half as many CTAs: spills",)


@pytest.mark.parametrize("early", [True, False])
def test_early_mmas_are_given_up_for_shared_memory(early: bool) -> None:
    """Their operands stay in shared memory for longer: attention over 256 channels by 128x256 in a cluster."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.hints, plan.facts = Hints(), plan.facts._replace(early=early and limits.early_mmas, shared_by=1)
        return plan

    judge = refuse(lambda limits: None if not limits.early_mmas or limits.max_stages else SHARED)
    expected = "MMAs in the order of the program" if early else "stages lowered to 2"
    assert climb(made, judge).rungs == (f"{expected}: shared memory",)


def crowded(threads: int, ctas: int) -> str:
    """A kernel with 300 live registers."""
    body = [f"ld.volatile.global.f32 %f{i}, [%rd1+{4096 * i}];" for i in range(300)]
    body += [f"st.volatile.global.f32 [%rd1+{4096 * i}], %f{i};" for i in range(300)]
    return "\n".join([
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry crowded(.param .u64 p)",
        f".reqntid {threads}\n.minnctapersm {ctas}\n{{\n.reg .f32 %f<300>;\n.reg .b64 %rd<2>;",
        "ld.param.u64 %rd1, [p];", *body, "ret;\n}"])


@needs_ptxas
@pytest.mark.parametrize(("threads", "ctas"), [(160, 3), (160, 4), (288, 2), (64, 8), (32, 16), (96, 4)], ids=str)
def test_the_registers_that_ptxas_leaves_for_other_ctas(threads: int, ctas: int) -> None:
    target = get_target("sm_80")
    assert assemble(crowded(threads, ctas), target, kernel="crowded").registers == register_cap(ctas, threads, target)


def test_what_live_ranges_alone_refuse() -> None:
    """Many times the registers that the hint leaves, or that there are beside parts of a loop."""
    plan: Any = Made(Limits())
    plan.machine = Function("f", Block())
    for registers, split, occupancy, refused in (
        (513, False, 4, True), (512, False, 4, False), (513, True, None, True), (512, True, None, False),
        (9999, False, None, False), (9999, False, 32, False),
    ):
        resident = occupancy or 1
        plan.facts = plan.facts._replace(registers=registers, resident=resident)
        plan.machine.plan.split = split
        plan.hints = Hints(occupancy=occupancy)
        assert (hopeless(plan) is not None) == refused, (registers, split, occupancy)
    plan.machine.plan.split, plan.limits = True, Limits(split_loops=False)
    assert hopeless(plan) is None, "no loop is split any more"


def test_parts_in_a_cluster_may_start_early_again() -> None:
    """Beside them there may be registers that the whole tile had not left; if not, MMAs keep the program's order."""
    class Early(Made):
        def __init__(self, limits: Limits) -> None:
            super().__init__(limits)
            self.facts = self.facts._replace(early=limits.early_mmas)

    def parts(early: bool) -> Callable[[Made], Rejection | None]:
        return refuse(lambda limits: None if limits.ctas == 2 and limits.early_mmas is early else REGISTERS)

    found = climb(Early, parts(early=True))
    assert (found.plan.limits.ctas, found.plan.limits.early_mmas) == (2, True)
    assert "2 CTAs per cluster: registers" in found.rungs and not any("MMAs" in words for words in found.rungs)
    found = climb(Early, parts(early=False))
    assert (found.plan.limits.ctas, found.plan.limits.early_mmas) == (2, False)
    assert any("MMAs in the order" in words for words in found.rungs)


@pytest.mark.parametrize("lack", [SPILLS, SHARED], ids=["registers", "shared"])
def test_a_cta_of_several_blocks_runs_one(lack: Rejection) -> None:
    """Where what they share lacks registers, or the queries of the next block shared memory: no stage is given up."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.facts = plan.facts._replace(looped=limits.loop_over_blocks)
        return plan

    found = climb(made, refuse(lambda limits: lack if limits.loop_over_blocks else None))
    assert found.plan.limits == Limits(loop_over_blocks=False)
    assert found.rungs == (f"one block for each CTA: {lack.words}",)


@pytest.mark.parametrize(("spilled", "rungs"), [
    ((40, 0), ["a producer with the fewest registers"]), ((160, 28), ["a producer with the fewest registers"]),
    ((300, 200), ["all warps run one block"])], ids=str)
def test_teams_rather_spill_a_few_bytes(spilled: tuple[int, int], rungs: list[str]) -> None:
    """And give them the producer's registers first, which all warps on one block need not."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.facts = plan.facts._replace(looped=limits.loop_over_blocks, teams=limits.teams and limits.loop_over_blocks)
        return plan

    def judge(plan: Made) -> Rejection | None:
        amount = spilled[not plan.limits.producer_ease]
        return replace(SPILLS, amount=amount) if plan.facts.teams and amount else None

    found = climb(made, judge)
    assert [words.split(":")[0] for words in found.rungs] == rungs
    assert found.plan.limits.producer_ease is not found.plan.limits.teams


def test_an_accepted_plan_stays() -> None:
    found = climb(Made, refuse(lambda limits: None))
    assert found.plan.limits == Limits() and not found.rungs


def test_shared_memory_costs_a_stage_first() -> None:
    too_much = Rejection(Shortage.SHARED, "too much", error=TileValueError("too much"))
    found = climb(Made, refuse(lambda limits: too_much if limits.max_stages != 1 else None))
    assert found.plan.limits == Limits(max_occupancy=1, max_stages=1)
    assert [words.split(":")[0] for words in found.rungs] == ["occupancy=4 lowered to 1", "stages lowered to 1"]


def test_a_plan_with_spills_is_left_only_for_one_with_less() -> None:
    """Every rung spills more, but eight warps, which spill half."""
    def judge(limits: Limits) -> Rejection:
        return replace(SPILLS, amount=500 if limits == Limits(warps=8) else 1000)

    found = climb(Made, refuse(judge))
    assert found.plan.limits == Limits(warps=8) and len(found.rungs) == 1


def test_a_plan_whose_setmaxnreg_is_ignored_asks_for_one_cta() -> None:
    """A plan that spills besides does, too, before it changes; where nothing helps, the first one stays."""
    ignored = Rejection(Shortage.IGNORED, "ignored", ignored=True)
    for refused in (ignored, replace(SPILLS, ignored=True)):
        found = climb(Made, refuse(lambda limits, r=refused: r if limits.cap_registers else None))
        assert found.plan.limits == Limits(cap_registers=False)
        assert found.rungs == (f"registers for one CTA per SM: {refused.words}",)
    assert climb(Made, refuse(lambda limits: ignored)).plan.limits.warps is None


def test_clusters_grow_until_one_is_accepted() -> None:
    """Neither two nor four CTAs spill less than one, eight spill nothing."""
    def judge(limits: Limits) -> Rejection | None:
        return None if limits.ctas == 8 else SPILLS

    found = climb(Made, refuse(judge))
    assert found.plan.limits == Limits(ctas=8) and found.rungs == ("8 CTAs per cluster: spills",)


@pytest.mark.parametrize(("amount", "chosen"), [(8, None), (128, None), (132, {"ctas": 2, "warps": 8})])
@pytest.mark.parametrize("field", ["ctas", "warps"])
def test_a_few_spills_are_cheaper_than_another_plan(field: str, amount: int, chosen: dict[str, int] | None) -> None:
    """A cluster, or eight warps for the four of an asynchronous multiply, whichever ends the spills."""
    def judge(limits: Limits) -> Rejection | None:
        return None if getattr(limits, field) else replace(SPILLS, amount=amount)

    found = climb(Made, refuse(judge))
    assert getattr(found.plan.limits, field) == (None if chosen is None else chosen[field])


@pytest.mark.parametrize(("resident", "amount", "warps"), [(4, 24, None), (4, 132, 8), (1, 24, 8), (0, 24, 8)])
def test_registers_for_fewer_ctas_come_before_more_warps(resident: int, amount: int, warps: int | None) -> None:
    """Where ptxas was held to several, and spills a little."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.facts = plan.facts._replace(
            unit=None, next_unit=None, shared_by=1, resident=resident if limits.cap_registers else 1)
        return plan

    few = replace(SPILLS, amount=amount)
    found = climb(made, refuse(lambda limits: None if limits.warps or not limits.cap_registers else few))
    assert found.plan.limits.warps == warps


@pytest.mark.parametrize(("reduces", "ctas"), [(True, 2), (False, None)])
def test_rows_that_spill_are_cut_if_they_are_reduced(reduces: bool, ctas: int | None) -> None:
    """Without MMAs there is something to share for CTAs of a cluster only in what is reduced."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.facts = plan.facts._replace(unit=None, next_unit=None, reduces=reduces)
        return plan

    found = climb(made, refuse(lambda limits: None if limits.ctas else SPILLS))
    assert found.plan.limits.ctas == ctas


@pytest.mark.parametrize(("amount", "unit", "most"), [(40, None, 2), (132, None, None), (40, "wgmma", None)])
def test_what_spills_a_little_is_told_how_many_registers_there_are(
    amount: int, unit: str | None, most: int | None,
) -> None:
    """Layer norm of 65536 columns: ptxas took 128 registers and spilled 40 bytes, told of as many it did not."""
    def made(limits: Limits) -> Made:
        plan = Made(limits)
        plan.hints, plan.facts = Hints(), plan.facts._replace(
            unit=unit, resident=limits.max_occupancy or 0, shared_by=limits.max_occupancy or 1)
        return plan

    few = replace(SPILLS, amount=amount)
    found = climb(made, refuse(lambda limits: None if limits.max_occupancy or limits.warps else few))
    assert found.plan.limits.max_occupancy == most


def test_the_next_matrix_unit_comes_last_and_alone() -> None:
    found = climb(Made, refuse(lambda limits: None if limits.matrix_unit else REGISTERS))
    assert found.plan.limits == Limits(matrix_unit="mma.sync")
    assert found.rungs == ("mma.sync in place of wgmma: registers",)


def test_without_a_plan_the_error_stands() -> None:
    error = TileValueError("no plan")
    with pytest.raises(TileValueError, match="no plan"):
        climb(Made, refuse(lambda limits: replace(REGISTERS, error=error)))


def test_what_the_assembler_says() -> None:
    assert of_log("ptxas info : Used 64 registers") is None
    assert of_log("    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads") == Rejection(
        Shortage.SPILLS, "ptxas would spill 20 bytes", 20)
    serial = "(C7512) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    found = of_log(serial + "insufficient register resources for the function 'attention'")
    assert found is not None and found.kind is Shortage.SERIALISED
    assert of_log(serial + "a call") is None
    lost = "(C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n"
    found = of_log(lost + "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads")
    assert found == Rejection(Shortage.IGNORED, "ptxas would ignore setmaxnreg", ignored=True) and found.runs
    found = of_log(lost + "8 bytes spill stores, 12 bytes spill loads")
    assert found is not None and found.kind is Shortage.SPILLS and found.ignored
    refused = TileCompilerExecutionError("refused", notes=[
        "ptxas fatal : (C7602) Insufficient registers (80) to compile instruction at line 1514 in function attention. "
        "Try to compile with register target of 94 or higher."])
    found = of_error(refused)
    assert found is not None and (found.kind, found.needed) == (Shortage.REGISTERS, 94)
    assert of_error(TileCompilerExecutionError("refused", notes=["syntax error"])) is None
