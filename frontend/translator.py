"""The state of one translation: where ops go, whose variables are visible, which node is being translated."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tilewright.frontend.dispatch import EXPRESSIONS, STATEMENTS
from tilewright.frontend.math_modes import DEFAULT, options
from tilewright.frontend.scopes import Scope
from tilewright.frontend.unsupported import refuse
from tilewright.frontend.values import Iterated, Val
from tilewright.tileir.core import Block, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileError, TileInternalError, TileValueError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.types import LARGEST_TILE, TileType


class Translator:
    """Walks statements and expressions of a kernel and of the helpers that it calls."""

    def __init__(
        self, scope: Scope, body: Block, on_statement: Callable[[Translator, ast.stmt], None] = lambda t, node: None
    ) -> None:
        self.on_statement = on_statement
        self.scope = scope
        self.node: ast.AST = scope.source.node
        self.block = body
        self.statement_block = body  # where the ops of the present statement go that it runs in any case
        self.entered: set[Scope] = set()  # activations of context managers
        self.combining = ""  # "reduce" or "scan" while its function is translated
        self.math = DEFAULT
        self.held: list[Val] = []  # what expressions of the present statement have given to those around them
        self.frame = 0  # what the innermost expression itself holds begins here
        self.iterated: list[Iterated] = []  # the loops around the present place that go over items
        self.changes: list[frozenset[int]] = []  # which lists and dicts have changed

    # -- Walking ---------------------------------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> Val:
        """The value of an expression."""
        handler = EXPRESSIONS.get(type(node))
        outer, self.node = self.node, node
        frame, self.frame = self.frame, len(self.held)
        try:
            if handler is None:
                raise refuse(node)
            value = handler(self, node)
        except TileError as error:
            self.locate(error)
            raise
        except RecursionError:
            raise
        except Exception as error:
            raise self._internal(error) from error
        finally:
            self.node = outer
            del self.held[self.frame:]
            self.frame = frame
        if not isinstance(value, Value):
            self.held.append(value)
        return value

    def statement(self, node: ast.stmt) -> None:
        """Translate one statement."""
        handler = STATEMENTS.get(type(node))
        outer, self.node = self.node, node
        held, self.held = self.held, []
        frame, self.frame = self.frame, 0
        try:
            if handler is None:
                raise refuse(node)
            handler(self, node)
        except TileError as error:
            self.locate(error)
            raise
        finally:
            self.node = outer
            self.held, self.frame = held, frame

    def locate(self, error: TileError) -> None:
        """Give an error without a place the present one."""
        if error.span is NO_SPAN:
            error.span = self.span()

    def span(self, node: ast.AST | None = None) -> Span:
        """The place of a node (default: the present one) in the present function."""
        return self.scope.span(node or self.node)

    def pointing(self, **nodes: ast.expr) -> Pointing:
        """Place errors about an argument at the node that stands for it here: the operands of an operator."""
        return Pointing(self, nodes)

    def _internal(self, error: Exception) -> TileInternalError:
        return TileInternalError(f"the frontend failed here: {type(error).__name__}: {error}", self.span())

    # -- Emitting --------------------------------------------------------------------------------------------------

    def emit(self, kind: type[Op], /, **fields: Any) -> Value:
        """Append an op with one result at the present place; its result."""
        return self.emit_op(kind, **fields).results[0]

    def emit_op(self, kind: type[Op], /, **fields: Any) -> Op:
        """Append an op at the present place."""
        if self.math != DEFAULT:
            fields = options(self.math, kind, fields)
        op = kind(span=self.scope.span(self.node), **fields)
        for result in op.results:
            _check_size(result)
        self.block.ops.append(op)
        return op

    def constant(self, value: bool | int | float, dtype: DType, shape: Sequence[int] = ()) -> Value:
        """A constant tile; `value` already has the range and precision of `dtype`."""
        return self.emit(Constant, value=value, type=TileType(dtype, tuple(shape)))

    @contextlib.contextmanager
    def inside(self, block: Block) -> Iterator[Block]:
        """Emit into another block for a while."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer


class Pointing:
    """What `Translator.pointing` gives: a class, as there is one for every operator."""

    __slots__ = ("t", "nodes")

    def __init__(self, t: Translator, nodes: dict[str, ast.expr]) -> None:
        self.t, self.nodes = t, nodes

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TileError) and error.span is NO_SPAN:
            node = self.nodes.get(error.subject.argument)
            if node is not None:
                error.span = self.t.span(node)


def _check_size(value: Value) -> None:
    if isinstance(value.type, TileType) and value.type.size > LARGEST_TILE:
        raise TileValueError(f"a tile of shape {value.type.shape} has more than {LARGEST_TILE} elements",
                             hints=["load smaller tiles and let a loop or more blocks do the rest"])
