"""Append ops to the current block, each with the current span."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, at
from tilewright.tileir.dtypes import DType, int32
from tilewright.tileir.ops.arith import Constant
from tilewright.tileir.ops.convert import Cast
from tilewright.tileir.types import TileType, Type

OpT = TypeVar("OpT", bound=Op)


class Builder:
    """Where the next op goes, and which source it stands for.

        with builder.at(span):
            total = builder.emit(Add(lhs=x, rhs=y)).result
        with builder.into([TileType(int32)]) as body:      # a new block, with parameters
            ...
            builder.emit(Yield(values=(v,)))
        builder.emit(For(..., loop=body))
    """

    def __init__(self, block: Block, span: Span = NO_SPAN) -> None:
        self.block = block
        self.span = span

    def emit(self, op: OpT, hint: str = "") -> OpT:
        """Append the op; without a span of its own it takes the current one. `hint` names its results."""
        if op.span is NO_SPAN:
            op.span = self.span
        if hint:
            for result in op.results:
                result.hint = hint
        self.block.ops.append(op)
        return op

    def extend(self, ops: Iterable[Op]) -> None:
        """Append several ops."""
        for op in ops:
            self.emit(op)

    def value(self, op: Op, hint: str = "") -> Value:
        """Append an op of one result and return that."""
        return self.emit(op, hint).result

    def number(self, value: bool | int | float, dtype: DType = int32) -> Value:
        """A scalar constant."""
        return self.value(Constant(value=value, type=TileType(dtype)))

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value as another dtype, itself if it has that one."""
        return value if value.type.dtype is dtype else self.value(Cast(src=value, dtype=dtype))

    @contextlib.contextmanager
    def at(self, span: Span) -> Iterator[None]:
        """Ops and errors made inside get this span."""
        outer, self.span = self.span, span
        try:
            with at(span):
                yield
        finally:
            self.span = outer

    @contextlib.contextmanager
    def into(self, params: Sequence[Type] = (), hints: Sequence[str] = ()) -> Iterator[Block]:
        """A new block that ops made inside go to; the caller gives it to the op that owns it."""
        names = [*hints, *[""] * (len(params) - len(hints))]
        block = Block([Value(type_, hint) for type_, hint in zip(params, names, strict=True)])
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer


class Constants:
    """Integer constants, each built once, at the start of the function."""

    def __init__(self, function: Function) -> None:
        self.top = Builder(Block(), function.span)
        self.made: dict[tuple[int, DType], Value] = {}

    def __call__(self, value: int, dtype: DType = int32) -> Value:
        key = (value, dtype)
        if key not in self.made:
            self.made[key] = self.top.number(value, dtype)
        return self.made[key]
