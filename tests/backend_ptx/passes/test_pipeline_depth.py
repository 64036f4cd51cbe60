"""How deep a pipeline gets, which loads it takes, and how many barriers a round costs."""

from __future__ import annotations

import re

import pytest
from support.decisions import told
from support.pass_kernels import function

from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncLoad, AsyncWait
from tilewright.backend_ptx.ops.shared import Barrier, SharedAlloc
from tilewright.backend_ptx.passes.pipelining.depth import Appetite, slots_that_fit
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.resources.occupancy import resident_aim
from tilewright.backend_ptx.targets import get_target
from tilewright.tileir.core import Function
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.parser import parse
from tilewright.tileir.plan import Hints, Limits

ARRAY = "array<?x?xf32, strides=?x1, stride_div=4x1, align=16, disjoint>"


def passed(f: Function, target: str = "sm_90a") -> Function:
    run_passes(f, get_target(target))
    return f


def loop_of(f: Function) -> For:
    [loop] = [op for op in f.walk() if isinstance(op, For)]
    return loop


def summing(rows: int, columns: int, load: str = "", upper: str = "%n", before: str = "", body: str = "") -> Function:
    """A loop that sums tiles of an array; `load` are more fields of its load."""
    tile = f"tile<{rows}x{columns}xf32>"
    at = f"shape=({rows}, {columns}), steps=({rows}, {columns}), order=(0, 1)"
    return parse(f"""
func @k(%a: {ARRAY}, %b: {ARRAY}, %n: i32) {{
  %z: i32 = constant(value=0, type=tile<i32>)
  %one: i32 = constant(value=1, type=tile<i32>)
  %three: i32 = constant(value=3, type=tile<i32>)
  %zero: {tile} = constant(value=0x0p+0, type={tile})
  {before}
  %r: {tile} = for(lower=%z, upper={upper}, step=%one, init=(%zero)) .loop(%k: i32, %acc: {tile}) {{
    %t: {tile} = load(array=%a, index=(%z, %k), {at}{load})
    %s: {tile} = add(lhs=%acc, rhs=%t)
    {body}
    yield(values=(%s))
  }}
  store(array=%b, index=(%z, %z), value=%r, steps=({rows}, {columns}), order=(0, 1))
  return()
}}
""")


@pytest.mark.parametrize(("made", "stages"), [
    (summing(4, 1024), 4),
    (summing(8, 1024), 3),  # 32 KiB a round, two blocks on a multiprocessor
    (summing(8, 1024, ", latency=2"), 2),
    (summing(4, 1024, ", latency=6"), 6),
    (summing(2, 1024, ", latency=10"), 8),
    (summing(8, 64, ", latency=3"), 3),  # so little is loaded ahead only where the user asks for it
    (summing(64, 512), 0),  # 128 KiB a round: two slots fit nowhere
    (summing(32, 512), 3),
    (summing(8, 1024, upper="%three"), 0),  # too short a loop for what only hides latency
    (summing(8, 1024, ", latency=5", upper="%three"), 3),
    (summing(8, 64), 0),
    (summing(8, 1024, ", latency=1"), 0),
    (summing(8, 1024, ', padding="nan"'), 3),  # zeros are copied, and masked after
    (summing(4, 1024, ', padding="nan", check_bounds=false'), 4),
])
def test_depth(made: Function, stages: int) -> None:
    f = passed(made)
    rings = [op.type.copies for op in f.walk() if isinstance(op, SharedAlloc)]
    assert rings == ([stages] if stages else [])
    assert re.search(rf"{stages} slots of" if stages else r"stays a load|no ring", told(f, "pipeline"))
    waits = [op.pending for op in f.walk() if isinstance(op, AsyncWait)]
    assert waits == ([stages - 2, 0] if stages else [])
    assert len([op for op in f.walk() if isinstance(op, AsyncCommit)]) == stages
    assert any(isinstance(op, Load) for op in f.walk()) == (not stages)  # one, or another an iteration ahead


@pytest.mark.parametrize(("made", "warps", "slots"), [
    (summing(1, 512), 1, 8), (summing(1, 512, upper="%three"), 1, 0), (summing(1, 256), 1, 0), (summing(1, 1024), 1, 4),
    (summing(1, 2048), 4, 4),
])
def test_short_rows(made: Function, warps: int, slots: int) -> None:
    """Of at least 64 bytes in each thread; rings have 16 KiB, whatever the occupancy, so that few CTAs hide the latency
    of memory, too."""
    made.hints = Hints(num_worker_warps=warps)
    rings = [op.type.copies for op in passed(made).walk() if isinstance(op, SharedAlloc)]
    assert rings == [slots] * bool(slots)


def test_a_written_array_is_not_loaded_early() -> None:
    at = "steps=(8, 1024), order=(0, 1)"
    f = passed(summing(8, 1024, body=f"store(array=%a, index=(%z, %k), value=%s, {at})"))
    assert "the loop writes its array" in told(f, "pipeline")
    assert not [op for op in f.walk() if isinstance(op, AsyncLoad)]


def test_an_index_from_memory_that_stays_the_same() -> None:
    where = "%j: i32 = load(array=%c, index=(), shape=(), steps=(), order=())"
    text = str(summing(8, 1024)).replace("%n: i32)", "%n: i32, %c: array<i32>)")
    f = parse(text.replace("index=(%z, %k)", "index=(%z, %j)").replace("%t: tile", f"{where}\n    %t: tile", 1))
    assert "the same tile in every iteration" in told(passed(f), "pipeline")


@pytest.mark.parametrize(("name", "barriers"), [
    ("gemm", 1), ("chained_products", 1), ("running_sum", 0), ("stencil", 2),  # the stencil turns its result
])
def test_barriers_of_a_round(name: str, barriers: int) -> None:
    loop = loop_of(passed(function(name), "sm_80"))
    assert len([op for op in loop.loop.ops if isinstance(op, Barrier)]) == barriers
    waits = [i for i, op in enumerate(loop.loop.ops) if isinstance(op, AsyncWait)]
    assert waits == [0]


def test_every_round_of_copies_is_a_group() -> None:
    f = passed(function("gemm"), "sm_80")
    copies = [op for op in f.walk() if isinstance(op, AsyncLoad)]
    groups = [op for op in f.walk() if isinstance(op, AsyncCommit)]
    assert groups
    assert len(copies) == 2 * len(groups)
    assert {op.ahead for op in copies} == set(range(len(groups)))


def test_blocks_that_share_a_multiprocessor() -> None:
    target = get_target("sm_90a")
    assert resident_aim(64, 256, None, target) == 2
    assert resident_aim(128, 256, None, target) == 1
    assert resident_aim(128, 128, None, target) == 2
    assert resident_aim(200, 1024, None, target) == 1
    assert resident_aim(64, 256, 4, target) == 4


@pytest.mark.parametrize(("slots", "room", "hints", "most"), [
    (4, 100, (), None), (3, 39, (), None), (2, 20, (), None), (0, 19, (), None),  # what shared memory holds
    (6, 100, (6,), None), (8, 100, (3, 9), None), (5, 59, (6,), None),  # what hints ask for, up to the most
    (3, 100, (), 3), (2, 100, (), 1), (3, 100, (8,), 3),  # iterations, but a ring has two slots
])
def test_slots(slots: int, room: int, hints: tuple[int, ...], most: int | None) -> None:
    assert slots_that_fit(Appetite(4, 8), room, 10, hints, most) == slots


def test_an_engine_that_needs_more_slots_gets_none_of_fewer() -> None:
    assert slots_that_fit(Appetite(5, 8, 3), 29, 10) == 0
    assert slots_that_fit(Appetite(5, 8, 3), 30, 10) == 3
    assert slots_that_fit(Appetite(2, 2, 3), 100, 10) == 0  # a limit below what the engine needs


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize(("name", "target"), [("gemm", "sm_80"), ("gemm", "sm_90a"), ("scaled_right", "sm_90a")])
def test_the_plan_limits_slots(name: str, target: str, limit: int) -> None:
    f = function(name)
    f.limits = Limits(max_stages=limit)
    passed(f, target)
    rings = [op.type.copies for op in f.walk() if isinstance(op, SharedAlloc)]
    assert max(rings) == limit
    assert set(f.plan.stages) == ({limit} if limit > 1 else set())
