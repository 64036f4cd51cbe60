"""`with`: context managers written as generator functions, whose two parts are translated around the body."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.frontend.assign import assign
from tilewright.frontend.branches import run
from tilewright.frontend.calls.call import SYNTHETIC
from tilewright.frontend.dispatch import statement
from tilewright.frontend.inline import activation, host_defaults
from tilewright.frontend.scopes import Exit, Scope
from tilewright.frontend.source import FunctionSource, span_of
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Managed, Val, named
from tilewright.tileir.diagnostics import TileError, TileSyntaxError, TileTypeError


def make_managed(
    t: Translator, function: types.FunctionType, args: Sequence[Val], kwargs: Mapping[str, Val]
) -> Managed:
    """Calling a context manager function binds its arguments; its code runs when it is entered."""
    generator: types.FunctionType = function.__wrapped__  # type: ignore[attr-defined]
    source = t.scope.source.kernel.function(generator, t.span())
    scope = activation(t, source, args, kwargs, host_defaults(t, generator), None)
    try:
        return Managed(scope, split(source)[1])
    except TileError as error:
        error.span = replace(error.span, call_site=t.span())
        raise


_MANAGER_HINTS = {
    "return": ["leave it out: the part after the yield runs to its end"],
    "try": ["leave it out: kernels have no exceptions, so the part after the yield always runs"],
}


def split(source: FunctionSource) -> tuple[list[ast.stmt], ast.expr | None, list[ast.stmt]]:
    """The statements before the `yield`, what it yields, and the statements after it."""
    for node in ast.walk(source.node):
        if isinstance(node, (ast.Return, ast.Try)):
            what = "return" if isinstance(node, ast.Return) else "try"
            raise TileSyntaxError(
                f"{source.name}: a context manager of a kernel can have no {what}",
                span_of(node, source.file, source.name, None), hints=_MANAGER_HINTS[what],
            )
    yields = [n for n in ast.walk(source.node) if isinstance(n, (ast.Yield, ast.YieldFrom))]
    places = [i for i, s in enumerate(source.body) if isinstance(s, ast.Expr) and isinstance(s.value, ast.Yield)]
    if len(yields) != 1 or len(places) != 1:
        raise TileSyntaxError(
            f"{source.name}: a context manager needs exactly one yield, not inside a branch, loop or expression",
            source.span if len(yields) != 2 else span_of(yields[1], source.file, source.name, None),
        )
    [at] = places
    yielded = source.body[at]
    assert isinstance(yielded, ast.Expr) and isinstance(yielded.value, ast.Yield)
    return source.body[:at], yielded.value.value, source.body[at + 1 :]


@statement(ast.With)
def with_statement(t: Translator, node: ast.With) -> None:
    entered: list[Managed] = []
    for item in node.items:
        manager = t.expr(item.context_expr)
        if not isinstance(manager, Managed):
            raise TileTypeError(
                f"with: expected a context manager, got {named(manager)}", t.span(item.context_expr),
                hints=["make one with @contextlib.contextmanager"],
            )
        value = enter(t, manager)
        entered.append(manager)
        if item.optional_vars is not None:
            assign(t, item.optional_vars, value)
    run(t, node.body)
    # The second parts run on every way out of the body, the innermost first.
    leaving, t.scope.exit = t.scope.exit, Exit()
    for manager in reversed(entered):
        in_scope(t, manager.scope, split(manager.scope.source)[2])
    t.scope.exit = leaving


def enter(t: Translator, manager: Managed) -> Val:
    """Translate the part before the yield; what is yielded."""
    if manager.scope in t.entered:
        raise TileTypeError("with: this context manager was entered before", hints=["make a new one for every with"])
    t.entered.add(manager.scope)
    before, _, _ = split(manager.scope.source)
    return in_scope(t, manager.scope, before, manager.yielded)


def in_scope(t: Translator, scope: Scope, stmts: Sequence[ast.stmt], result: ast.expr | None = None) -> Val:
    """Translate statements, and then an expression, as part of another activation."""
    outer, node = t.scope, t.node
    t.scope, t.node = scope, scope.source.node
    try:
        run(t, stmts)
        return t.expr(result) if result is not None else None
    except TileError as error:
        t.locate(error)
        raise
    finally:
        t.scope, t.node = outer, node


SYNTHETIC["manager"] = make_managed
