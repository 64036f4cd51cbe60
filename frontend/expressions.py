"""Expressions: literals, names, operators, tuples, conditionals."""

from __future__ import annotations

import ast
from typing import Any

from tilewright.frontend import overloads
from tilewright.frontend.branches import select_value, short_circuit
from tilewright.frontend.calls import arith, math
from tilewright.frontend.calls.call import call_rule_by_name, elements
from tilewright.frontend.compare import contains, equals, identical
from tilewright.frontend.dispatch import expression
from tilewright.frontend.names import lookup
from tilewright.frontend.texts import Piece, formatted, joined, shown
from tilewright.frontend.translator import Translator
from tilewright.frontend.truth import condition, truth
from tilewright.frontend.values import Closure, ListOf, Text, Val, is_tile, known, named
from tilewright.tileir.diagnostics import TileSyntaxError, TileTypeError, TileValueError, at

_BINARY: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("add", "+"), ast.Sub: ("sub", "-"), ast.Mult: ("mul", "*"), ast.Div: ("truediv", "/"),
    ast.FloorDiv: ("floordiv", "//"), ast.Mod: ("mod", "%"), ast.BitAnd: ("bitwise_and", "&"),
    ast.BitOr: ("bitwise_or", "|"), ast.BitXor: ("bitwise_xor", "^"), ast.LShift: ("bitwise_lshift", "<<"),
    ast.RShift: ("bitwise_rshift", ">>"),
}
MAX_REPEATED = 1000
_COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("less", "<"), ast.LtE: ("less_equal", "<="), ast.Gt: ("greater", ">"), ast.GtE: ("greater_equal", ">="),
}


@expression(ast.Constant)
def constant(t: Translator, node: ast.Constant) -> Val:
    value = node.value
    if isinstance(value, (complex, bytes)):
        instead = "compute with two tiles, the real and the imaginary part"
        raise TileSyntaxError(f"{type(value).__name__} literals are not possible in a kernel",
                              hints=[instead if isinstance(value, complex) else "write a string without b"])
    return value


@expression(ast.Name)
def name(t: Translator, node: ast.Name) -> Val:
    return lookup(t, node.id)


@expression(ast.Tuple)
def tuple_(t: Translator, node: ast.Tuple) -> Val:
    return tuple(elements(t, node.elts))


@expression(ast.BinOp)
def binary_operator(t: Translator, node: ast.BinOp) -> Val:
    x, y = t.expr(node.left), t.expr(node.right)
    with t.pointing(x=node.left, y=node.right):
        return apply_binary(t, type(node.op), x, y)


def apply_binary(t: Translator, op: type[ast.operator], x: Val, y: Val) -> Val:
    """`x op y` for every operator, tuples, strings and objects with methods included."""
    found = overloads.binary(t, op, x, y)
    if found:
        return found[0]
    if op is ast.Pow:
        return arith.power(t, x, y, "**")
    if op is ast.MatMult:
        return call_rule_by_name(t, "matmul", (x, y))
    rule, symbol = _BINARY[op]
    if op is ast.Add:
        if isinstance(x, tuple) and isinstance(y, tuple):
            return _joined(x, y)
        if isinstance(x, (str, Text)) and isinstance(y, (str, Text)):
            return concatenate(x, y)
    if op is ast.Mult and isinstance(x, (str, tuple)) ^ isinstance(y, (str, tuple)):
        return _repeated(x, y) if isinstance(x, (str, tuple)) else _repeated(y, x)
    return arith.binary(t, rule, x, y, symbol)


def _joined(x: tuple[Val, ...], y: tuple[Val, ...]) -> tuple[Val, ...]:
    if isinstance(x, ListOf) is not isinstance(y, ListOf):
        raise TileTypeError(f"+: {named(x)} and {named(y)} cannot be joined",
                            hints=["make both lists, list(x), or both tuples, tuple(x)"])
    return ListOf((*x, *y)) if isinstance(x, ListOf) else x + y


def _repeated(value: str | tuple[Val, ...], times: Val) -> Val:
    """`(a,) * n`, `"text" * n`."""
    count = known(times)
    if type(count) is not int:
        raise TileTypeError(f"*: {named(value)} can be repeated a constant number of times, got {named(times)}",
                            hints=["compute with its items one by one"] if isinstance(value, tuple) else [])
    if len(value) * count > MAX_REPEATED:
        raise TileValueError(f"*: the result has {len(value) * count} items; {MAX_REPEATED} are the most")
    return ListOf(value * count) if isinstance(value, ListOf) else value * count


def concatenate(x: str | Text, y: str | Text) -> str | Text:
    """Strings joined."""
    if isinstance(x, str) and isinstance(y, str):
        return x + y
    return Text(tuple(p for s in (x, y) for p in ((s,) if isinstance(s, str) else s.parts)))


@expression(ast.UnaryOp)
def unary_operator(t: Translator, node: ast.UnaryOp) -> Val:
    value = t.expr(node.operand)
    found = overloads.unary(t, type(node.op), value)
    if found:
        return found[0]
    with t.pointing(x=node.operand):
        match node.op:
            case ast.USub():
                return math.negate(t, value)
            case ast.UAdd():
                return math.positive(t, value)
            case ast.Invert():
                return math.invert(t, value, "~")
        return math.logical_not(t, value)


@expression(ast.Compare)
def comparison(t: Translator, node: ast.Compare) -> Val:
    left = t.expr(node.left)
    if len(node.ops) == 1:
        right = t.expr(node.comparators[0])
        with t.pointing(x=node.left, y=node.comparators[0]):
            return compare(t, node.ops[0], left, right)
    return _chain(t, node, 0, left)


def _chain(t: Translator, node: ast.Compare, i: int, left: Val) -> Val:
    """`a < b < c`: the first comparison, and if it holds the rest; the middle is evaluated once.

    Comparisons of tiles are combined element by element.
    """
    right = t.expr(node.comparators[i])
    first = compare(t, node.ops[i], left, right)
    if i + 1 == len(node.ops):
        return first
    if is_tile(first) and first.type.shape:
        return call_rule_by_name(t, "bitwise_and", (first, _chain(t, node, i + 1, right)))
    return short_circuit(t, first, lambda: _chain(t, node, i + 1, right), is_and=True, what="a chained comparison")


def compare(t: Translator, op: ast.cmpop, x: Val, y: Val) -> Val:
    """One comparison."""
    found = overloads.comparison(t, type(op), x, y)
    if found:
        return found[0]
    match op:
        case ast.Is() | ast.IsNot():
            return identical(x, y) is isinstance(op, ast.Is)
        case ast.In() | ast.NotIn():
            found = contains(t, x, y)
            return found if isinstance(op, ast.In) else math.logical_not(t, found)
        case ast.Eq():
            return equals(t, x, y)
        case ast.NotEq():
            return equals(t, x, y, negate=True)
    rule, symbol = _COMPARE[type(op)]
    return arith.binary(t, rule, x, y, symbol)


@expression(ast.BoolOp)
def bool_operator(t: Translator, node: ast.BoolOp) -> Val:
    """What follows constants, or a constant that decides, is the value itself, as in Python: `size or 128`.

    Behind a scalar that only the run knows the result is a bool, as the language has it.
    """
    is_and = isinstance(node.op, ast.And)
    what = "and" if is_and else "or"
    for i, operand in enumerate(node.values):
        value = t.expr(operand)
        with at(t.span(operand)):
            first = truth(t, value, what)
        if not isinstance(first, bool) and i + 1 < len(node.values):
            return _bool_operator(t, first, node.values[i + 1:], is_and, what)
        if isinstance(first, bool) and first is not is_and:
            break
    return value


def _bool_operator(t: Translator, first: Val, others: list[ast.expr], is_and: bool, what: str) -> Val:
    if not others:
        return first
    rest = lambda: _bool_operator(t, condition(t, others[0], what), others[1:], is_and, what)  # noqa: E731
    return short_circuit(t, first, rest, is_and=is_and, what=what)


@expression(ast.IfExp)
def conditional(t: Translator, node: ast.IfExp) -> Val:
    cond = condition(t, node.test, "if")
    if isinstance(cond, bool):
        return t.expr(node.body if cond else node.orelse)
    return select_value(t, cond, node)


@expression(ast.NamedExpr)
def named_expression(t: Translator, node: ast.NamedExpr) -> Val:
    value = t.expr(node.value)
    inside = t.scope.outer is not None and t.scope.outer.source is t.scope.source
    if inside or t.block is not t.statement_block:
        where = "in a comprehension" if inside else "where only the run knows whether it is reached"
        raise TileSyntaxError(f"the := operator is not possible {where}",
                              hints=["assign in a statement of its own"])
    t.scope.bind(node.target.id, value, node.target)
    return value


@expression(ast.Lambda)
def lambda_(t: Translator, node: ast.Lambda) -> Val:
    return make_closure(t, node)


def make_closure(t: Translator, node: ast.Lambda | ast.FunctionDef) -> Closure:
    """A nested function; its defaults are evaluated now, its free variables when it is called."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    defaults: dict[str, Any] = {}
    for parameter, default in zip(positional[len(positional) - len(args.defaults):], args.defaults, strict=True):
        defaults[parameter.arg] = t.expr(default)
    for parameter, keyword_default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        if keyword_default is not None:
            defaults[parameter.arg] = t.expr(keyword_default)
    return Closure(t.scope.source.nested(node), defaults, t.scope)


@expression(ast.JoinedStr)
def f_string(t: Translator, node: ast.JoinedStr) -> Val:
    pieces: list[Piece] = []
    for piece in node.values:
        if isinstance(piece, ast.Constant):
            pieces.append(str(piece.value))
            continue
        assert isinstance(piece, ast.FormattedValue)
        if piece.conversion == ord("a"):
            raise TileSyntaxError("!a is not possible in an f-string of a kernel", t.span(piece.value),
                                  hints=["write !r"])
        value, spec = t.expr(piece.value), _format_spec(t, piece)
        with at(t.span(piece.value)):
            if piece.conversion != -1:
                value = joined(shown(t, value, quoted=piece.conversion == ord("r")))
            pieces += formatted(t, value, spec)
    return joined(pieces)


def _format_spec(t: Translator, piece: ast.FormattedValue) -> str:
    if piece.format_spec is None:
        return ""
    assert isinstance(piece.format_spec, ast.JoinedStr)
    spec = ""
    for part in piece.format_spec.values:
        if isinstance(part, ast.Constant):
            spec += str(part.value)
            continue
        assert isinstance(part, ast.FormattedValue)
        value = t.expr(part.value)
        constant = value if isinstance(value, str) else known(value)
        if constant is None or part.conversion != -1 or part.format_spec is not None:
            raise TileSyntaxError("a format inside an f-string's format must be a plain constant", t.span(part.value),
                                  hints=["make it a parameter annotated with ct.Constant[int]"])
        spec += str(constant)
    return spec
