"""Parse an instruction of the subset of LLVM's text form that the backend prints. Errors name the line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tilewright.backend_ptx.simulator.text.ir import (
    Const,
    LlvmInstruction,
    Operand,
)
from tilewright.backend_ptx.simulator.text.line import BINARY, CASTS, Line, unquote
from tilewright.backend_ptx.simulator.text.types import I1, VOID, Array, Ptr, Struct, Type, VectorType

_ORDERINGS = frozenset("unordered monotonic acquire release acq_rel seq_cst".split())


# ---- instructions: one function per form, each returns the instruction without result, line and text ----


def _binary(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    t = c.type()
    a = c.value(t)
    c.expect(",")
    return LlvmInstruction(op, t, [a, c.value(t)])


def _compare(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    predicate = c.next()
    t = c.type()
    a = c.value(t)
    c.expect(",")
    result = VectorType(t.count, I1) if isinstance(t, VectorType) else I1
    return LlvmInstruction(op, result, [a, c.value(t)], extra={"predicate": predicate})


def _cast(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    a = c.typed()
    c.expect("to")
    return LlvmInstruction(op, c.type(), [a])


def _unary(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    a = c.typed()
    return LlvmInstruction(op, a.type, [a])


def _list(c: Line, count: int) -> list[Operand]:
    operands = [c.typed()]
    for _ in range(count - 1):
        c.expect(",")
        operands.append(c.typed())
    return operands


def _select(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    operands = _list(c, 3)
    return LlvmInstruction(op, operands[1].type, operands)


def _extractelement(c: Line, op: str) -> LlvmInstruction:
    operands = _list(c, 2)
    vector = operands[0].type
    assert isinstance(vector, VectorType)
    return LlvmInstruction(op, vector.elem, operands)


def _insertelement(c: Line, op: str) -> LlvmInstruction:
    operands = _list(c, 3)
    return LlvmInstruction(op, operands[0].type, operands)


def _shufflevector(c: Line, op: str) -> LlvmInstruction:
    operands = _list(c, 3)
    vector, mask = operands[0].type, operands[2].type
    assert isinstance(vector, VectorType) and isinstance(mask, VectorType)
    return LlvmInstruction(op, VectorType(mask.count, vector.elem), operands)


def _indices(c: Line) -> list[int]:
    found = []
    while c.peek() == "," and c.peek(1).isdigit():
        c.next()
        found.append(c.integer())
    return found


def _extractvalue(c: Line, op: str) -> LlvmInstruction:
    aggregate = c.typed()
    indices = _indices(c)
    t = aggregate.type
    for i in indices:
        assert isinstance(t, Struct | Array)
        t = t.elems[i] if isinstance(t, Struct) else t.elem
    return LlvmInstruction(op, t, [aggregate], extra={"indices": indices})


def _insertvalue(c: Line, op: str) -> LlvmInstruction:
    operands = _list(c, 2)
    return LlvmInstruction(op, operands[0].type, operands, extra={"indices": _indices(c)})


def _phi(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    t = c.type()
    operands, labels = [], []
    while c.accept("["):
        operands.append(c.value(t))
        c.expect(",")
        labels.append(unquote(c.next()[1:]))
        c.expect("]")
        c.accept(",")
    return LlvmInstruction(op, t, operands, extra={"labels": labels})


def _br(c: Line, op: str) -> LlvmInstruction:
    if c.peek() == "label":
        return LlvmInstruction(op, VOID, [], extra={"labels": [c.label()]})
    condition = c.typed()
    labels = []
    for _ in range(2):
        c.expect(",")
        labels.append(c.label())
    return LlvmInstruction(op, VOID, [condition], extra={"labels": labels})


def _switch(c: Line, op: str) -> LlvmInstruction:
    value = c.typed()
    c.expect(",")
    labels = [c.label()]
    cases = []
    c.expect("[")
    while not c.accept("]"):
        case = c.typed()
        assert isinstance(case, Const)
        c.expect(",")
        cases.append(case.bits)
        labels.append(c.label())
    return LlvmInstruction(op, VOID, [value], extra={"labels": labels, "cases": cases})


def _ret(c: Line, op: str) -> LlvmInstruction:
    return LlvmInstruction(op, VOID, [] if c.accept("void") else [c.typed()], extra={"labels": []})


def _unreachable(c: Line, op: str) -> LlvmInstruction:
    return LlvmInstruction(op, VOID, [], extra={"labels": []})


def _getelementptr(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    source = c.type()
    c.expect(",")
    operands = [c.typed()]
    while c.peek() == "," and not c.peek(1).startswith("!"):
        c.next()
        operands.append(c.typed())
    pointer: Type = operands[0].type
    lanes = [o.type.count for o in operands if isinstance(o.type, VectorType)]
    if lanes and not isinstance(pointer, VectorType):
        pointer = VectorType(lanes[0], pointer)
    return LlvmInstruction(op, pointer, operands, extra={"source": source})


def _access_tail(c: Line) -> dict[str, object]:
    """`syncscope(..)`, orderings, `, align N`, metadata."""
    orderings: list[str] = []
    extra: dict[str, object] = {"align": None, "orderings": orderings, "invariant": False}
    while c.peek():
        token = c.next()
        if token in _ORDERINGS:
            orderings.append(token)
        elif token == "syncscope":
            c.skip_parens()
        elif token == "align":
            extra["align"] = c.integer()
        elif token == "!invariant.load":
            extra["invariant"] = True
    return extra


def _load(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    t = c.type()
    c.expect(",")
    return LlvmInstruction(op, t, [c.typed()], extra=_access_tail(c))


def _store(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    return LlvmInstruction(op, VOID, _list(c, 2), extra=_access_tail(c))


def _alloca(c: Line, op: str) -> LlvmInstruction:
    source = c.type()
    count, space, align = 1, 0, 1
    while c.accept(","):
        if c.accept("align"):
            align = c.integer()
        elif c.peek() == "addrspace":
            space = c.space()
        else:
            number = c.typed()
            assert isinstance(number, Const) and isinstance(number.bits, int)
            count = number.bits
    return LlvmInstruction(op, Ptr(space), [], extra={"source": source, "count": count, "align": align})


def _atomicrmw(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    kind = c.next()
    operands = _list(c, 2)
    return LlvmInstruction(op, operands[1].type, operands, extra={"operation": kind, **_access_tail(c)})


def _cmpxchg(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    operands = _list(c, 3)
    return LlvmInstruction(op, Struct((operands[1].type, I1)), operands, extra=_access_tail(c))


def _fence(c: Line, op: str) -> LlvmInstruction:
    return LlvmInstruction(op, VOID, [], extra=_access_tail(c))


def _arguments(c: Line) -> list[Operand]:
    c.expect("(")
    operands: list[Operand] = []
    while not c.accept(")"):
        t = c.type()
        while not _starts_value(c.peek()):  # parameter attributes
            c.next()
            c.skip_parens()
            if c.peek().isdigit() and c.tokens[c.at - 1] == "align":
                c.next()
        operands.append(c.value(t))
        c.accept(",")
    return operands


def _starts_value(token: str) -> bool:
    return token[0] in "%@<[{-" or token[0].isdigit() or token in CASTS or token in BINARY or token in (
        "true", "false", "null", "undef", "poison", "zeroinitializer", "splat", "getelementptr", "none", "nan", "inf",
    )


def _call(c: Line, op: str) -> LlvmInstruction:
    c.skip_flags()
    while not c.starts_type():  # calling convention and attributes of the result
        c.next()
        c.skip_parens()
    t = c.type()
    if c.accept("asm"):
        while c.peek() in ("sideeffect", "alignstack", "inteldialect", "unwind"):
            c.next()
        text = re.sub(r"\\([0-9A-Fa-f]{2})", lambda m: chr(int(m[1], 16)), c.next()[1:-1])
        c.expect(",")
        constraints = c.next()[1:-1]
        return LlvmInstruction("asm", t, _arguments(c), extra={"asm": text, "constraints": constraints})
    callee = c.next()
    if callee[0] != "@":
        raise c.fail("only direct calls are known")
    return LlvmInstruction(op, t, _arguments(c), extra={"callee": unquote(callee[1:])})


_FORMS: dict[str, Callable[[Line, str], LlvmInstruction]] = {
    **dict.fromkeys(BINARY, _binary), **dict.fromkeys(CASTS, _cast), "icmp": _compare, "fcmp": _compare,
    "fneg": _unary, "freeze": _unary, "select": _select, "extractelement": _extractelement,
    "insertelement": _insertelement, "shufflevector": _shufflevector, "extractvalue": _extractvalue,
    "insertvalue": _insertvalue, "phi": _phi, "br": _br, "switch": _switch, "ret": _ret,
    "unreachable": _unreachable, "getelementptr": _getelementptr, "load": _load, "store": _store,
    "alloca": _alloca, "atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg, "fence": _fence, "call": _call,
}
TERMINATORS = frozenset(("br", "switch", "ret", "unreachable"))


def parse_instruction(text: str, number: int, types: Mapping[str, Type]) -> LlvmInstruction:
    """One instruction; `number` is its line, `types` are the module's named types."""
    c = Line(text, number, types)
    result = None
    if c.peek().startswith("%") and c.peek(1) == "=":
        result = unquote(c.next()[1:])
        c.next()
    while c.peek() in ("tail", "musttail", "notail"):
        c.next()
    opcode = c.next()
    form = _FORMS.get(opcode)
    if form is None:
        raise c.fail(f"unknown instruction {opcode!r}")
    found = form(c, opcode)
    found.result, found.line, found.text = result, number, text.strip()
    return found
