"""Rewriting: one forward walk that offers every op to a table of rules and rebuilds the blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import TileType

Rule = Callable[[Any, "Rewriter"], Value | Sequence[Value] | None]
"""Takes an op whose operands are rewritten already, and gives the values that replace its results, or None to keep it.

It may emit new ops before the op, change fields of the op in place, or return () to drop an op without results.
"""


class Rewriter:
    """The walk. Rules of ops with bodies run before the bodies are rewritten, those in `after` run after that."""

    def __init__(self, rules: Mapping[type[Op], Rule], after: Mapping[type[Op], Rule] | None = None) -> None:
        self.rules = rules
        self.after = after or {}
        self.new: dict[Value, Value] = {}
        self.current: Op | None = None
        self._out: list[Op] = []

    def run(self, function: Function) -> None:
        """Rewrite the function in place. A rule that fails becomes an error that names the op it was given."""
        try:
            self.block(function.body)
        except Exception as error:
            if self.current is None:
                raise
            what = error.message if isinstance(error, TileError) else repr(error)
            raise TileInternalError(f"{what} at op {self.current.opcode}", self.current.span) from error

    def block(self, block: Block) -> None:
        outer, self._out = self._out, []
        for op in block.ops:
            self.visit(op)
        block.ops, self._out = self._out, outer

    def visit(self, op: Op) -> None:
        """Rewrite an op and append what it becomes."""
        if self.new:
            op.replace_operands(self.new)
        outer, self.current = self.current, op
        values = self._apply(self.rules, op)
        if values is None and op._body_fields:
            for block in op.blocks:
                self.block(block)
            values = self._apply(self.after, op)
        if values is None:
            self._out.append(op)
        else:
            self._replace(op, values)
        self.current = outer

    def _apply(self, rules: Mapping[type[Op], Rule], op: Op) -> Sequence[Value] | None:
        rule = rules.get(type(op))
        values = rule(op, self) if rule is not None else None
        if isinstance(values, Value):
            values = (values,)
        # A value with other knowledge in its type (a layout, facts of an array) is no replacement.
        if values is None or any(v.type != r.type for v, r in zip(values, op.results, strict=True)):
            return None
        return values

    def _replace(self, op: Op, values: Sequence[Value]) -> None:
        for old, value in zip(op.results, values, strict=True):
            self.new[old] = value
            if not value.hint:
                value.hint = old.hint

    def emit(self, op: Op) -> Value:
        """Append a new op of one result, simplified by the rules; gives the value that stands for it."""
        if op.span is NO_SPAN and self.current is not None:
            op.span = self.current.span
        self.visit(op)
        return self.new.get(op.result, op.result)

    def constant(self, value: bool | int | float, type_: TileType) -> Value:
        """A new constant."""
        return self.emit(Constant(value=value, type=type_))

    def inline(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Append the ops of a body with values for its parameters; gives the values that it hands back."""
        self.new.update(zip(block.params, arguments, strict=True))
        for op in block.ops[:-1]:
            self.visit(op)
        return [self.new.get(v, v) for v in block.terminator.operands]


def constant_value(value: Value) -> bool | int | float | None:
    """The element of a constant (splat) tile, None if the value is no constant."""
    op = value.op
    return op.value if type(op) is Constant else None
