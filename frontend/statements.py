"""Statements that neither bind nor branch."""

from __future__ import annotations

import ast

from tilewright.frontend.dispatch import statement
from tilewright.frontend.flow import RETURN
from tilewright.frontend.scopes import RETURN_VALUE, Binding, Exit
from tilewright.frontend.translator import Translator


@statement(ast.Pass)
def pass_(t: Translator, node: ast.Pass) -> None:
    """Nothing."""


@statement(ast.Expr)
def expression_statement(t: Translator, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        t.expr(node.value)


@statement(ast.Return)
def return_statement(t: Translator, node: ast.Return) -> None:
    value = t.expr(node.value) if node.value is not None else None
    t.scope.vars[RETURN_VALUE] = Binding(value, node, RETURN)
    t.scope.exit = Exit(RETURN)
