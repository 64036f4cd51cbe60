"""What a kernel really uses while it is translated: functions and their options, operators, statements, members.

A cell that claims a name is held against this, so that no row of the language table rests on a label.
"""

from __future__ import annotations

import ast
import contextlib
import enum
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import tilewright.frontend.translate  # noqa: F401  (fills the tables)
from tilewright.frontend import branches
from tilewright.frontend.calls.call import SYNTAX_FORMS
from tilewright.frontend.calls.registry import RULES
from tilewright.frontend.dispatch import EXPRESSIONS, STATEMENTS
from tilewright.tileir.dtypes import BY_NAME, DType

BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}
COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "operator ==", ast.NotEq: "operator !=", ast.Lt: "operator <", ast.LtE: "operator <=",
    ast.Gt: "operator >", ast.GtE: "operator >=", ast.Is: "expression is None", ast.IsNot: "expression is None",
    ast.In: "expression in", ast.NotIn: "expression not in",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "operator unary -", ast.UAdd: "operator unary +",
                                       ast.Invert: "operator ~", ast.Not: "operator not"}
PLAIN: dict[type[ast.AST], str] = {
    ast.IfExp: "expression ternary", ast.Lambda: "expression lambda", ast.Tuple: "expression tuple display",
    ast.AugAssign: "statement augmented assignment", ast.AnnAssign: "statement annotated assignment",
    ast.Pass: "statement pass", ast.Break: "statement break", ast.Continue: "statement continue",
    ast.Return: "statement return", ast.FunctionDef: "statement def", ast.With: "statement with",
    ast.JoinedStr: "expression f-string",
}
BUILTINS = {function: name for name, function in (
    ("builtin min", min), ("builtin max", max), ("builtin abs", abs), ("builtin divmod", divmod),
    ("builtin enumerate", enumerate), ("builtin zip", zip),
    ("builtin len", len), ("builtin range", range), ("builtin tuple", tuple), ("builtin int", int),
    ("builtin float", float), ("builtin bool", bool), ("builtin str", str), ("builtin repr", repr),
    ("builtin print", print), ("builtin isinstance", isinstance), ("builtin round", round))}


def names_of(node: ast.AST) -> Iterator[str]:
    """The names that a node of a kernel's syntax tree shows."""
    if type(node) in PLAIN:
        yield PLAIN[type(node)]
    if isinstance(node, ast.BinOp):
        yield f"operator {BINARY[type(node.op)]}"
    elif isinstance(node, ast.UnaryOp):
        yield UNARY[type(node.op)]
    elif isinstance(node, ast.BoolOp):
        yield "operator and" if isinstance(node.op, ast.And) else "operator or"
    elif isinstance(node, ast.Compare):
        yield from (COMPARE[type(op)] for op in node.ops)
        if len(node.ops) > 1:
            yield "expression chained comparison"
    elif isinstance(node, ast.Attribute):
        yield f".{node.attr}"
    elif isinstance(node, ast.Subscript):
        yield f"subscript t[{ast.unparse(node.slice).strip('()')}]".replace("np.newaxis", "None")
    elif isinstance(node, ast.Assign):
        yield "statement chained assignment" if len(node.targets) > 1 else "statement assignment"
        if any(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
            yield "statement tuple unpacking"
    elif isinstance(node, ast.While):
        yield "statement while"
        if isinstance(node.test, ast.Constant):
            yield "statement while True"
    elif isinstance(node, ast.For):
        static = isinstance(node.iter, ast.Call) and ast.unparse(node.iter.func).endswith("static_iter")
        yield from ("statement for static_iter", "static_iter") if static else ("statement for range",)
    elif isinstance(node, ast.If):
        yield "statement if"
        if node.orelse:
            yield "statement elif" if isinstance(node.orelse[0], ast.If) else "statement else"


@contextlib.contextmanager
def recorded() -> Iterator[set[str]]:
    """The names used by what is translated meanwhile."""
    seen: set[str] = set()
    tables: list[dict[Any, Any]] = [EXPRESSIONS, STATEMENTS, RULES, SYNTAX_FORMS]
    saved = [dict(table) for table in tables]
    if_statement = branches.if_statement
    for table in (EXPRESSIONS, STATEMENTS):
        for kind, handler in table.items():
            table[kind] = _noting_node(handler, seen)
    for name, rule in RULES.items():
        RULES[name] = replace(rule, function=_noting_call(name, rule, seen))
    for name, form in SYNTAX_FORMS.items():
        SYNTAX_FORMS[name] = _noting_form(name, form, seen)
    branches.if_statement = _noting_node(if_statement, seen)
    try:
        yield seen
    finally:
        for table, old in zip(tables, saved, strict=True):
            table.clear()
            table.update(old)
        branches.if_statement = if_statement


def _noting_node(handler: Callable[..., Any], seen: set[str]) -> Callable[..., Any]:
    def run(t: Any, node: ast.AST, *rest: Any) -> Any:
        seen.update(names_of(node))
        if isinstance(node, ast.Call):
            _note_callee(t, node, seen)
        return handler(t, node, *rest)

    return run


def _note_callee(t: Any, node: ast.Call, seen: set[str]) -> None:
    """Builtins, functions of `operator` and dtypes are called as themselves."""
    if not isinstance(node.func, (ast.Name, ast.Attribute)):
        return
    with contextlib.suppress(Exception):
        value = t.expr(node.func)
        if isinstance(value, DType):
            seen.add(value.name)
        elif value in BUILTINS:
            seen.add(BUILTINS[value])
        elif getattr(value, "__module__", "") == "_operator":
            seen.add(f"operator.{value.__name__}")


def _noting_form(name: str, form: Callable[..., Any], seen: set[str]) -> Callable[..., Any]:
    def run(t: Any, node: ast.Call) -> Any:
        # The form of `tuple` is a comprehension over static_iter.
        seen.update(("expression tuple comprehension", "builtin tuple", "static_iter") if name == "tuple" else (name,))
        return form(t, node)

    return run


def _noting_call(name: str, rule: Any, seen: set[str]) -> Callable[..., Any]:
    defaults = rule.signature.defaults

    def run(t: Any, *args: Any, **options: Any) -> Any:
        seen.add(name)
        given = dict(zip((*rule.signature.positional_only, *rule.signature.positional), args, strict=False)) | options
        for option, value in given.items():
            if option not in defaults or defaults[option] is not value:
                seen.add(f"{name}({option})")
            if isinstance(value, enum.Enum):
                seen.add(f"{type(value).__name__}.{value.name}")
            elif isinstance(value, DType):
                seen.add(value.name)
            elif getattr(value, "__module__", "") == "_operator":
                seen.add(f"operator.{value.__name__}")
        return rule.function(t, *args, **options)

    return run


def checkable(name: str) -> bool:
    """Whether `recorded` would see the name; the others describe a situation."""
    base = name.partition("(")[0]
    if base in RULES or base in BY_NAME or base in SYNTAX_FORMS or name in BUILTINS.values():
        return True
    known = {*PLAIN.values(), *COMPARE.values(), *UNARY.values(), *(f"operator {s}" for s in BINARY.values())}
    return name in known or name.startswith(("operator.", "RoundingMode.", "PaddingMode.", "MemoryOrder.",
                                             "MemoryScope.", "subscript "))
