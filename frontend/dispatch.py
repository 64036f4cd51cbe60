"""The tables from AST node classes to their handlers."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

EXPRESSIONS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {}
STATEMENTS: dict[type[ast.AST], Callable[[Any, Any], None]] = {}

Handler = Callable[[Any, Any], Any]


def expression(*kinds: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Register `handler(translator, node) -> frontend value` for expression nodes."""

    def register(handler: Handler) -> Handler:
        EXPRESSIONS.update(dict.fromkeys(kinds, handler))
        return handler

    return register


def statement(*kinds: type[ast.AST]) -> Callable[[Handler], Handler]:
    """Register `handler(translator, node) -> None` for statement nodes."""

    def register(handler: Handler) -> Handler:
        STATEMENTS.update(dict.fromkeys(kinds, handler))
        return handler

    return register
