"""static_eval, static_assert, static_iter: Python that runs once, while compiling."""

from __future__ import annotations

import ast
import builtins
import itertools
import linecache
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tilewright.frontend.calls.call import rule_name, syntax_form
from tilewright.frontend.dispatch import expression
from tilewright.frontend.flow import read_names
from tilewright.frontend.proxies import Proxy, from_host, to_host
from tilewright.frontend.scopes import Conflict, MaybeUnbound, Scope
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, Range, Val, named
from tilewright.tileir.diagnostics import (
    KernelFunctionError,
    TileError,
    TileStaticAssertionError,
    TileStaticEvalError,
    TileSyntaxError,
    TileTypeError,
)

MAX_ITEMS = 1000


def run_python(t: Translator, node: ast.expr, what: str) -> Any:
    """The Python value of an expression, with the kernel's locals and globals."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.NamedExpr):
            raise TileSyntaxError("the := operator is not possible in a kernel", t.span(inner),
                                  hints=["assign in a statement of its own"])
    code = compile(ast.fix_missing_locations(ast.Expression(node)), t.scope.source.file, "eval")
    space: dict[str, Any] = {"__builtins__": builtins, **t.scope.source.captured, **_locals(t, read_names(node))}
    try:
        return eval(code, space)
    except TileError as error:
        raise TileStaticEvalError(f"{what}: {error.message}", hints=error.hints) from error
    except KernelFunctionError as error:
        name = error.function
        message = f"{what}: {name} cannot be called here; the expression runs while compiling, without values"
        hint = "leave the inner one out" if name.startswith("static_") else f"call {name} outside of {what}"
        raise TileStaticEvalError(message, hints=[hint]) from error
    except (Exception, SystemExit, GeneratorExit) as error:  # exit() shall not end the host
        # The error itself stays as the context; printed in full, it would be longer than ours.
        raise TileStaticEvalError(f"{what}: {type(error).__name__}: {error}", notes=_raised_at(error)) from None


def _raised_at(error: BaseException) -> list[str]:
    """Where a function of the user's, called by the expression, has raised an error."""
    calls = list(traceback.walk_tb(error.__traceback__))[2:]  # behind our frame and that of the expression
    for frame, line in reversed(calls):
        code = frame.f_code
        source = linecache.getline(code.co_filename, line).strip()
        if source and not frame.f_globals.get("__name__", "").startswith("tilewright."):
            return [f'raised in {code.co_name}, "{code.co_filename}", line {line}: {source}']
    return []


def _locals(t: Translator, names: Iterable[str]) -> dict[str, Any]:
    """The visible variables among `names`, as Python sees them."""
    out: dict[str, Any] = {}
    scope: Scope | None = t.scope
    while scope is not None:
        for name in names:
            binding = scope.vars.get(name)
            if binding is not None and name not in out and not isinstance(binding.value, (Conflict, MaybeUnbound)):
                out[name] = to_host(t, binding.value)
        scope = scope.outer
    return out


def _arguments(node: ast.Call, what: str, least: int, most: int) -> Sequence[ast.expr]:
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise TileSyntaxError(f"{what}: takes positional arguments only", hints=[f"write ct.{what}(expression)"])
    if not least <= len(node.args) <= most:
        wanted = str(least) if least == most else f"{least} or {most}"
        raise TileTypeError(f"{what}: takes {wanted} argument{'' if most == 1 else 's'}, got {len(node.args)}",
                            hints=[f"several values make a tuple: ct.{what}((a, b))"] if most == 1 else [])
    return node.args


@syntax_form("static_eval")
def static_eval(t: Translator, node: ast.Call) -> Val:
    [value] = _arguments(node, "static_eval", 1, 1)
    return from_host(t, run_python(t, value, "static_eval"), "the result of static_eval")


@syntax_form("static_assert")
def static_assert(t: Translator, node: ast.Call) -> Val:
    condition, *message = _arguments(node, "static_assert", 1, 2)
    value = run_python(t, condition, "static_assert")
    if not isinstance(value, bool):
        known_later = isinstance(value, Proxy)
        hints = ["write ct.assert_(condition) to check values of the run"] if known_later else ["compare: n > 0"]
        got = f"{named(value._value)}, which only the run knows" if known_later else named(value)
        raise TileTypeError(f"static_assert: the condition must be a constant bool, got {got}", t.span(condition),
                            hints=hints)
    if value:
        return None
    text = run_python(t, message[0], "static_assert") if message else None
    raise TileStaticAssertionError("Static assertion failed" + ("" if text is None else f": {text}"))


@syntax_form("static_iter")
def static_iter(t: Translator, node: ast.Call) -> Val:
    raise TileSyntaxError("static_iter can only be the iterable of a for loop", hints=["for x in ct.static_iter(...):"])


def static_items(t: Translator, node: ast.expr) -> list[Val] | None:
    """The items of `ct.static_iter(...)`; None for any other iterable."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
        return None
    if rule_name(_function(t, node.func)) != "static_iter":
        return None
    [items_node] = _arguments(node, "static_iter", 1, 1)
    iterable = run_python(t, items_node, "static_iter")
    try:
        items = list(itertools.islice(iter(iterable), MAX_ITEMS + 1))
    except (Exception, SystemExit, GeneratorExit) as error:
        raise TileStaticEvalError(f"static_iter: {type(error).__name__}: {error}", t.span(node)) from error
    if len(items) > MAX_ITEMS:
        raise TileStaticEvalError(f"static_iter: more than {MAX_ITEMS} items", t.span(node),
                                  hints=["the body is repeated for every item; loop with range(...) instead"])
    return [from_host(t, item, "an item of static_iter") for item in items]


def _function(t: Translator, node: ast.expr) -> Val:
    """What a dotted name refers to, without errors."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id in t.scope.source.locals:
        return None
    value = t.scope.source.captured.get(node.id)
    for name in reversed(names):
        value = getattr(value, name, None)
    return value


def _constant_items(value: Val) -> Sequence[Val] | None:
    """The items of a tuple, or of a range whose bounds are known; None for anything else."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, Keywords):
        return tuple(value.items)
    return value.items("a comprehension", MAX_ITEMS) if isinstance(value, Range) else None


@expression(ast.GeneratorExp)
def comprehension(t: Translator, node: ast.GeneratorExp) -> Val:
    return tuple(comprehend(t, node.generators, lambda: t.expr(node.elt)))


def comprehend(t: Translator, generators: Sequence[ast.comprehension], element: Callable[[], Val]) -> list[Val]:
    """The items of `(e for x in ... if c)`, over a tuple, a constant range or ct.static_iter(...), at once."""
    from tilewright.frontend.assign import assign
    from tilewright.frontend.truth import condition

    around = t.scope
    # A scope of its own, in which functions made by the elements find the variables as they are at the end.
    t.scope = Scope(around.source, around, around.call_site, around.depth)
    out: list[Val] = []

    def visit(clauses: Sequence[ast.comprehension]) -> None:
        if not clauses:
            out.append(element())
            return
        items: Sequence[Val] | None = static_items(t, clauses[0].iter)
        if items is None:
            items = _constant_items(t.expr(clauses[0].iter))
        if items is None:
            raise TileSyntaxError("a comprehension must go over a tuple, a constant range or ct.static_iter(...)",
                                  t.span(clauses[0].iter),
                                  hints=["write tuple(... for x in ct.static_iter(...))"])
        for item in items:
            assign(t, clauses[0].target, item)
            tests = [condition(t, c, "if") for c in clauses[0].ifs]
            if not all(isinstance(c, bool) for c in tests):
                raise TileTypeError("the condition of a comprehension must be a constant", t.span(clauses[0].ifs[0]),
                                    hints=["the length of a tuple is known while compiling"])
            if all(tests):
                visit(clauses[1:])

    try:
        visit(generators)
    finally:
        t.scope = around
    return out
