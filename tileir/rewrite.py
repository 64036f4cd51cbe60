"""Rewriting: one forward walk that rebuilds blocks op by op.

Two ways to say what becomes of an op. `Rewriter(rules, after)` offers each op to tables of rules that give the values
replacing its results; new ops are offered in turn. `rewrite(function, rule)` calls one rule that appends what stands in
the op's place.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from tilewright.tileir.analysis.unit import ALL, NONE, Preserved, Unit
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, TileError, TileInternalError, TileTypeError
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.rules import RuleTable
from tilewright.tileir.types import TileType

Rule = Callable[[Any, "Rewriter"], Value | Sequence[Value] | None]
"""Takes an op whose operands are rewritten already, and gives the values that replace its results, or None to keep it.

It may add new ops before the op, change fields of the op in place, or return () to drop an op without results.
"""

Rebuild = Callable[["Rewriter", Any], None]
"""Appends what stands in an op's place: the op itself (`keep`), other ops, nothing. `replace` renames its results."""


class Rewriter(Builder):
    """The walk. Rules of ops with bodies run before the bodies are rewritten, those in `after` run after that.

    It is a builder: `emit` and `value` append ops as they are, `offer` lets the rules simplify them.
    """

    def __init__(self, rules: RuleTable[Rule], after: RuleTable[Rule] | None = None) -> None:
        super().__init__(Block())
        self.rules = rules
        self.after = after
        self.renamed: dict[Value, Value] = {}
        self._current: Op | None = None

    def run(self, function: Function) -> None:
        """Rewrite the function in place. A rule that fails becomes an error that names the op it was given."""
        try:
            self.rebuild(function.body)
        except Exception as error:
            known = isinstance(error, TileError) and not isinstance(error, TileTypeError | TileInternalError)
            if known or self._current is None:
                raise
            what = error.message if isinstance(error, TileError) else repr(error)
            raise TileInternalError(f"{what} at op {self._current.opcode}", self._current.span) from error

    def rebuild(self, block: Block) -> None:
        """Rewrite the ops of a block in place."""
        old, block.ops = block.ops, []
        outer, self.block = self.block, block
        rule_of, ops = self.rules.of, block.ops
        for op in old:
            if op._body_fields or rule_of(op) is not None:
                self.visit(op)
                continue
            if self.renamed:
                op.replace_operands(self.renamed)
            ops.append(op)
        self.block = outer

    def visit(self, op: Op) -> None:
        """Rewrite an op and append what it becomes."""
        if self.renamed:
            op.replace_operands(self.renamed)
        rule = self.rules.of(op)
        if rule is None and not op._body_fields:
            self.block.ops.append(op)
            return
        outer, self._current, self.span = self._current, op, op.span
        self._become(op, rule)
        self._current = outer
        if outer is not None:
            self.span = outer.span

    def _become(self, op: Op, rule: Any) -> None:
        """Append what an op becomes by its rule, or by the rule after its bodies."""
        values = self._values(rule, op)
        if values is None and op._body_fields:
            self._bodies(op)
            values = self._values(None if self.after is None else self.after.of(op), op)
        if values is None:
            self.block.ops.append(op)
        else:
            for old, value in zip(op.results, values, strict=True):
                self.replace(old, value)

    def _bodies(self, op: Op) -> None:
        for name in op._body_fields:
            self.rebuild(getattr(op, name))
        self.span = op.span

    def _values(self, rule: Rule | None, op: Op) -> Sequence[Value] | None:
        values = None if rule is None else rule(op, self)
        if isinstance(values, Value):
            values = (values,)
        # A value with other knowledge in its type (a layout, facts of an array) is no replacement.
        if values is None or any(v.type != r.type for v, r in zip(values, op.results, strict=True)):
            return None
        return values

    def keep(self, op: Op) -> None:
        """Append an existing op as it is."""
        self.block.ops.append(op)

    def replace(self, old: Value, new: Value) -> None:
        """From here on every use of `old` becomes `new`."""
        new.hint = new.hint or old.hint
        self.renamed[old] = new

    def offer(self, op: Op) -> Value:
        """Append a new op of one result, simplified by the rules; gives the value that stands for it."""
        if op.span is NO_SPAN:
            op.span = self.span
        self.visit(op)
        return self.renamed.get(op.result, op.result)

    def constant(self, value: bool | int | float, type_: TileType) -> Value:
        """A new constant."""
        return self.offer(Constant(value=value, type=type_))

    def inline(self, block: Block, arguments: Sequence[Value]) -> list[Value]:
        """Append the ops of a body with values for its parameters; gives the values that it hands back."""
        self.renamed.update(zip(block.params, arguments, strict=True))
        for op in block.ops[:-1]:
            self.visit(op)
        return [self.renamed.get(v, v) for v in block.terminator.operands]


class _Rebuilder(Rewriter):
    """The walk of `rewrite`: rules run after the bodies, and append by themselves what an op becomes."""

    def _become(self, op: Op, rule: Any) -> None:
        if op._body_fields:
            self._bodies(op)
        if rule is None:
            self.block.ops.append(op)
        else:
            rule(self, op)


def rewrite(function: Function, rules: Rebuild | Mapping[type[Op], Rebuild]) -> None:
    """Call `rule(rewriter, op)` for every op in program order, its operands already renamed and its bodies rewritten.

    The rule appends what shall stand in the op's place. Given rules by class, ops of other classes are kept.
    """
    table: RuleTable[Any] = RuleTable("rewriting rule", rules if isinstance(rules, Mapping) else {Op: rules})
    _Rebuilder(table).run(function)


def only(ops: Container[Op], rule: Rebuild) -> Rebuild:
    """The rule for these ops alone: others are kept."""
    return lambda rewriter, op: rule(rewriter, op) if op in ops else rewriter.keep(op)


def rewrite_kinds(unit: Unit, rules: Mapping[type[Op], Rebuild]) -> Preserved:
    """`rewrite` of a unit that has such ops; what a pass returns that does nothing else."""
    if not unit.has(*rules):
        return ALL
    rewrite(unit.function, rules)
    return NONE


def constant_value(value: Value) -> bool | int | float | None:
    """The element of a constant (splat) tile, None if the value is no constant."""
    op = value.op
    return op.value if type(op) is Constant else None
