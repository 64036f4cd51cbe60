"""Statements that neither bind nor branch."""

from __future__ import annotations

import ast

from tilewright.frontend.calls.call import call_rule_by_name
from tilewright.frontend.dispatch import statement
from tilewright.frontend.flow import RETURN
from tilewright.frontend.scopes import RETURN_VALUE, Binding, Exit
from tilewright.frontend.translator import Translator
from tilewright.frontend.truth import condition
from tilewright.frontend.values import describe
from tilewright.tileir.diagnostics import TileStaticAssertionError


@statement(ast.Pass)
def pass_(t: Translator, node: ast.Pass) -> None:
    """Nothing."""


@statement(ast.Expr)
def expression_statement(t: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        t.expr(node.value)


@statement(ast.Assert)
def assert_statement(t: Translator, node: ast.Assert) -> None:
    """Decided while compiling where the condition is a constant, else what ct.assert_ does."""
    held = condition(t, node.test, "assert")
    if held is True:
        return
    message = t.expr(node.msg) if node.msg is not None else None
    if held is False:
        said = "" if message is None else f": {message if isinstance(message, str) else describe(message)}"
        raise TileStaticAssertionError(f"this never holds{said}", t.span(node.test))
    call_rule_by_name(t, "assert_", (held,), message=message)


@statement(ast.Return)
def return_statement(t: Translator, node: ast.Return) -> None:
    value = t.expr(node.value) if node.value is not None else None
    t.scope.vars[RETURN_VALUE] = Binding(value, node, RETURN)
    t.scope.exit = Exit(RETURN)
