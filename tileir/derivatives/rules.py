"""The table of adjoint rules: what becomes of the adjoint of an op's result, for the op's operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

from tilewright.tileir.core import Op, Value
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError
from tilewright.tileir.rules import Key, RuleTable

Rule = Callable[[Any, Any], None]
"""Takes an op of the forward kernel and the reverse pass (`reverse.py`); takes the adjoints of the op's results there,
and gives some to its operands."""

Factors = tuple[Sequence[Value], Sequence[Value]]
"""The values that an adjoint is multiplied with, and those that it is divided by."""

ADJOINTS: RuleTable[Rule] = RuleTable("adjoint")


def adjoint(
    *ops: Key, scales: Callable[[Any], Factors] | None = None,
) -> Callable[[Callable[[Any, Value, Any], None]], Callable[[Any, Value, Any], None]]:
    """Decorator: this function, of the op, the adjoint of its one result and the reverse pass, is the rule of these.
    `scales`: it multiplies the adjoint, element by element, with what follows from factors and divisors; what is zero
    stays zero beyond the ends of arrays."""

    def register(function: Callable[[Any, Value, Any], None]) -> Callable[[Any, Value, Any], None]:
        def rule(op: Op, r: Any) -> None:
            g = r.take(op.result)
            with nullcontext() if scales is None else r.kept_zero(*scales(op), g):
                function(op, g, r)

        for op in ops:
            ADJOINTS.add(op, rule)
        return function

    return register


def constant(op: Op, r: Any) -> None:
    """The rule of ops whose results do not change with their operands, or are no floats."""


def refusal(op: Op, why: str, *, hint: str = "") -> TileUnsupportedFeatureError:
    """The error for an op through which no derivative goes."""
    hints = [hint] if hint else []
    return TileUnsupportedFeatureError(f"the gradient cannot go through this: {why}", op.span, hints=hints)


REFUSED: Final[dict[str, tuple[str, str]]] = {}
"""Opcodes without a rule: the reason in a user's words, and what to do."""


def rule_of(op: Op) -> Rule:
    """The rule of an op; TileUnsupportedFeatureError at its line where it has none."""
    rule = ADJOINTS.of(op)
    if rule is None:
        why, hint = REFUSED.get(op.opcode, (f"{op.opcode} has no derivative", ""))
        raise refusal(op, why, hint=hint)
    return rule
