"""Statements that others express: `match` by `if`, a `while` whose condition assigns by a loop that breaks."""

from __future__ import annotations

import ast
import copy
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)


def desugared(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function without `match` and without assignments in conditions of loops; changed in place."""
    if any(isinstance(n, (ast.Match, ast.NamedExpr)) for n in ast.walk(node)):
        _Desugar().visit(node)
    return node


class _NoTest(Exception):
    """A pattern of a dict, a choice that binds names, or too many guards: this `match` stays, and is refused."""


_MOST_GUARDS = 6
"""What follows a guard of bound names stands twice, behind the guard and behind the pattern."""


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
        if sum(case.guard is not None for case in node.cases) > _MOST_GUARDS:
            raise _NoTest
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
    """The statements of a case and those behind it. Names are bound where the pattern fits, whatever a guard says."""
    tests, bound = _pattern(case.pattern, ast.Name(subject, ast.Load()))
    body: list[ast.stmt] = [
        _like(ast.Assign([ast.Name(name, ast.Store())], value), case.pattern) for name, value in bound]
    if case.guard is not None and not bound:
        tests = [*tests, case.guard]
    elif case.guard is not None:
        body.append(_like(ast.If(case.guard, case.body, copy.deepcopy(rest) if tests else rest), case.pattern))
        return [_like(ast.If(_all(tests), body, rest), case.pattern)] if tests else body
    body += case.body
    return [_like(ast.If(_all(tests), body, rest), case.pattern)] if tests else body


_Found = tuple[list[ast.expr], list[tuple[str, ast.expr]]]
"""The tests of a pattern in their order, none where all fits, and the names that it binds, with their values."""


def _pattern(pattern: ast.pattern, value: ast.expr) -> _Found:
    """What a pattern asks of the value of an expression."""
    match pattern:
        case ast.MatchValue(value=constant):
            return [ast.Compare(value, [ast.Eq()], [constant])], []
        case ast.MatchSingleton(value=constant):
            return [ast.Compare(value, [ast.Is()], [ast.Constant(constant)])], []
        case ast.MatchAs(pattern=inner, name=name):
            tests, bound = ([], []) if inner is None else _pattern(inner, value)
            return tests, [*bound, *([(name, value)] if name else [])]
        case ast.MatchOr(patterns=patterns):
            found = [_pattern(p, value) for p in patterns]
            if not any(bound for _, bound in found) and all(tests for tests, _ in found):
                return [ast.BoolOp(ast.Or(), [_all(tests) for tests, _ in found])], []
        case ast.MatchSequence(patterns=patterns):
            return _sequence(patterns, value)
        case ast.MatchClass():
            return _class(pattern, value)
    raise _NoTest


def _all(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _call(function: Any, *args: ast.expr) -> ast.expr:
    """Of a function of Python's, whatever its name is in the kernel."""
    return ast.Call(ast.Constant(function), list(args), [])


def _sequence(patterns: list[ast.pattern], value: ast.expr) -> _Found:
    """Items of a tuple or list, of which one pattern may take the rest."""
    stars = [n for n, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
    behind = len(patterns) - 1 - stars[0] if stars else 0
    kinds: Any = ast.Constant((tuple, list))  # type: ignore[arg-type]
    length = ast.Compare(_call(len, value), [ast.GtE() if stars else ast.Eq()],
                         [ast.Constant(len(patterns) - len(stars))])
    found: list[_Found] = [([_call(isinstance, value, kinds), length], [])]
    for n, pattern in enumerate(patterns):
        if isinstance(pattern, ast.MatchStar):
            some = ast.Slice(ast.Constant(n), ast.Constant(-behind) if behind else None)
            items = _call(list, ast.Subscript(value, some, ast.Load()))
            found.append(([], [(pattern.name, items)] if pattern.name else []))
        else:
            at = ast.Constant(n - len(patterns) if stars and n > stars[0] else n)
            found.append(_pattern(pattern, ast.Subscript(value, at, ast.Load())))
    return _joined(found)


_THEMSELVES = ("bool", "int", "float", "str", "tuple", "list", "dict")
"""Classes whose only item is the object."""


def _class(pattern: ast.MatchClass, value: ast.expr) -> _Found:
    """An instance of a class, by the names of its fields or in their order."""
    found: list[_Found] = [([_call(isinstance, value, pattern.cls)], [])]
    for n, inner in enumerate(pattern.patterns):
        if isinstance(pattern.cls, ast.Name) and pattern.cls.id in _THEMSELVES:
            found.append(_pattern(inner, value))
        else:
            names = ast.Attribute(pattern.cls, "__match_args__", ast.Load())
            name = ast.Subscript(names, ast.Constant(n), ast.Load())
            found.append(_pattern(inner, _call(getattr, value, name)))
    found += [_pattern(inner, ast.Attribute(value, name, ast.Load()))
              for name, inner in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True)]
    return _joined(found)


def _joined(found: list[_Found]) -> _Found:
    return [test for tests, _ in found for test in tests], [pair for _, bound in found for pair in bound]
