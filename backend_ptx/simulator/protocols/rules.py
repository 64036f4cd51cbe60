"""What each op of machine IR does to mbarriers and slots: a rule of protocols for each."""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx import ops
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.backend_ptx.simulator.protocols.follower import RULES, Follower
from tilewright.backend_ptx.simulator.protocols.program import Act
from tilewright.tileir.ops import arrays, control
from tilewright.tileir.types import SharedType

__all__ = ["RULES"]  # complete once this file is loaded


@RULES.register(control.For)
def _for(at: Follower, op: control.For) -> None:
    iv, *carried = op.loop.params
    lower, upper, step = (at.known(v, "a bound", op) for v in (op.lower, op.upper, op.step))
    at.pass_on(carried, op.init)
    for k in range(lower, upper, step):
        at.numbers[iv] = k
        at.block = k if isinstance(op.lower.op, arrays.LaunchedBlock) else at.block
        at.run(op.loop)
        at.pass_on(carried, op.loop.terminator.operands)
    at.pass_on(op.results, carried)


@RULES.register(control.If)
def _if(at: Follower, op: control.If) -> None:
    taken = op.then if at.known(op.cond, "the condition", op) else op.orelse
    at.run(taken)
    at.pass_on(op.results, taken.terminator.operands)


@RULES.register(control.While)
def _while(at: Follower, op: control.While) -> None:
    condition: Any = op.before.terminator
    at.pass_on(op.before.params, op.init)
    done = 0
    while True:
        at.run(op.before)
        at.pass_on(op.after.params, condition.values)
        if not at.while_goes_on(condition.cond, done):
            break
        at.run(op.after)
        at.pass_on(op.before.params, op.after.terminator.operands)
        done += 1
    at.pass_on(op.results, condition.values)


@RULES.register(arrays.LaunchedBlock, arrays.LaunchedBlocks, arrays.NumBlocks, ops.warpgroup.SkippedBlocks)
def _of_grid(at: Follower, op: Any) -> None:
    """Where CTAs loop over the blocks of a launch, one runs all: as many as the outermost loop has iterations."""
    if isinstance(op, arrays.LaunchedBlock):
        at.numbers[op.result] = at.team
    elif isinstance(op, arrays.LaunchedBlocks):
        at.numbers[op.result] = at.teams
    elif isinstance(op, ops.warpgroup.SkippedBlocks):
        at.numbers[op.result] = at.team if op.first else at.teams - 1
    elif at.marks.function.plan.looped:
        at.numbers[op.result] = 1 if op.axis else at.choices.trips[0]
    else:
        at.scalar(op)


@RULES.register(ops.shared.SharedAlloc)
def _alloc(at: Follower, op: Any) -> None:
    type_: SharedType = op.type
    size = type_.size * type_.dtype.bytes
    first = op.offset + at.team * op.each * buffer_bytes(type_)
    name = f"{op.result.hint or 'buffer'}@{first}+{size}"
    at.buffers[op.result] = name, 0
    at.extents.update({(name, k): (first + k * size, first + (k + 1) * size) for k in range(type_.copies)})


@RULES.register(ops.warpgroup.SharedView)
def _view(at: Follower, op: Any) -> None:
    at.buffers[op.result] = at.place(op.buffer, op.slot, op)


@RULES.register(ops.bulk.MbarrierInit)
def _init(at: Follower, op: Any) -> None:
    at.counts[at.buffers[op.barriers][0]] = op.count


@RULES.register(ops.bulk.MbarrierWait)
def _wait(at: Follower, op: Any) -> None:
    at.emit(Act.WAIT, op, at.place(op.barriers, op.slot, op), a=at.known(op.parity, "the parity", op))


@RULES.register(ops.bulk.MbarrierArrive)
def _arrive(at: Follower, op: Any) -> None:
    if op.active is None or at.known(op.active, "the activity", op):
        at.emit(Act.ARRIVE, op, at.place(op.barriers, op.slot, op), ctas=op.ctas)


@RULES.register(ops.bulk.MbarrierExpect)
def _expect(at: Follower, op: Any) -> None:
    at.emit(Act.EXPECT, op, at.place(op.barriers, op.slot, op), a=op.bytes)


@RULES.register(ops.bulk.TmaLoad)
def _tma_load(at: Follower, op: Any) -> None:
    type_ = op.buffer.type
    slot, barrier = at.place(op.buffer, op.slot, op), at.place(op.barriers, op.slot, op)
    at.emit(Act.COPY, op, slot, barrier, a=type_.size * type_.dtype.bytes // op.ctas, ctas=op.ctas)


@RULES.register(ops.bulk.TmaStore)
def _tma_store(at: Follower, op: Any) -> None:
    at.emit(Act.STORE, op, at.place(op.buffer, None, op), a=op.warps)


@RULES.register(ops.bulk.TmaStoreWait)
def _tma_store_wait(at: Follower, op: Any) -> None:
    at.emit(Act.STORE_WAIT, op, a=op.pending)


@RULES.register(ops.matmul.Product)
def _product(at: Follower, op: Any) -> None:
    shared = [v for v in (op.a, op.b) if isinstance(v.type, SharedType)]
    if shared:
        at.emit(Act.READ, op, *(at.place(v, None, op) for v in shared))
    if op.in_parts:  # it has waited for the one before
        at.emit(Act.READ_WAIT, op, a=1)


@RULES.register(ops.warpgroup.WgmmaWait)
def _wgmma_wait(at: Follower, op: Any) -> None:
    at.emit(Act.READ_WAIT, op, a=op.pending)


@RULES.register(ops.shared.SharedStore)
def _store(at: Follower, op: Any) -> None:
    at.emit(Act.FILL, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.shared.SharedLoad)
def _load(at: Follower, op: Any) -> None:
    at.emit(Act.TOUCH, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.async_copy.AsyncCopy)
def _async_copy(at: Follower, op: Any) -> None:
    if at.known(op.active, "the activity", op):
        at.emit(Act.ASYNC_FILL, op, at.place(op.buffer, op.slot, op, op.ahead))


@RULES.register(ops.async_copy.AsyncCommit)
def _commit(at: Follower, op: Any) -> None:
    at.emit(Act.COMMIT, op)


@RULES.register(ops.async_copy.AsyncWait)
def _async_wait(at: Follower, op: Any) -> None:
    at.emit(Act.ASYNC_WAIT, op, a=op.pending)


@RULES.register(ops.warpgroup.ProxyFence)
def _fence(at: Follower, op: Any) -> None:
    at.emit(Act.FENCE, op)


@RULES.register(ops.shared.Barrier)
def _barrier(at: Follower, op: Any) -> None:
    if op.scope == "block":  # the threads of a warp are in step anyway
        at.emit(Act.SYNC, op)


@RULES.register(ops.warpgroup.TakeTurn)
def _take(at: Follower, op: Any) -> None:
    at.emit(Act.TAKE, op)


@RULES.register(ops.warpgroup.PassTurn)
def _pass(at: Follower, op: Any) -> None:
    at.emit(Act.PASS, op)
