"""Which values of a function decide how often its ops run and where they access memory.

Everything else, such as the tiles that are loaded, computed and stored, need not be computed to count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.ops import control

# Operands of accesses that are moved, and do not say where.
MOVED = frozenset({"value", "padding", "expected", "desired", "buffer", "slot", "barriers"})


class Slice:
    """The needed values of a function (`values`), and the accesses that must really happen for them (`executed`).

    `contents`: those of them that read. Where there are any, counts hold for the contents of these arrays alone.
    """

    def __init__(self, function: Function, dependences: Dependences) -> None:
        self.values: set[Value] = set()
        self.executed: set[Op] = set()
        self._joins = _joins(function)
        ops = list(function.walk())
        self._need(v for op in ops for v in _roots(op))
        writers = [(op, {dependences.alias_class(h) for h in op.effects().writes}) for op in ops if op.effects().writes]
        grown = True
        while grown:
            # What is read must have been written.
            read = {dependences.alias_class(h) for op in self.executed for h in op.effects().reads}
            new = [op for op, classes in writers if op not in self.executed and classes & read]
            self.executed.update(new)
            self._need(v for op in new for v in op.operands)
            grown = bool(new)
        self.contents = [op for op in ops if op in self.executed and is_access(op) and op.effects().reads]

    def _need(self, values: Iterable[Value]) -> None:
        stack = list(values)
        while stack:
            value = stack.pop()
            if value in self.values:
                continue
            self.values.add(value)
            stack += self._joins.get(value, ())
            op = value.op
            if op is None or isinstance(op, (control.For, control.While, control.If)):
                continue
            stack += op.operands
            for body in op.blocks:
                stack += [v for inner in body.walk() for v in (*inner.operands, *inner.results)]
            if op.effects().reads or op.effects().writes:
                self.executed.add(op)


def is_access(op: Op) -> bool:
    """Whether an op reads or writes elements of arrays: a tile at an index, or single elements."""
    return "array" in op.fields and ("steps" in op.fields or "indices" in op.fields)


def _roots(op: Op) -> Iterator[Value]:
    """What an op itself needs to be counted: bounds, conditions, and of accesses all that says where."""
    if isinstance(op, control.For):
        yield from (op.lower, op.upper, op.step)
    elif isinstance(op, (control.If, control.Condition)):
        yield op.cond
    elif is_access(op):
        for name, field in op.fields.items():
            value = getattr(op, name)
            if name in MOVED or field.kind not in ("operand", "operands", "optional") or value is None:
                continue
            yield from value if field.kind == "operands" else (value,)


def _joins(function: Function) -> dict[Value, list[Value]]:
    """For each value where paths join, those that may go there."""
    out: dict[Value, list[Value]] = {}

    def join(targets: Iterable[Value], *sources: Iterable[Value]) -> None:
        for target, *found in zip(targets, *sources, strict=True):
            out.setdefault(target, []).extend(found)

    for op in function.walk():
        if isinstance(op, control.For):
            iv, *params = op.loop.params
            out[iv] = [op.lower, op.step]
            join(params, op.init, op.loop.terminator.operands)
            join(op.results, params)
        elif isinstance(op, control.While):
            condition = op.before.terminator
            assert isinstance(condition, control.Condition)
            join(op.before.params, op.init, op.after.terminator.operands)
            join(op.after.params, condition.values, op.results)  # the interpreter keeps a value for both, or for none
            join(op.results, condition.values)
        elif isinstance(op, control.If):
            join(op.results, op.then.terminator.operands, op.orelse.terminator.operands)
    return out
