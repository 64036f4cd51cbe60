"""Tile IR to text. `parser.py` reads back exactly what this writes; neither names an op.

    #0 = linear<128x64, register=[(0, 1)], lane=[...], warp=[...]>

    func @name(%a: array<?xf32, strides=1>, %x: f32) hints(occupancy=2) plan(warps=4) {
      decision num_warps = 4, "the reason"
      %y: f32 = mul(lhs=%x, rhs=%x)
      %z: f32 = if(cond=%c) .then {
        yield(values=(%y))
      } .orelse {
        yield(values=(%x))
      }
      return()
    }

Fields that have their default value are left out. With spans, the functions of the user's source stand above, and
each op ends with its place in one of them: line, first and last column, all from 1.

    @0 = "kernels.py" in "scale"
    @1 = "kernels.py" in "helper" from @0:12:9-17

      %y: f32 = mul(lhs=%x, rhs=%x) @1:4:12-16
"""

from __future__ import annotations

import enum
import json
import re
from typing import Any

from tilewright.tileir.core import Block, Field, Function, Op, Value
from tilewright.tileir.diagnostics import NO_SPAN, Span, TileInternalError
from tilewright.tileir.dtypes import DType
from tilewright.tileir.layout import Layout
from tilewright.tileir.plan import RECORDS, Decision, settings
from tilewright.tileir.types import ArrayType, ListType, SharedType, TileType, TupleType, Type

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_]")


def to_text(function: Function, *, spans: bool = False) -> str:
    """The whole function as text. With `spans`, each op ends with its place in the user's source."""
    return _Printer(spans).function(function)


Function.text_form = to_text


def op_text(op: Op) -> str:
    """One op (with its bodies) as text, for messages; values get the names that they would have on their own."""
    return "\n".join(_Printer(False).op(op, ""))


class _Printer:
    def __init__(self, spans: bool) -> None:
        self.spans = spans
        self.names: dict[Value, str] = {}
        self.taken: set[str] = set()
        self.numbers = 0
        self.layouts: dict[Layout, str] = {}
        self.sources: dict[tuple[str, str, Span | None], str] = {}

    def function(self, function: Function) -> str:
        params = ", ".join(self.declare(p) for p in function.params)
        records = "".join(self.record(name, getattr(function, name)) for name in RECORDS)
        at = f"{self.place(function.span).lstrip()} ".lstrip()
        head = f"func @{_NOT_IN_A_NAME.sub('_', function.name)}({params}) {records}{at}{{"
        decisions = map(self.decision, function.decisions)
        lines = [head, *decisions, *self.block_lines(function.body, "  "), "}"]
        header = [f"{alias} = {layout}" for layout, alias in self.layouts.items()]
        header += [f"{alias} = {self.source_text(*source)}" for source, alias in self.sources.items()]
        return "\n".join([*header, ""] * bool(header) + lines) + "\n"

    def record(self, name: str, record: Any) -> str:
        given = ", ".join(f"{field}={self.attribute(value)}" for field, value in settings(record).items())
        return f"{name}({given}) " if given else ""

    def decision(self, decision: Decision) -> str:
        reason = f", {json.dumps(decision.reason)}" if decision.reason else ""
        return f"  decision {decision.name} = {self.attribute(decision.value)}{reason}" + self.place(decision.span)

    def place(self, span: Span) -> str:
        """Where the op stands in the user's source, behind a space; nothing where that is not asked for or known."""
        if not self.spans or span is NO_SPAN:
            return ""
        last = f"{span.end_line}:" if span.end_line not in (0, span.line) else ""
        return f" {self.source(span)}:{span.line}:{span.col + 1}-{last}{span.end_col}"

    def source(self, span: Span) -> str:
        """The alias of the function that a place is in; that of its caller comes before it."""
        if span.call_site is not None:
            self.source(span.call_site)
        return self.sources.setdefault((span.file, span.function, span.call_site), f"@{len(self.sources)}")

    def source_text(self, file: str, function: str, call_site: Span | None) -> str:
        inside = f" in {json.dumps(function)}" if function else ""
        return json.dumps(file) + inside + (f" from{self.place(call_site)}" if call_site is not None else "")

    def block_lines(self, block: Block, indent: str) -> list[str]:
        return [line for op in block.ops for line in self.op(op, indent)]

    def op(self, op: Op, indent: str) -> list[str]:
        results = ", ".join(self.declare(r) for r in op.results)
        args = [f"{n}={self.field(f, getattr(op, n))}" for n, f in op.fields.items() if self.is_shown(op, n, f)]
        text = f"{indent}{results}{' = ' if results else ''}{op.opcode}({', '.join(args)})"
        at = self.place(op.span)
        lines: list[str] = []
        for name, field in op.fields.items():
            if field.kind != "body":
                continue
            block: Block = getattr(op, name)
            params = f"({', '.join(self.declare(p) for p in block.params)})" if block.params else ""
            lines += [f"{text}{at} .{name}{params} {{", *self.block_lines(block, indent + "  ")]
            text, at = indent + "}", ""
        return [*lines, text + at]

    def is_shown(self, op: Op, name: str, field: Field) -> bool:
        if field.kind == "body":
            return False
        return field.required or self.field(field, getattr(op, name)) != self.field(field, field.default)

    def field(self, field: Field, value: Any) -> str:
        if field.kind == "operands":
            return f"({', '.join(map(self.name, value))})"
        return self.name(value) if isinstance(value, Value) else self.attribute(value)

    def declare(self, value: Value) -> str:
        return f"{self.name(value)}: {self.type(value.type)}"

    def name(self, value: Value) -> str:
        known = self.names.get(value)
        if known is not None:
            return known
        name = _NOT_IN_A_NAME.sub("_", value.hint)
        if not name or name[0].isdigit():
            name = str(self.numbers)
            self.numbers += 1
        elif name in self.taken:
            name = self.unique(name)
        self.taken.add(name)
        self.names[value] = "%" + name
        return self.names[value]

    def unique(self, name: str) -> str:
        count = 1
        while f"{name}_{count}" in self.taken:
            count += 1
        return f"{name}_{count}"

    def type(self, type_: Type) -> str:
        match type_:
            case TileType(layout=Layout() as layout):
                return f"tile<{element_text(type_)}, {self.layout(layout)}>"
            case SharedType(layout=Layout() as layout):
                return f"{str(type_)[:-1]}, {self.layout(layout)}>"
            case _:
                return str(type_)

    def layout(self, layout: Layout) -> str:
        return self.layouts.setdefault(layout, f"#{len(self.layouts)}")

    def attribute(self, value: Any) -> str:
        match value:
            case None:
                return "none"
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case float():
                return float_text(value)
            case str():
                return json.dumps(value)
            case enum.Enum():
                return json.dumps(value.value)
            case DType():
                return value.ir
            case Layout():
                return self.layout(value)
            # A bare f32 is the dtype; the type of a scalar is written out, so that the two differ.
            case TileType(shape=(), layout=None):
                return f"tile<{value.dtype.ir}>"
            case TileType() | SharedType() | ArrayType() | ListType() | TupleType():
                return self.type(value)
            case tuple() | list():
                return f"({', '.join(map(self.attribute, value))})"
            case _:
                raise TileInternalError(f"an attribute of type {type(value).__name__} has no text form: {value!r}")


def element_text(type_: TileType) -> str:
    """Shape and dtype of a tile type, as between its angle brackets."""
    return "x".join([*map(str, type_.shape), type_.dtype.ir])


def float_text(value: float) -> str:
    """A float as hexadecimal, exact; inf, -inf or nan (sign and payload of a NaN have no meaning)."""
    if value != value:
        return "nan"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    mantissa, exponent = value.hex().split("p")
    return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}p{exponent}"
