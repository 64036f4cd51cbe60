"""Statements that others express: `match` by `if`, a `while` whose condition assigns by a loop that breaks."""

from __future__ import annotations

import ast
from typing import TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


def desugared(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function without `match` and without assignments in conditions of loops; changed in place."""
    if any(isinstance(n, (ast.Match, ast.NamedExpr)) for n in ast.walk(node)):
        _Desugar().visit(node)
    return node


class _NoTest(Exception):
    """A pattern that is more than a constant, a name or a choice of constants: its `match` stays, and is refused."""


class _Desugar(ast.NodeTransformer):
    def __init__(self) -> None:
        self.matches = 0

    def visit_While(self, node: ast.While) -> ast.stmt:
        self.generic_visit(node)
        if not any(isinstance(n, ast.NamedExpr) for n in ast.walk(node.test)) or node.orelse:
            return node
        leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [_like(ast.Break(), node.test)], [])
        return _like(ast.While(_like(ast.Constant(True), node.test), [_like(leave, node.test), *node.body], []), node)

    def visit_Match(self, node: ast.Match) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        try:
            return self._match(node)
        except _NoTest:
            return node

    def _match(self, node: ast.Match) -> list[ast.stmt]:
        self.matches += 1
        subject = f"match {self.matches}"  # no name of the user's
        bind = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            rest = _case(case, subject, rest)
        return [_like(bind, node.subject), *rest]


def _like(node: _Node, place: ast.AST) -> _Node:
    """A node, and those in it that have no place yet, at the place of another."""
    for inner in ast.walk(node):
        if "lineno" in inner._attributes and not hasattr(inner, "lineno"):
            ast.copy_location(inner, place)
    return node


def _case(case: ast.match_case, subject: str, rest: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a case and those behind it."""
    test, bound = _pattern(case.pattern, subject)
    before: list[ast.stmt] = []
    if bound:
        before = [_like(ast.Assign([ast.Name(bound, ast.Store())], ast.Name(subject, ast.Load())), case.pattern)]
    tests = [t for t in (test, case.guard) if t is not None]
    if not tests:
        return [*before, *case.body]
    whole = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    if bound and test is not None:  # the name is bound where the pattern fits
        if case.guard is not None:
            raise _NoTest
        return [_like(ast.If(whole, [*before, *case.body], rest), case.pattern)]
    return [*before, _like(ast.If(whole, case.body, rest), case.pattern)]


def _pattern(pattern: ast.pattern, subject: str) -> tuple[ast.expr | None, str]:
    """The test of a pattern, None where all fits, and the name that it binds."""
    value: ast.expr = ast.Name(subject, ast.Load())
    match pattern:
        case ast.MatchValue(value=constant):
            return _like(ast.Compare(value, [ast.Eq()], [constant]), pattern), ""
        case ast.MatchSingleton(value=constant):
            return _like(ast.Compare(value, [ast.Is()], [ast.Constant(constant)]), pattern), ""
        case ast.MatchAs(pattern=inner, name=name):
            test, bound = (None, "") if inner is None else _pattern(inner, subject)
            if bound:  # two names
                raise _NoTest
            return test, name or ""
        case ast.MatchOr(patterns=patterns):
            tests = [test for test, bound in (_pattern(p, subject) for p in patterns) if test is not None and not bound]
            if len(tests) == len(patterns):
                return _like(ast.BoolOp(ast.Or(), tests), pattern), ""
    raise _NoTest
