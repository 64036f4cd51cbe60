"""Control flow: plain Python where all blocks of a chunk agree, else the chunk is split and merged."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tilewright.interp.arrays import merge_arrays
from tilewright.interp.chunk import Regs, split, take
from tilewright.interp.formats import format_of
from tilewright.interp.lowering import Lowering, Step, impl_step
from tilewright.interp.patience import PATIENCE, Patience, Vigil
from tilewright.tileir.carried import condition_of
from tilewright.tileir.core import Value
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.ops import control
from tilewright.tileir.types import TileType


class Merge:
    """Collects the values of a join from disjoint sets of blocks."""

    def __init__(self, value: Value, count: int) -> None:
        self.count = count
        self.parts: list[tuple[Any, Any]] = []
        self.out: Any = None
        self._given = False
        if isinstance(value.type, TileType):
            self.out = np.empty((count, *value.type.shape), format_of(value.type.dtype).held)

    def put(self, value: Any, blocks: Any) -> None:
        """`value` belongs to `blocks` (numbers in the whole chunk). None stands for zeros."""
        if self.out is not None:
            self._given |= value is not None
            self.out[blocks] = 0 if value is None else value
        else:
            self.parts.append((value, blocks))

    def result(self) -> Any:
        if self.out is None:
            return merge_arrays(self.parts, self.count)
        return self.out if self._given else None


@impl_step(control.If)
def if_(op: control.If, low: Lowering) -> Step:
    cond = low.slot(op.cond)
    then, orelse = low.block(op.then), low.block(op.orelse)
    then_values, else_values = op.then.terminator.operands, op.orelse.terminator.operands
    moved = low.joined(op.results)
    then_move, else_move = low.moves(then_values, op.results), low.moves(else_values, op.results)

    def uniform(regs: Regs) -> None:
        if regs[cond]:
            then(regs)
            then_move(regs)
        else:
            orelse(regs)
            else_move(regs)

    if not low.varies(op.cond):
        return uniform
    sides = (
        (then, low.follow(op.then), low.slot_list(low.joined(then_values, op.results))),
        (orelse, low.follow(op.orelse), low.slot_list(low.joined(else_values, op.results))),
    )
    results = low.slot_list(moved)

    def divergent(regs: Regs) -> None:
        condition = regs[cond]
        true = np.count_nonzero(condition)
        if true == len(condition):
            then(regs)
            then_move(regs)
            return
        if true == 0:
            orelse(regs)
            else_move(regs)
            return
        merges = [Merge(r, regs[0].count) for r in moved]
        for (run, follow, values), wanted in zip(sides, (condition, ~condition), strict=True):
            blocks = wanted.nonzero()[0]
            sub = split(regs, blocks, follow)
            run(sub)
            for merge, slot in zip(merges, values, strict=True):
                merge.put(sub[slot], blocks)
        for slot, merge in zip(results, merges, strict=True):
            regs[slot] = merge.result()

    return divergent


@impl_step(control.For)
def for_(op: control.For, low: Lowering) -> Step:
    iv, *params = op.loop.params
    lower, upper, step, iv_slot = low.slot_list((op.lower, op.upper, op.step, iv))
    enter = low.moves(op.init, params)
    again = low.moves(op.loop.terminator.operands, params)
    run = low.block(op.loop)
    number = format_of(iv.type.dtype).held.type
    if any(low.varies(v) for v in (op.lower, op.upper, op.step)):
        return _divergent_for(op, low, Loop(low, op, enter, again, run))
    leave = low.moves(params, op.results)

    def loop(regs: Regs) -> None:
        by = int(regs[step])
        _check_step(by)
        enter(regs)
        for k in range(int(regs[lower]), int(regs[upper]), by):
            regs[iv_slot] = number(k)
            run(regs)
            again(regs)
        leave(regs)

    return loop


class Loop:
    """The parts of a counted loop whose trip counts differ by block."""

    def __init__(self, low: Lowering, op: control.For, enter: Step, again: Step, run: Any) -> None:
        iv, *params = op.loop.params
        self.enter, self.again, self.run = enter, again, run
        self.iv = low.slot(iv)
        self.iv_varies = low.varies(iv)
        self.number = format_of(iv.type.dtype).held
        moved = low.joined(params)
        self.params = [(low.slot(p), low.varies(p)) for p in moved]
        self.varying = tuple(slot for slot, varies in self.params if varies)
        self.follow = low.follow(op.loop)
        self.joins = low.joined(op.results, params)
        self.results = low.slot_list(self.joins)


def _divergent_for(op: control.For, low: Lowering, loop: Loop) -> Step:
    bounds = low.slot_list((op.lower, op.upper, op.step))

    def run_loop(regs: Regs) -> None:
        count = regs[0].count
        start, stop, by = (np.asarray(regs[s], np.int64) for s in bounds)
        _check_step(int(by.min()))
        trips = np.broadcast_to(np.maximum(-((start - stop) // by), 0), (count,))
        active = np.arange(count)
        merges = [Merge(r, count) for r in loop.joins]
        sub = regs.copy()
        loop.enter(sub)
        k = 0
        while True:
            left = trips[active] > k
            if not left.all():
                gone, kept = (~left).nonzero()[0], left.nonzero()[0]
                for merge, (slot, varies) in zip(merges, loop.params, strict=True):
                    merge.put(take(sub[slot], gone) if varies else sub[slot], active[gone])
                if not kept.size:
                    break
                sub = split(sub, kept, loop.follow + loop.varying)
                active = active[kept]
            value = start + k * by
            if loop.iv_varies:
                sub[loop.iv] = np.broadcast_to(value, (count,))[active].astype(loop.number)
            else:
                sub[loop.iv] = loop.number.type(value)
            loop.run(sub)
            loop.again(sub)
            k += 1
        for slot, merge in zip(loop.results, merges, strict=True):
            regs[slot] = merge.result()

    return run_loop


def _check_step(by: int) -> None:
    if by <= 0:
        raise TileValueError(f"the step of this range is {by}; it must be positive")


@impl_step(control.While)
def while_(op: control.While, low: Lowering) -> Step:
    condition = condition_of(op)
    cond = low.slot(condition.cond)
    before, after = low.block(op.before), low.block(op.after)
    enter = low.moves(op.init, op.before.params)
    onward = low.moves(condition.values, op.after.params)
    again = low.moves(op.after.terminator.operands, op.before.params)
    leave = low.moves(condition.values, op.results)
    patience = Patience(op, low)

    def uniform(regs: Regs) -> None:
        count = 0
        enter(regs)
        before(regs)
        while regs[cond]:
            onward(regs)
            after(regs)
            again(regs)
            before(regs)
            count += 1
            if count == PATIENCE and not regs[0].memory.checks:
                watched(regs, patience.ends(regs[0]))
        leave(regs)

    def watched(regs: Regs, vigil: Vigil) -> None:
        while regs[cond]:
            onward(regs)
            after(regs)
            again(regs)
            vigil.look(regs)
            before(regs)
        vigil.end()

    if not low.varies(condition.cond):
        return uniform
    return _divergent_while(op, low, (enter, before, onward, after, again), patience)


def _divergent_while(
    op: control.While, low: Lowering, steps: tuple[Step, Step, Step, Step, Step], patience: Patience,
) -> Step:
    """The loop where blocks leave after different numbers of iterations; `steps` as `while_` names them."""
    enter, before, onward, after, again = steps
    condition = condition_of(op)
    cond = low.slot(condition.cond)
    joins = low.joined(op.results)
    passed = [(low.slot(v), low.varies(v)) for v in low.joined(condition.values, op.results)]
    values = tuple(slot for slot, varies in passed if varies)
    # What the body captures, and what it takes over from the condition's block.
    follow = tuple(dict.fromkeys(low.follow(op.before) + low.follow(op.after) + values))
    results = low.slot_list(joins)

    def divergent(regs: Regs) -> None:
        vigil: Vigil | None = None
        count = regs[0].count
        active = np.arange(count)
        merges = [Merge(r, count) for r in joins]
        sub = regs.copy()
        enter(sub)
        for iteration in itertools.count():
            before(sub)
            going = sub[cond]
            if not going.all():
                gone, kept = (~going).nonzero()[0], going.nonzero()[0]
                for merge, (slot, varies) in zip(merges, passed, strict=True):
                    merge.put(take(sub[slot], gone) if varies else sub[slot], active[gone])
                if not kept.size:
                    break
                sub = split(sub, kept, follow)
                active = active[kept]
            if iteration == PATIENCE and not sub[0].memory.checks:
                vigil = patience.ends(sub[0])
            onward(sub)
            after(sub)
            again(sub)
            if vigil is not None:
                vigil.look(sub)
        if vigil is not None:
            vigil.end()
        for slot, merge in zip(results, merges, strict=True):
            regs[slot] = merge.result()

    return divergent
