"""Binding names: assignment targets, unpacking, augmented assignment."""

from __future__ import annotations

import ast
from typing import Any

from tilewright.frontend.advice import on_number
from tilewright.frontend.calls.builtins import items_of
from tilewright.frontend.calls.call import call_value
from tilewright.frontend.containers import change, delete_item, evaluated_once, set_item
from tilewright.frontend.dispatch import statement
from tilewright.frontend.expressions import apply_binary, make_closure
from tilewright.frontend.scopes import Binding, MaybeUnbound
from tilewright.frontend.subscripts import evaluate_index
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Struct, Val, is_array, is_list, is_tile, listed, named
from tilewright.tileir.diagnostics import TileError, TileSyntaxError, TileTypeError, TileValueError
from tilewright.tileir.ops.reduce import ReduceMax, ReduceMin


def assign(t: Translator, target: ast.expr, value: Val) -> None:
    """Bind an assignment target."""
    if isinstance(target, ast.Name):
        t.scope.bind(target.id, value, target)
        return
    outer, t.node = t.node, target
    try:
        _assign_other(t, target, value)
    except TileError as error:
        t.locate(error)
        raise
    finally:
        t.node = outer


def _assign_other(t: Translator, target: ast.expr, value: Val) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        unpack(t, target.elts, value)
    elif isinstance(target, ast.Subscript):
        assign_item(t, target, value)
    elif isinstance(target, ast.Attribute):
        raise TileSyntaxError("attributes cannot be assigned in a kernel",
                              hints=["make a new object: dataclasses.replace(x, field=...)"])
    else:  # a starred target, which unpack assigns, is the only other one that Python's grammar has
        raise AssertionError(type(target).__name__)


def unpack(t: Translator, targets: list[ast.expr], value: Val) -> None:
    """`a, b = value`."""
    value = listed("=", value)
    if not isinstance(value, tuple):
        raise TileTypeError(f"expected a tuple of {len(targets)} to unpack, got {named(value)}",
                            hints=_unpacking_hints(value))
    stars = [i for i, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if stars and len(value) >= len(targets) - 1:
        first, last = stars[0], len(value) - (len(targets) - 1 - stars[0])
        value = (*value[:first], ListOf(value[first:last]), *value[last:])
    if len(value) != len(targets):
        amount = "too many" if len(value) > len(targets) else "too few"
        wanted = f"{len(targets) - 1} or more" if stars else len(targets)
        raise TileValueError(f"{amount} values to unpack: expected {wanted}, got {len(value)}")
    for target, item in zip(targets, value, strict=True):
        assign(t, target.value if isinstance(target, ast.Starred) else target, item)


def _unpacking_hints(value: Val) -> list[str]:
    if is_list(value):
        return ["index the list: a = xs[0]"]
    if not is_tile(value):
        return on_number(value)
    kind = {ReduceMax: "max", ReduceMin: "min"}.get(type(value.op))
    if kind:
        return [f"ct.{kind} gives the values alone; their positions: ct.arg{kind}(t, axis)"]
    return ["a tile is one value; ct.extract takes a part of it"] if value.type.shape else []


def assign_item(t: Translator, target: ast.Subscript, value: Val) -> None:
    """`x[i] = value`: lists, dicts and dataclasses with __setitem__ have it."""
    with evaluated_once(t, target) as target:
        container = check_items(t, target)
        if not isinstance(container, Struct):
            set_item(t, target, value)
            return
        method: Any = getattr(container.type, "__setitem__")  # noqa: B009  (mypy takes the attribute for type's own)
        call_value(t, method, [container, evaluate_index(t, target.slice), value], {})


def check_items(t: Translator, target: ast.Subscript) -> Struct | ListOf | Keywords:
    """The list, dict or object whose items are assigned; TileTypeError for what has none that can be."""
    container = t.expr(target.value)
    if isinstance(container, (ListOf, Keywords)):
        return container
    if isinstance(container, Struct) and hasattr(container.type, "__setitem__"):
        return container
    hints = []
    if is_array(container):
        hints = ["store a tile: ct.store(a, index=..., tile=...), or single elements: ct.scatter(a, indices, value)"]
    elif is_tile(container):
        hints = ["tiles do not change; choose between two with ct.where(mask, x, y)"]
    elif isinstance(container, tuple):
        hints = ["tuples do not change; make a new one: t[:i] + (v,) + t[i + 1:]"]
    elif isinstance(container, Struct):
        hints = [f"give {container.type.__name__} a method __setitem__"]
    raise TileTypeError(f"items of {named(container)} cannot be assigned", t.span(target), hints=hints)


@statement(ast.Assign)
def assignment(t: Translator, node: ast.Assign) -> None:
    value = t.expr(node.value)
    for target in node.targets:
        assign(t, target, value)


@statement(ast.AnnAssign)
def annotated_assignment(t: Translator, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(t, node.target, t.expr(node.value))


@statement(ast.AugAssign)
def augmented_assignment(t: Translator, node: ast.AugAssign) -> None:
    if isinstance(node.target, ast.Subscript):
        with evaluated_once(t, node.target) as target:
            check_items(t, target)
            _augment(t, node, target, ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target))
    elif isinstance(node.target, ast.Name):
        _augment(t, node, node.target, ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    else:
        raise TileSyntaxError("only names can be assigned with += and its kind in a kernel", t.span(node.target),
                              hints=["make a new object: dataclasses.replace(x, field=...)"])


def _augment(t: Translator, node: ast.AugAssign, target: ast.expr, load: ast.expr) -> None:
    x, y = t.expr(load), t.expr(node.value)
    if isinstance(x, ListOf) and isinstance(node.op, ast.Add):  # in place: no other name may stand for the list
        more = items_of("+=", "y", 0, y)
        if isinstance(load, ast.Subscript) and isinstance(load.slice, ast.Slice):  # what a slice gives is a new list
            assign(t, target, ListOf((*x, *more)))
        else:
            change(t, load, lambda old: ListOf((*old, *more), old.made))
        return
    with t.pointing(x=load, y=node.value):
        value = apply_binary(t, type(node.op), x, y)
    assign(t, target, value)


@statement(ast.Delete)
def delete(t: Translator, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            t.expr(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            t.scope.vars[target.id] = Binding(MaybeUnbound(target), target)
        elif isinstance(target, ast.Subscript) and not isinstance(check_items(t, target), Struct):
            delete_item(t, target)
        else:
            raise TileSyntaxError("only names and items of lists and dicts can be deleted in a kernel", t.span(target))


@statement(ast.FunctionDef)
def nested_function(t: Translator, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise TileSyntaxError("decorators are not possible on a function inside a kernel",
                              t.span(node.decorator_list[0]), hints=["leave it out: kernels call plain functions"])
    t.scope.bind(node.name, make_closure(t, node), node)
