"""Dead code: ops that have no effect and whose results nobody needs go away, carried values and results included.

Before:

    %x: tile<16xf32> = load(array=%p, index=(%i), shape=(16), steps=(16), order=(0))
    %r: i32, %s: i32 = for(lower=%zero, upper=%n, step=%one, init=(%zero, %zero)) .loop(%k: i32, %a: i32, %b: i32) {
      %c: i32 = add(lhs=%a, rhs=%k)
      %d: i32 = add(lhs=%b, rhs=%one)
      yield(values=(%c, %d))
    }
    store(array=%q, index=(%i), value=%r, steps=(), order=())

After (the load reads, but nobody needs what it read; %s is not used, and %b only for itself):

    %r: i32 = for(lower=%zero, upper=%n, step=%one, init=(%zero)) .loop(%k: i32, %a: i32) {
      %c: i32 = add(lhs=%a, rhs=%k)
      yield(values=(%c))
    }
    store(array=%q, index=(%i), value=%r, steps=(), order=())

A loop without effects counts as one that ends, unless memory that it reads decides when: then it waits for somebody.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.analysis.waiting import awaited
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.ops import control


def dce(unit: Unit) -> None:
    live = _Liveness(unit)
    live.settle()
    _sweep(unit.function.body, live)


class _Liveness:
    """Marks backward from the ops that have effects."""

    def __init__(self, unit: Unit) -> None:
        self.ops: set[Op] = set()
        self.values: set[Value] = set()
        self._owner: dict[Block, Op] = {}
        self._work: list[Value] = []
        self._find_roots(unit.function.body, None)

    def _find_roots(self, block: Block, parent: Op | None) -> bool:
        """Mark ops with effects and the ops around them; says whether there is one."""
        found = False
        if parent is not None:
            self._owner[block] = parent
        for op in block.ops:
            if op._body_fields:
                inside = [self._find_roots(inner, op) for inner in op.blocks]
                needed = any(inside) or op.acts or bool(awaited(op))
            else:
                needed = op.acts or (op.terminator and parent is None)
            if needed:
                self.need_op(op)
                found = True
        return found

    def need(self, values: Sequence[Value]) -> None:
        new = [value for value in values if value not in self.values]
        self.values.update(new)
        self._work += new

    def settle(self) -> None:
        while self._work:
            value = self._work.pop()
            owner = value.owner
            if isinstance(owner, Op):
                if owner not in self.ops:
                    self.need_op(owner)
                if owner._body_fields:
                    self.need_result(owner, owner.results.index(value))
            elif owner in self._owner:
                op = self._owner[owner]
                self.need_op(op)
                self.need_param(op, owner, owner.params.index(value))

    def need_op(self, op: Any) -> None:
        if op in self.ops:
            return
        self.ops.add(op)
        if not op._body_fields:
            self.need(op.operands)
            return
        match op:
            case control.If():
                self.need([op.cond])
            case control.For():
                self.need([op.lower, op.upper, op.step])
            case control.While():
                self.need([_end(op.before).cond])
            case _:
                self.need(op.operands)
                for block in op.blocks:
                    self.need(block.terminator.operands)

    def need_result(self, op: Any, i: int) -> None:
        match op:
            case control.If():
                self.need([_end(op.then).values[i], _end(op.orelse).values[i]])
            case control.For():
                self.need_carried(op, i)
            case control.While():
                self.need([_end(op.before).values[i]])

    def need_param(self, op: Any, block: Block, i: int) -> None:
        match op:
            case control.For() if i > 0:
                self.need_carried(op, i - 1)
            case control.While() if block is op.before:
                self.need([op.init[i], _end(op.after).values[i]])
            case control.While():
                self.need([_end(op.before).values[i]])

    def need_carried(self, op: Any, i: int) -> None:
        self.need([op.init[i], _end(op.loop).values[i]])


def _end(block: Block) -> Any:
    """The terminator of a body: a yield or condition."""
    return block.terminator


def _sweep(block: Block, live: _Liveness) -> None:
    block.ops = [op for op in block.ops if op in live.ops or op.terminator]
    for op in block.ops:
        if op._body_fields:
            _trim(op, live.values)
            for inner in op.blocks:
                _sweep(inner, live)


def _trim(op: Any, needed: set[Value]) -> None:
    """Drop the results and carried values of a structured op that nobody needs."""
    match op:
        case control.If():
            keep = [r in needed for r in op.results]
            for block in op.blocks:
                _end(block).values = _kept(_end(block).values, keep)
            op.results = _kept(op.results, keep)
        case control.For():
            params = op.loop.params[1:]
            keep = [r in needed or p in needed for r, p in zip(op.results, params, strict=True)]
            op.init, op.results = _kept(op.init, keep), _kept(op.results, keep)
            op.loop.params[1:] = _kept(params, keep)
            _end(op.loop).values = _kept(_end(op.loop).values, keep)
        case control.While():
            keep = [p in needed for p in op.before.params]
            op.init, op.before.params = _kept(op.init, keep), list(_kept(op.before.params, keep))
            _end(op.after).values = _kept(_end(op.after).values, keep)
            passed = [r in needed or p in needed for r, p in zip(op.results, op.after.params, strict=True)]
            op.results, op.after.params = _kept(op.results, passed), list(_kept(op.after.params, passed))
            _end(op.before).values = _kept(_end(op.before).values, passed)


def _kept(values: Sequence[Value], keep: list[bool]) -> tuple[Value, ...]:
    return tuple(value for value, wanted in zip(values, keep, strict=True) if wanted)
