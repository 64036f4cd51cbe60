"""Roles are a list: a kernel whose rings have mbarriers of their own runs as well with a producer for each."""

from __future__ import annotations

import re
from typing import Any

import pytest
from catalogue import hopper, hopper_kernels
from catalogue.case import Case

import tilewright as tw
from tilewright.backend_ptx.lower.function import emit_function
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.roles import CONSUMER, PRODUCER
from tilewright.backend_ptx.simulator import Deadlock, simulate_lowered
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function, Value
from tilewright.tileir.passes.project import initial_ops, project
from tilewright.tileir.plan import MachinePlan, Role

TARGET = get_target("sm_90a")
SECOND = "second producer"
CASES = {case.name.removeprefix("hopper-"): case for case in hopper.cases()}
WITH_RINGS = ("attention-causal", "chained")


def compiled(case: Case) -> Function:
    made = case.kernel.lower(*case.args(), target="sm_90a").tile_ir()
    run_passes(made, TARGET)
    return made


def of_producer(function: Function) -> list[Any]:
    return [op for op in function.walk() if op.effects().role == PRODUCER]


def full(function: Function) -> list[Value]:
    """The mbarriers of each ring on which its bytes arrive."""
    return list(dict.fromkeys(op.barriers for op in of_producer(function) if "buffer" in op.fields))


def with_two_producers(function: Function) -> Function:
    """The last ring's copies, and the waits for its empty slots, go to a role of their own."""
    rings = full(function)
    assert len(rings) > 1
    words = [v for op in initial_ops(function) for v in op.operands]
    mine = (rings[-1], words[words.index(rings[-1]) + 1])  # "empty" is initialised behind "full"
    for op in of_producer(function):
        if op.barriers in mine:
            op.role = SECOND
    function.plan.roles = (*function.plan.roles, Role(SECOND, 1))
    return function


def simulate(function: Function, case: Case, seed: int) -> None:
    args = case.args()
    lowered = emit_function(function, TARGET)
    assert lowered.threads == 32 * sum(role.warps for role in function.plan.roles)
    simulate_lowered(lowered, case.grid, case.kernel.lower(*args).values, schedule="random", seed=seed)
    case.check(case.results(args), case.reference(*case.args()), "the code with two producers")


@pytest.mark.parametrize("name", WITH_RINGS)
def test_three_roles_compute_what_two_do(name: str) -> None:
    case = CASES[name]
    simulate(with_two_producers(compiled(case)), case, seed=1)


@pytest.mark.parametrize("name", WITH_RINGS)
def test_each_op_is_somebodys(name: str) -> None:
    """No op is lost, and what only one role does stands in that role's part alone."""
    function = with_two_producers(compiled(CASES[name]))
    parts = {role.name: project(function, role.name) for role in function.plan.roles}
    assert list(parts) == [CONSUMER, PRODUCER, SECOND]
    for role, part in parts.items():
        assert {op.effects().role or CONSUMER for op in part.walk() if op.effects().io} == {role}
    io = [op.opcode for op in function.walk() if op.effects().io]
    kept = [op.opcode for part in parts.values() for op in part.walk() if op.effects().io]
    assert sorted(io) == sorted([*kept, *(op.opcode for op in initial_ops(function))])


def test_numbers_of_several_roles_are_computed_once() -> None:
    """Numbers of iterations are shifted out by all threads before the roles part, unless they are teams of warps."""
    function = compiled(CASES["attention-causal"])
    divisions = re.findall(r"= (ashr .*)", emit_function(function, TARGET).llvm_text)
    assert divisions and len(set(divisions)) == len(divisions)
    function.plan.teams = 2
    assert len(re.findall(r"= ashr ", emit_function(function, TARGET).llvm_text)) == 2 * len(divisions)


def test_a_role_that_nobody_runs_is_missed() -> None:
    """Without the second producer in the plan, the consumers wait for bytes that nobody copies."""
    case = CASES["chained"]
    function = with_two_producers(compiled(case))
    function.plan.roles = function.plan.roles[:2]
    with pytest.raises(Deadlock):
        simulate(function, case, seed=1)


def test_registers_are_those_of_the_plan() -> None:
    case = CASES["chained"]
    function = with_two_producers(compiled(case))
    counts = 232, 40, 24
    function.plan.roles = tuple(Role(r.name, 4, n) for r, n in zip(function.plan.roles, counts, strict=True))
    text = emit_function(function, TARGET).llvm_text
    for way, count in zip(("inc", "dec", "dec"), counts, strict=True):
        assert text.count(f"setmaxnreg.{way}.sync.aligned.u32 {count};") == 1
    assert text.count("setmaxnreg") == 3


def test_first_warps() -> None:
    plan = MachinePlan(roles=(Role(CONSUMER, 8), Role(PRODUCER, 4), Role(SECOND, 1)))
    assert [plan.first_warp(role.name) for role in plan.roles] == [0, 8, 12]


@pytest.mark.parametrize(("d", "tile", "hints", "shares"), [
    (64, (128, 64), {}, True), (64, (128, 128), {}, False), (64, (64, 64), {}, False), (128, (128, 64), {}, False),
    (64, (128, 64), {"num_worker_warps": 8}, False), (64, (128, 64), {"occupancy": 1}, False),
])
def test_two_ctas_share_an_sm_where_threads_compute_much(
    d: int, tile: tuple[int, int], hints: dict[str, int], shares: bool,
) -> None:
    """Attention: weights of 64 keys take as long as their products over 64 channels, half as long as over 128. Wider
    tiles need the registers, and with fewer rows warpgroups have none of their own."""
    kernel = hopper_kernels.attention.replace_hints(**hints)
    array = tw.spec(f"f16[512,{d}]")
    function = kernel.lower(array, array, array, array, 0.1, *tile, d, False, target="sm_90a").tile_ir()
    run_passes(function, TARGET)
    assert (function.hints.occupancy == 2) == shares
    if shares:  # 384 threads enter with 80 registers each
        assert function.plan.roles == (Role(CONSUMER, 8, 104), Role(PRODUCER, 4, 24))
