"""`[a, b]`, `{"a": b}` and comprehensions of both."""

from __future__ import annotations

import ast

from tilewright.frontend.calls.call import elements
from tilewright.frontend.dispatch import expression
from tilewright.frontend.static import comprehend
from tilewright.frontend.subscripts import key_of
from tilewright.frontend.translator import Translator
from tilewright.frontend.values import Keywords, ListOf, Val, named
from tilewright.tileir.diagnostics import TileTypeError


@expression(ast.List)
def list_(t: Translator, node: ast.List) -> Val:
    return ListOf(elements(t, node.elts))


@expression(ast.ListComp)
def list_comprehension(t: Translator, node: ast.ListComp) -> Val:
    return ListOf(comprehend(t, node.generators, lambda: t.expr(node.elt)))


@expression(ast.Dict)
def dict_(t: Translator, node: ast.Dict) -> Val:
    items: dict[Val, Val] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None:
            items[key_of(t.expr(key))] = t.expr(value)
            continue
        spread = t.expr(value)
        if not isinstance(spread, Keywords):
            raise TileTypeError(f"**: expected a dict, got {named(spread)}", t.span(value))
        items.update(spread.items)
    return Keywords(items)


@expression(ast.DictComp)
def dict_comprehension(t: Translator, node: ast.DictComp) -> Val:
    return Keywords(dict(comprehend(t, node.generators, lambda: (key_of(t.expr(node.key)), t.expr(node.value)))))
