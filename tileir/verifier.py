"""Check that a function is well formed: scopes, types, terminators, fields. A failure is a defect of Tilewright."""

from __future__ import annotations

from typing import Any

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileError, TileInternalError
from tilewright.tileir.printer import op_text
from tilewright.tileir.wellformed import aliases_complaint, attribute_complaint, type_complaint


def verify(function: Function) -> None:
    """Raise TileInternalError, naming the op and what is wrong with it, unless the function is well formed."""
    _Verifier().function(function)


class _Verifier:
    def __init__(self) -> None:
        self.seen: set[int] = set()  # ops and blocks, each of which may stand in one place only
        self.scope: set[Value] = set()

    def function(self, function: Function) -> None:
        if not function.body.ops or function.body.terminator.opcode != "return":
            raise TileInternalError(f"function {function.name} does not end with return()", function.span)
        if wrong := aliases_complaint(function):
            raise TileInternalError(f"aliases: {wrong}", function.span)
        self.block(function.body, None)

    def block(self, block: Block, parent: Op | None) -> None:
        if id(block) in self.seen:
            _fail(parent, "a body is shared with another op")
        self.seen.add(id(block))
        if not block.ops:
            _fail(parent, "a body is empty")
        outside = set(self.scope)
        for param in block.params:
            self.define(param, block, parent)
        for op in block.ops:
            if op.terminator != (op is block.ops[-1]):
                _fail(op, "an op follows the terminator" if op.terminator else "the last op of a body is no terminator")
            self.op(op)
        self.scope = outside

    def define(self, value: Value, owner: Op | Block, op: Op | None) -> None:
        if value.owner is not owner:
            _fail(op, f"{value!r} does not know that it is defined here")
        if value in self.scope:
            _fail(op, f"{value!r} is defined twice")
        complaint = type_complaint(value.type)
        if complaint:
            _fail(op, complaint)
        self.scope.add(value)

    def op(self, op: Op) -> None:
        if id(op) in self.seen:
            _fail(op, "the op stands in two places")
        self.seen.add(id(op))
        for name, field in op.fields.items():
            self.field(op, name, field.kind, getattr(op, name))
        for block in op.blocks:
            self.block(block, op)
        self.types(op)
        for result in op.results:
            self.define(result, op, op)

    def field(self, op: Op, name: str, kind: str, value: Any) -> None:
        if kind == "attribute":
            complaint = attribute_complaint(type(op), name, value)
            if complaint:
                _fail(op, f"field {name} is {value!r}: {complaint}")
        elif kind == "body":
            if not isinstance(value, Block):
                _fail(op, f"field {name} is no body")
        elif kind == "operands":
            if not isinstance(value, tuple):
                _fail(op, f"field {name} is no tuple")
            for item in value:
                self.operand(op, name, item)
        elif kind == "operand" or value is not None:
            self.operand(op, name, value)

    def operand(self, op: Op, name: str, value: Any) -> None:
        if not isinstance(value, Value):
            _fail(op, f"field {name} holds {value!r}, which is no value")
        if value not in self.scope:
            _fail(op, f"field {name} uses {value!r}, which is not defined before this place, or not in scope here")

    def types(self, op: Op) -> None:
        try:
            inferred = op.infer()
        except TileError as error:
            _fail(op, error.message)
        except Exception as error:  # a rule that reads fields which it ought not to have
            _fail(op, f"the type rule failed: {error!r}")
        have = [result.type.erased() for result in op.results]
        want = [type_.erased() for type_ in inferred]
        if have != want:
            shown = ", ".join(map(str, have)), ", ".join(map(str, want))
            _fail(op, f"the results have the types ({shown[0]}), its rule gives ({shown[1]})")


def _fail(op: Op | None, what: str) -> Any:
    if op is None:
        raise TileInternalError(f"the function is malformed: {what}")
    try:
        text = op_text(op)
    except Exception:  # the op is malformed, so its text form may be, too
        text = repr(op)
    raise TileInternalError(f"{op.opcode} is malformed: {what}", op.span, notes=[text.splitlines()[0]])
