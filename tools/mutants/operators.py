"""The small defects: what may stand in place of a node of the syntax tree. One rule per class of nodes."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from mutants import tokens


class Change(NamedTuple):
    """A kind of defect, and the node in place of the old one."""

    kind: str
    node: ast.AST


Rule = Callable[[Any], Iterator[Change]]
RULES: dict[type[ast.AST], list[Rule]] = {}
Some = TypeVar("Some", bound=Rule)

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,)}
ARITHMETIC: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.FloorDiv, ast.Add), ast.FloorDiv: (ast.Mod, ast.Mult),
    ast.Mod: (ast.FloorDiv,), ast.LShift: (ast.RShift,), ast.RShift: (ast.LShift,), ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd, ast.BitXor), ast.BitXor: (ast.BitOr,), ast.Div: (ast.Mult,), ast.Pow: (ast.Mult,)}
NOT_COMMUTATIVE = (ast.Sub, ast.FloorDiv, ast.Div, ast.Mod, ast.LShift, ast.RShift, ast.Pow)
# Functions and methods that stand for each other, and those whose last two arguments are not the same.
TWINS = dict(pair for a, b in (
    ("min", "max"), ("minimum", "maximum"), ("any", "all"), ("logical_and", "logical_or"), ("floor", "ceil"),
    ("bitwise_and", "bitwise_or"), ("left_shift", "right_shift"), ("add", "subtract"), ("less", "less_equal"),
    ("greater", "greater_equal"), ("argmin", "argmax"), ("zeros", "ones"), ("shl", "lshr"), ("zext", "sext"),
    ("and_", "or_"), ("isnan", "isinf")) for pair in ((a, b), (b, a)))
ORDERED = {"sub", "fsub", "sdiv", "udiv", "fdiv", "srem", "urem", "shl", "lshr", "ashr", "select", "where", "subtract",
           "divmod", "ldexp", "copysign", "less", "less_equal", "greater", "greater_equal"}


def rule(*classes: type[ast.AST]) -> Callable[[Some], Some]:
    def register(function: Some) -> Some:
        for class_ in classes:
            RULES.setdefault(class_, []).append(function)
        return function

    return register


def changes(node: ast.AST) -> list[Change]:
    """All defects of one node."""
    return [change for rule in RULES.get(type(node), ()) for change in rule(node)]


def _with(node: ast.AST, **fields: Any) -> Any:
    out = copy.copy(node)
    for name, value in fields.items():
        setattr(out, name, value)
    return out


@rule(ast.Compare)
def _comparison(node: ast.Compare) -> Iterator[Change]:
    for i, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            yield Change("comparison", _with(node, ops=[*node.ops[:i], other(), *node.ops[i + 1:]]))


@rule(ast.BinOp)
def _arithmetic(node: ast.BinOp) -> Iterator[Change]:
    if isinstance(node.op, ast.BitOr) and all(map(_names_a_class, (node.left, node.right))):
        return  # a union of types
    if any(map(_is_sequence, (node.left, node.right))):
        return  # texts and sequences put together
    for other in ARITHMETIC.get(type(node.op), ()):
        yield Change("arithmetic", _with(node, op=other()))
    if isinstance(node.op, NOT_COMMUTATIVE):
        yield Change("swapped operands", _with(node, left=node.right, right=node.left))


@rule(ast.AugAssign)
def _in_place(node: ast.AugAssign) -> Iterator[Change]:
    for other in ARITHMETIC.get(type(node.op), ()):
        yield Change("arithmetic", _with(node, op=other()))
    yield Change("removed statement", ast.Pass())


@rule(ast.Constant)
def _constant(node: ast.Constant) -> Iterator[Change]:
    value = node.value
    if isinstance(value, bool):
        yield Change("constant", ast.Constant(not value))
    elif isinstance(value, int):
        yield Change("constant", ast.Constant(value + 1))
        yield Change("constant", ast.Constant(value - 1) if value else ast.UnaryOp(ast.USub(), ast.Constant(1)))
    elif isinstance(value, float):
        yield Change("constant", ast.UnaryOp(ast.USub(), node) if value else ast.Constant(1.0))
    elif isinstance(value, str):
        for text in tokens.changed(value):
            yield Change("machine word", ast.Constant(text))


@rule(ast.BoolOp)
def _connective(node: ast.BoolOp) -> Iterator[Change]:
    yield Change("and, or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And()))
    for i in range(len(node.values)):
        rest = node.values[:i] + node.values[i + 1:]
        yield Change("dropped condition", _with(node, values=rest) if len(rest) > 1 else rest[0])


@rule(ast.If, ast.While, ast.IfExp)
def _condition(node: ast.If | ast.While | ast.IfExp) -> Iterator[Change]:
    if not isinstance(node.test, (ast.Compare, ast.Constant)):  # those have changes of their own
        yield Change("negated condition", _with(node, test=_negated(node.test)))


@rule(ast.comprehension)
def _filter(node: ast.comprehension) -> Iterator[Change]:
    for i in range(len(node.ifs)):
        yield Change("dropped condition", _with(node, ifs=node.ifs[:i] + node.ifs[i + 1:]))


@rule(ast.UnaryOp)
def _unary(node: ast.UnaryOp) -> Iterator[Change]:
    if not isinstance(node.operand, ast.Constant):
        yield Change("dropped operator", node.operand)


@rule(ast.Expr)
def _statement(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield Change("removed statement", ast.Pass())


@rule(ast.Assign)
def _stored(node: ast.Assign) -> Iterator[Change]:
    if all(isinstance(target, (ast.Attribute, ast.Subscript)) for target in node.targets):
        yield Change("removed statement", ast.Pass())  # of a name: a NameError


@rule(ast.Continue, ast.Break)
def _jump(node: ast.stmt) -> Iterator[Change]:
    yield Change("removed statement", ast.Pass())


@rule(ast.Return)
def _early_return(node: ast.Return) -> Iterator[Change]:
    if getattr(node, "early", False):
        yield Change("dropped return", ast.Pass())


@rule(ast.Call)
def _call(node: ast.Call) -> Iterator[Change]:
    name = called(node)
    if name in TWINS:
        yield Change("other function", _with(node, func=_renamed(node.func, TWINS[name])))
    if name in ORDERED and len(node.args) > 1:
        yield Change("swapped operands", _with(node, args=[*node.args[:-2], node.args[-1], node.args[-2]]))
    if name == "range" and node.args:
        last = node.args[1 if len(node.args) > 1 else 0]
        shorter = ast.BinOp(last, ast.Sub(), ast.Constant(1))
        args = [shorter] if len(node.args) == 1 else [node.args[0], shorter, *node.args[2:]]
        yield Change("shifted bound", _with(node, args=args))
    if name == "reversed":
        yield Change("dropped operator", node.args[0])


@rule(ast.Slice)
def _slice(node: ast.Slice) -> Iterator[Change]:
    for field in ("lower", "upper"):
        bound = getattr(node, field)
        if bound is not None and not isinstance(bound, ast.Constant):
            yield Change("shifted bound", _with(node, **{field: _plus_one(bound)}))


@rule(ast.Subscript)
def _index(node: ast.Subscript) -> Iterator[Change]:
    index = node.slice
    if isinstance(index, ast.BinOp) or (isinstance(index, ast.Name) and len(index.id) == 1):
        yield Change("shifted index", _with(node, slice=_plus_one(index)))


@rule(ast.JoinedStr)
def _text(node: ast.JoinedStr) -> Iterator[Change]:
    for i, part in enumerate(node.values):
        words = part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else ""
        for text in tokens.changed(words):
            values = [*node.values[:i], ast.Constant(text), *node.values[i + 1:]]
            yield Change("machine word", _with(node, values=values))


def _plus_one(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _negated(node: ast.expr) -> ast.expr:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return node.operand if negative else ast.UnaryOp(ast.Not(), node)  # type: ignore[attr-defined]


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _renamed(function: ast.expr, name: str) -> ast.expr:
    return ast.Name(name) if isinstance(function, ast.Name) else _with(function, attr=name)


def _names_a_class(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _names_a_class(node.left) and _names_a_class(node.right)
    name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Subscript) or name[:1].isupper() or name in ("int", "float", "str", "bool", "bytes")


def _is_sequence(node: ast.expr) -> bool:
    text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return text or isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple))
