"""Divergence, barriers, races, shuffles: what threads of a block do to each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.simulator.text import BAR, WARP_BAR, module, per_thread, run

from tilewright.backend_ptx.simulator import Deadlock, Divergence, Race, SimError

SHARED = "@s = internal addrspace(3) global [128 x i32] undef, align 16"
SCHEDULES = [("inorder", 0), ("random", 1), ("random", 2)]
WRITE = """
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p"""
READ = """
  %o = xor i32 %tid, DISTANCE
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %o
  %x = load i32, ptr addrspace(3) %q"""


def exchange(barrier: str, distance: int) -> str:
    return WRITE + f"\n  {barrier}" + READ.replace("DISTANCE", str(distance)) + "\n  ret void"


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_missing_barrier_is_a_race(schedule: str, seed: int) -> None:
    how: dict[str, Any] = {"more": SHARED, "threads": 128, "schedule": schedule, "seed": seed}
    run(exchange(BAR, 64), "", [], **how)
    run(exchange("", 0), "", [], **how)  # one thread may read back what it wrote
    # Whether the value happens to be there depends on the order; that the order is open does not.
    with pytest.raises(SimError, match="with no barrier between them|nothing has written"):
        run(exchange("", 64), "", [], **how)


def test_a_warp_barrier_orders_its_warp_only() -> None:
    run(exchange(WARP_BAR, 3), "", [], more=SHARED)
    with pytest.raises(Race):
        run(exchange("", 3), "", [], more=SHARED)
    with pytest.raises(Race):
        run(exchange(WARP_BAR, 32), "", [], more=SHARED)


def test_write_after_read_needs_a_barrier() -> None:
    body = WRITE + f"\n  {BAR}" + READ.replace("DISTANCE", "32") + """
  FENCE
  store i32 %x, ptr addrspace(3) %p
  ret void"""
    run(body.replace("FENCE", BAR), "", [], more=SHARED)
    with pytest.raises(Race, match="writes what thread (3[2-9]|[45][0-9]|6[0-3]) reads"):
        run(body.replace("FENCE", ""), "", [], more=SHARED)


def test_equal_writes_are_no_race_but_different_ones_are() -> None:
    body = """
  %w = lshr i32 %tid, 5
  %l = and i32 %tid, 31
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %l
  store i32 %VALUE, ptr addrspace(3) %p
  ret void"""
    run(body.replace("VALUE", "l"), "", [], more=SHARED)
    for schedule, seed in SCHEDULES:
        with pytest.raises(Race, match="writes too|different values"):
            run(body.replace("VALUE", "w"), "", [], more=SHARED, schedule=schedule, seed=seed)


def test_races_in_global_memory() -> None:
    body = """
  %p = getelementptr i32, ptr addrspace(1) %a, i32 %tid
  store i32 7, ptr addrspace(1) %p
  FENCE
  %o = xor i32 %tid, 32
  %q = getelementptr i32, ptr addrspace(1) %a, i32 %o
  %x = load i32, ptr addrspace(1) %q
  ret void"""
    run(body.replace("FENCE", BAR), "ptr addrspace(1) %a", [np.zeros(64, "i4")])
    with pytest.raises(Race):
        run(body.replace("FENCE", ""), "ptr addrspace(1) %a", [np.zeros(64, "i4")])


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_divergent_loop(schedule: str, seed: int) -> None:
    body = """
  br label %head
head:
  %n = phi i32 [ %tid, %entry ], [ %next, %latch ]
  %count = phi i32 [ 0, %entry ], [ %more, %latch ]
  %done = icmp ule i32 %n, 1
  br i1 %done, label %out, label %step
step:
  %bit = and i32 %n, 1
  %odd = icmp eq i32 %bit, 1
  br i1 %odd, label %up, label %down
up:
  %three = mul i32 %n, 3
  %u = add i32 %three, 1
  br label %latch
down:
  %d = lshr i32 %n, 1
  br label %latch
latch:
  %next = phi i32 [ %u, %up ], [ %d, %down ]
  %more = add i32 %count, 1
  br label %head
out:
  %l = phi i32 [ %count, %head ]
  %s = call i32 asm "shfl.sync.bfly.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %l, i32 1) convergent
  %p = getelementptr i32, ptr addrspace(1) %o, i32 %tid
  store i32 %s, ptr addrspace(1) %p
  ret void"""
    out = np.zeros(96, "i4")
    run(body, "ptr addrspace(1) %o", [out], threads=96, schedule=schedule, seed=seed)

    def steps(n: int) -> int:
        return 0 if n <= 1 else 1 + steps(3 * n + 1 if n % 2 else n // 2)

    assert out.tolist() == [steps(t ^ 1) for t in range(96)]


def test_phis_of_a_block_move_at_once() -> None:
    code = """
  br label %loop
loop:
  %a = phi i32 [ 1, %entry ], [ %b, %loop ]
  %b = phi i32 [ 2, %entry ], [ %a, %loop ]
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %j = add i32 %i, 1
  %c = icmp ule i32 %j, %tid
  br i1 %c, label %loop, label %out
out:
  %r = add i32 %a, 0"""
    np.testing.assert_array_equal(per_thread(code, "i32"), np.where(np.arange(64) % 2, 2, 1))


@pytest.mark.parametrize(
    ("instruction", "name"),
    [
        (BAR, "barrier 0"), (WARP_BAR, "bar.warp.sync"),
        ('%s = call i32 asm "shfl.sync.idx.b32 $0, $1, $2, 31, -1;", "=r,r,r"(i32 %tid, i32 0) convergent', "shfl.idx"),
        ('%s = call i32 asm "redux.sync.add.s32 $0, $1, -1;", "=r,r"(i32 1) convergent', "redux.add"),
    ],
)
def test_collectives_need_the_whole_warp(instruction: str, name: str) -> None:
    body = f"""
  %c = icmp ult i32 %tid, LIMIT
  br i1 %c, label %some, label %out
some:
  {instruction}
  br label %out
out:
  ret void"""
    with pytest.raises(Divergence, match=rf"{name}: 16 threads of the warp do not take part"):
        run(body.replace("LIMIT", "48"), "", [])
    if "shfl" in instruction or "redux" in instruction:
        run(body.replace("LIMIT", "32"), "", [])


def test_barrier_that_some_warps_never_reach() -> None:
    body = f"""
  %c = icmp ult i32 %tid, 32
  br i1 %c, label %some, label %out
some:
  {BAR}
  br label %out
out:
  ret void"""
    for schedule, seed in SCHEDULES:
        with pytest.raises((Deadlock, Divergence), match="have left the kernel"):
            run(body, "", [], schedule=schedule, seed=seed)


def test_barriers_on_both_sides_of_a_uniform_branch_meet() -> None:
    body = f"""
  %c = icmp ult i32 %tid, 32
  br i1 %c, label %a, label %b
a:
  store i32 1, ptr addrspace(3) @s
  {BAR}
  br label %out
b:
  {BAR}
  %x = load i32, ptr addrspace(3) @s
  br label %out
out:
  ret void"""
    for schedule, seed in SCHEDULES:
        run(body, "", [], more=SHARED, schedule=schedule, seed=seed)


def test_endless_loops_are_reported() -> None:
    body = "\n  br label %l\nl:\n  %c = icmp eq i32 %tid, 5\n  br i1 %c, label %l, label %o\no:\n  ret void"
    with pytest.raises(Deadlock, match="still running"):
        run(body, "", [], max_steps=1000)


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_named_barriers_order_producer_and_consumer(schedule: str, seed: int) -> None:
    # Warp 0 writes and arrives; warp 1 waits and reads.
    body = """
  %c = icmp ult i32 %tid, 32
  br i1 %c, label %producer, label %consumer
producer:
  %p = getelementptr i32, ptr addrspace(3) @s, i32 %tid
  store i32 %tid, ptr addrspace(3) %p
  call void asm sideeffect "bar.arrive $0, $1;", "r,r,~{memory}"(i32 ARRIVE, i32 64) convergent
  br label %out
consumer:
  call void asm sideeffect "bar.sync $0, $1;", "r,r,~{memory}"(i32 3, i32 64) convergent
  %o = sub i32 %tid, 32
  %q = getelementptr i32, ptr addrspace(3) @s, i32 %o
  %x = load i32, ptr addrspace(3) %q
  br label %out
out:
  ret void"""
    run(body.replace("ARRIVE", "3"), "", [], more=SHARED, schedule=schedule, seed=seed)
    with pytest.raises(Deadlock, match="wait for barrier 3"):
        run(body.replace("ARRIVE", "4"), "", [], more=SHARED, schedule=schedule, seed=seed)


@pytest.mark.parametrize(
    ("mode", "distance", "want"), [("bfly", 5, lambda t: t ^ 5), ("idx", 7, lambda t: t - t % 32 + 7)])
def test_shuffles(mode: str, distance: int, want: object) -> None:
    text = f'"shfl.sync.{mode}.b32 $0, $1, $2, 31, -1;"'
    got = per_thread(f'%r = call i32 asm {text}, "=r,r,r"(i32 %tid, i32 {distance}) convergent', "i32")
    assert got.tolist() == [want(t) for t in range(64)]  # type: ignore[operator]


def test_warp_reductions() -> None:
    code = """
  %neg = sub i32 0, %tid
  %r = call i32 asm "redux.sync.min.s32 $0, $1, -1;", "=r,r"(i32 %neg) convergent"""
    assert per_thread(code, "i32").view(np.int32).tolist() == [-31] * 32 + [-63] * 32


def test_the_text_of_the_error_shows_the_place() -> None:
    from tilewright.backend_ptx.simulator import simulate_text

    text = module(exchange("", 3), "", SHARED)
    with pytest.raises(Race, match=r"(?s)in block \(0, 0, 0\) at line \d+: %x = load i32"):
        simulate_text(text, "k", 1, 32, [])


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_warps_take_turns_through_two_barriers(schedule: str, seed: int) -> None:
    """Each warp waits at a barrier of its own, which the other one opens: one instruction, two barriers."""
    body = """
  %w = lshr i32 %tid, 5
  %mine = add i32 %w, 1
  %other = sub i32 2, %w
  %second = icmp eq i32 %w, 1
  br i1 %second, label %first, label %turn
first:
  call void asm sideeffect "bar.arrive $0, $1;", "r,r,~{memory}"(i32 1, i32 64) convergent nounwind
  br label %turn
turn:
  call void asm sideeffect "bar.sync $0, $1;", "r,r,~{memory}"(i32 %mine, i32 64) convergent nounwind
  %old = load i32, ptr addrspace(3) @s
  %new = add i32 %old, 1
  call void asm sideeffect "bar.warp.sync -1;", "~{memory}"() convergent nounwind
  store i32 %new, ptr addrspace(3) @s
  call void asm sideeffect "bar.arrive $0, $1;", "r,r,~{memory}"(i32 %other, i32 64) convergent nounwind
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %tid
  store i32 %new, ptr addrspace(1) %at
  ret void"""
    out = np.zeros(64, "u4")
    start = f"""
  store i32 5, ptr addrspace(3) @s
  {BAR}"""
    run(start + body, "ptr addrspace(1) %out", [out], more=SHARED, schedule=schedule, seed=seed)
    np.testing.assert_array_equal(out, np.repeat(np.array([6, 7], np.uint32), 32))
