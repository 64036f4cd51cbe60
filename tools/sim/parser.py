"""Parse the subset of LLVM's text form that the backend prints. Errors name the line."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from types import MappingProxyType

from sim.ir import (
    Bits,
    Block,
    Const,
    ConstExpr,
    Function,
    Global,
    GlobalVariable,
    Instruction,
    Local,
    Module,
    Operand,
)
from sim.irtypes import FLOAT_BITS, I1, VOID, Array, Float, Int, Ptr, Struct, Type, Vec

_TOKEN = re.compile(
    r'"[^"]*"|[%@](?:"[^"]*"|[-\w$.]+)|-?\d+\.\d+e[+-]\d+|!?[-\w$.]+|\.\.\.|[=,*(){}\[\]<>!#]'
)
_LABEL = re.compile(r'^("[^"]*"|[-\w$.]+):')
_FLAGS = frozenset(
    "nuw nsw exact disjoint nneg fast nnan ninf nsz arcp contract afn reassoc samesign inbounds nusw volatile "
    "tail musttail notail atomic weak".split()
)
_BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
_CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast".split()
)
_ORDERINGS = frozenset("unordered monotonic acquire release acq_rel seq_cst".split())
_LINKAGE = frozenset(
    "internal private external global constant unnamed_addr local_unnamed_addr weak linkonce dso_local hidden".split()
)


class ParseError(Exception):
    """The text is outside the subset, or is not LLVM IR."""


class _Line:
    """A cursor over the tokens of one instruction. `types` are the module's named types."""

    def __init__(self, text: str, number: int, types: Mapping[str, Type] = MappingProxyType({})) -> None:
        self.text, self.number, self.types = text, number, types
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def fail(self, message: str) -> ParseError:
        return ParseError(f"line {self.number}: {message}: {self.text.strip()}")

    def peek(self, ahead: int = 0) -> str:
        where = self.at + ahead
        return self.tokens[where] if where < len(self.tokens) else ""

    def next(self) -> str:
        if self.at >= len(self.tokens):
            raise self.fail("the line ends too early")
        self.at += 1
        return str(self.tokens[self.at - 1])

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.at += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(f"expected {token!r}, found {self.peek()!r}")

    def skip_flags(self) -> list[str]:
        found = []
        while self.peek() in _FLAGS:
            found.append(self.next())
        return found

    def integer(self) -> int:
        return int(self.next())

    def skip_parens(self) -> None:
        """Skip a balanced (...) if one starts here."""
        depth = 0
        while self.peek() == "(" or depth:
            token = self.next()
            depth += (token == "(") - (token == ")")

    # ---- types ----

    def type(self) -> Type:
        token = self.next()
        if token == "void":
            return VOID
        if token in FLOAT_BITS:
            return Float(token)
        if token == "ptr":
            return Ptr(self._space())
        if token[0] == "i" and token[1:].isdigit():
            return Int(int(token[1:]))
        if token in "<[":
            count = self.integer()
            self.expect("x")
            elem = self.type()
            self.expect(">" if token == "<" else "]")
            return Vec(count, elem) if token == "<" else Array(count, elem)
        if token == "{":
            elems = [] if self.peek() == "}" else [self.type()]
            while self.accept(","):
                elems.append(self.type())
            self.expect("}")
            return Struct(tuple(elems))
        if token in self.types:
            return self.types[token]
        raise self.fail(f"unknown type {token!r}")

    def _space(self) -> int:
        if not self.accept("addrspace"):
            return 0
        self.expect("(")
        space = self.integer()
        self.expect(")")
        return space

    def starts_type(self) -> bool:
        t = self.peek()
        return t in ("void", "ptr", "<", "[", "{", *FLOAT_BITS) or t in self.types or t[:1] == "i" and t[1:].isdigit()

    # ---- values ----

    def typed(self) -> Operand:
        return self.value(self.type())

    def value(self, t: Type) -> Operand:
        token = self.peek()
        if token[0] == "%":
            return Local(t, _unquote(self.next()[1:]))
        if token[0] == "@":
            return Global(t, _unquote(self.next()[1:]))
        if token == "getelementptr" or token in _CASTS or token in _BINARY:
            return ConstExpr(t, self._expression(self.next()))
        return Const(t, self.constant(t))

    def _expression(self, opcode: str) -> Instruction:
        self.skip_flags()
        self.expect("(")
        if opcode == "getelementptr":
            source = self.type()
            self.expect(",")
            operands = [self.typed()]
            while self.accept(","):
                operands.append(self.typed())
            self.expect(")")
            return Instruction(opcode, operands[0].type, operands, extra={"source": source})
        operand = self.typed()
        if self.accept(","):
            operands = [operand, self.typed()]
            self.expect(")")
            return Instruction(opcode, operand.type, operands)
        self.expect("to")
        to = self.type()
        self.expect(")")
        return Instruction(opcode, to, [operand])

    def constant(self, t: Type) -> Bits:
        token = self.next()
        if token in ("undef", "poison"):
            return None
        if token in ("zeroinitializer", "null", "none"):
            return _zero(t)
        if token == "splat":
            assert isinstance(t, Vec)
            self.expect("(")
            one = self.constant(self.type())
            self.expect(")")
            return (one,) * t.count
        if token == "c" and isinstance(t, Array):
            return _characters(self.next())
        if token in "<[{":
            return self._members(token)
        if t == I1 and token in ("true", "false"):
            return int(token == "true")
        if isinstance(t, Float):
            return _float_bits(token, t.kind)
        if isinstance(t, Int):
            return int(token) & ((1 << t.bits) - 1)
        raise self.fail(f"no constant of type {t}: {token!r}")

    def _members(self, opening: str) -> Bits:
        closing = {"<": ">", "[": "]", "{": "}"}[opening]
        members: list[Bits] = []
        while not self.accept(closing):
            members.append(self.constant(self.type()))
            self.accept(",")
        return tuple(members)

    def label(self) -> str:
        self.expect("label")
        return _unquote(self.next()[1:])


def _unquote(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


def _characters(quoted: str) -> Bits:
    """The bytes of "text\\00"."""
    return tuple(int(m[1:], 16) if len(m) == 3 else ord(m) for m in re.findall(r"\\[0-9A-Fa-f]{2}|.", quoted[1:-1]))


def _zero(t: Type) -> Bits:
    if isinstance(t, Vec | Array):
        return (_zero(t.elem),) * t.count
    if isinstance(t, Struct):
        return tuple(map(_zero, t.elems))
    return 0


def _float_bits(token: str, kind: str) -> int:
    """The bits of a float constant in the format `kind`; LLVM spells a float as the double that it equals."""
    if token.startswith(("0xH", "0xR")):
        return int(token[3:], 16)
    if token.startswith("0x"):
        bits = int(token[2:], 16)
        value = struct.unpack("<d", struct.pack("<Q", bits))[0]
        if kind == "double":
            return bits
    else:
        value = float(token)
        if kind == "double":
            return int(struct.unpack("<Q", struct.pack("<d", value))[0])
    if kind == "float":
        return int(struct.unpack("<I", struct.pack("<f", value))[0])
    if kind == "half":
        return int(struct.unpack("<H", struct.pack("<e", value))[0])
    return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> 16


# ---- instructions: one function per form, each returns the instruction without result, line and text ----


def _binary(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    t = c.type()
    a = c.value(t)
    c.expect(",")
    return Instruction(op, t, [a, c.value(t)])


def _compare(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    predicate = c.next()
    t = c.type()
    a = c.value(t)
    c.expect(",")
    result = Vec(t.count, I1) if isinstance(t, Vec) else I1
    return Instruction(op, result, [a, c.value(t)], extra={"predicate": predicate})


def _cast(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    a = c.typed()
    c.expect("to")
    return Instruction(op, c.type(), [a])


def _unary(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    a = c.typed()
    return Instruction(op, a.type, [a])


def _list(c: _Line, count: int) -> list[Operand]:
    operands = [c.typed()]
    for _ in range(count - 1):
        c.expect(",")
        operands.append(c.typed())
    return operands


def _select(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    operands = _list(c, 3)
    return Instruction(op, operands[1].type, operands)


def _extractelement(c: _Line, op: str) -> Instruction:
    operands = _list(c, 2)
    vector = operands[0].type
    assert isinstance(vector, Vec)
    return Instruction(op, vector.elem, operands)


def _insertelement(c: _Line, op: str) -> Instruction:
    operands = _list(c, 3)
    return Instruction(op, operands[0].type, operands)


def _shufflevector(c: _Line, op: str) -> Instruction:
    operands = _list(c, 3)
    vector, mask = operands[0].type, operands[2].type
    assert isinstance(vector, Vec) and isinstance(mask, Vec)
    return Instruction(op, Vec(mask.count, vector.elem), operands)


def _indices(c: _Line) -> list[int]:
    found = []
    while c.peek() == "," and c.peek(1).isdigit():
        c.next()
        found.append(c.integer())
    return found


def _extractvalue(c: _Line, op: str) -> Instruction:
    aggregate = c.typed()
    indices = _indices(c)
    t = aggregate.type
    for i in indices:
        assert isinstance(t, Struct | Array)
        t = t.elems[i] if isinstance(t, Struct) else t.elem
    return Instruction(op, t, [aggregate], extra={"indices": indices})


def _insertvalue(c: _Line, op: str) -> Instruction:
    operands = _list(c, 2)
    return Instruction(op, operands[0].type, operands, extra={"indices": _indices(c)})


def _phi(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    t = c.type()
    operands, labels = [], []
    while c.accept("["):
        operands.append(c.value(t))
        c.expect(",")
        labels.append(_unquote(c.next()[1:]))
        c.expect("]")
        c.accept(",")
    return Instruction(op, t, operands, extra={"labels": labels})


def _br(c: _Line, op: str) -> Instruction:
    if c.peek() == "label":
        return Instruction(op, VOID, [], extra={"labels": [c.label()]})
    condition = c.typed()
    labels = []
    for _ in range(2):
        c.expect(",")
        labels.append(c.label())
    return Instruction(op, VOID, [condition], extra={"labels": labels})


def _switch(c: _Line, op: str) -> Instruction:
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
    return Instruction(op, VOID, [value], extra={"labels": labels, "cases": cases})


def _ret(c: _Line, op: str) -> Instruction:
    return Instruction(op, VOID, [] if c.accept("void") else [c.typed()], extra={"labels": []})


def _unreachable(c: _Line, op: str) -> Instruction:
    return Instruction(op, VOID, [], extra={"labels": []})


def _getelementptr(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    source = c.type()
    c.expect(",")
    operands = [c.typed()]
    while c.peek() == "," and not c.peek(1).startswith("!"):
        c.next()
        operands.append(c.typed())
    pointer: Type = operands[0].type
    lanes = [o.type.count for o in operands if isinstance(o.type, Vec)]
    if lanes and not isinstance(pointer, Vec):
        pointer = Vec(lanes[0], pointer)
    return Instruction(op, pointer, operands, extra={"source": source})


def _access_tail(c: _Line) -> dict[str, object]:
    """`syncscope(..)`, orderings, `, align N`, metadata."""
    extra: dict[str, object] = {"align": None, "orderings": [], "invariant": False}
    while c.peek():
        token = c.next()
        if token in _ORDERINGS:
            extra["orderings"].append(token)  # type: ignore[attr-defined]
        elif token == "syncscope":
            c.skip_parens()
        elif token == "align":
            extra["align"] = c.integer()
        elif token == "!invariant.load":
            extra["invariant"] = True
    return extra


def _load(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    t = c.type()
    c.expect(",")
    return Instruction(op, t, [c.typed()], extra=_access_tail(c))


def _store(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    return Instruction(op, VOID, _list(c, 2), extra=_access_tail(c))


def _alloca(c: _Line, op: str) -> Instruction:
    source = c.type()
    count, space, align = 1, 0, 1
    while c.accept(","):
        if c.accept("align"):
            align = c.integer()
        elif c.peek() == "addrspace":
            space = c._space()
        else:
            number = c.typed()
            assert isinstance(number, Const) and isinstance(number.bits, int)
            count = number.bits
    return Instruction(op, Ptr(space), [], extra={"source": source, "count": count, "align": align})


def _atomicrmw(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    kind = c.next()
    operands = _list(c, 2)
    return Instruction(op, operands[1].type, operands, extra={"operation": kind, **_access_tail(c)})


def _cmpxchg(c: _Line, op: str) -> Instruction:
    c.skip_flags()
    operands = _list(c, 3)
    return Instruction(op, Struct((operands[1].type, I1)), operands, extra=_access_tail(c))


def _fence(c: _Line, op: str) -> Instruction:
    return Instruction(op, VOID, [], extra=_access_tail(c))


def _arguments(c: _Line) -> list[Operand]:
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
    return token[0] in "%@<[{-" or token[0].isdigit() or token in _CASTS or token in _BINARY or token in (
        "true", "false", "null", "undef", "poison", "zeroinitializer", "splat", "getelementptr", "none", "nan", "inf",
    )


def _call(c: _Line, op: str) -> Instruction:
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
        return Instruction("asm", t, _arguments(c), extra={"asm": text, "constraints": constraints})
    callee = c.next()
    if callee[0] != "@":
        raise c.fail("only direct calls are known")
    return Instruction(op, t, _arguments(c), extra={"callee": _unquote(callee[1:])})


_FORMS: dict[str, Callable[[_Line, str], Instruction]] = {
    **dict.fromkeys(_BINARY, _binary), **dict.fromkeys(_CASTS, _cast), "icmp": _compare, "fcmp": _compare,
    "fneg": _unary, "freeze": _unary, "select": _select, "extractelement": _extractelement,
    "insertelement": _insertelement, "shufflevector": _shufflevector, "extractvalue": _extractvalue,
    "insertvalue": _insertvalue, "phi": _phi, "br": _br, "switch": _switch, "ret": _ret,
    "unreachable": _unreachable, "getelementptr": _getelementptr, "load": _load, "store": _store,
    "alloca": _alloca, "atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg, "fence": _fence, "call": _call,
}
TERMINATORS = frozenset(("br", "switch", "ret", "unreachable"))


def parse_instruction(text: str, number: int, types: Mapping[str, Type]) -> Instruction:
    """One instruction; `number` is its line, `types` are the module's named types."""
    c = _Line(text, number, types)
    result = None
    if c.peek().startswith("%") and c.peek(1) == "=":
        result = _unquote(c.next()[1:])
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


def parse_module(text: str) -> Module:
    """A whole module. Declarations, metadata and target lines are skipped."""
    module = Module()
    lines = text.split("\n")
    number = 0
    while number < len(lines):
        line = _strip(lines[number])
        number += 1
        if line.startswith("define"):
            number = _function(module, lines, number)
        elif line.startswith("%"):
            c = _Line(line, number, module.types)
            name = c.next()
            c.expect("=")
            c.expect("type")
            module.types[name] = c.type()
        elif line.startswith("@"):
            _global(module, line, number)
        elif line.startswith("attributes #"):
            name, _, body = line[len("attributes "):].partition("=")
            module.attributes[name.strip()] = body
    return module


def _strip(line: str) -> str:
    """The line without its comment."""
    if ";" not in line:
        return line
    quoted = False
    for i, ch in enumerate(line):
        if ch == '"':
            quoted = not quoted
        elif ch == ";" and not quoted:
            return line[:i]
    return line


def _function(module: Module, lines: list[str], number: int) -> int:
    """Parse the function whose `define` is line `number`; returns the number of its last line."""
    c = _Line(_strip(lines[number - 1]), number)
    c.expect("define")
    while not c.starts_type():
        c.next()
        c.skip_parens()
    returns = c.type()
    name = _unquote(c.next()[1:])
    params: list[tuple[Type, str]] = []
    c.expect("(")
    while not c.accept(")"):
        t = c.type()
        while c.peek()[0] != "%":
            c.next()
            c.skip_parens()
        params.append((t, _unquote(c.next()[1:])))
        c.accept(",")
    tail = " ".join(c.tokens[c.at:])
    function = Function(name, returns, params, tail)
    module.functions[name] = function
    while number < len(lines):
        line = _strip(lines[number])
        number += 1
        bare = line.strip()
        if bare == "}":
            return number
        if not bare:
            continue
        label = _LABEL.match(bare)
        if label:
            function.blocks.append(Block(_unquote(label.group(1))))
            continue
        if not function.blocks:
            function.blocks.append(Block("0"))
        start = number
        while bare.startswith("switch ") and "]" not in bare:
            bare += " " + _strip(lines[number]).strip()
            number += 1
        function.blocks[-1].instructions.append(parse_instruction(bare, start, module.types))
    raise ParseError(f"function {name} does not end")


def _global(module: Module, line: str, number: int) -> None:
    c = _Line(line, number)
    name = _unquote(c.next()[1:])
    c.expect("=")
    space, external, constant = 0, False, False
    while not c.starts_type():
        token = c.peek()
        if token == "addrspace":
            space = c._space()
            continue
        if token not in _LINKAGE:
            raise c.fail(f"unknown word {token!r}")
        external |= token == "external"
        constant |= token == "constant"
        c.next()
    t = c.type()
    initial: Bits = None
    if c.peek() not in ("", ","):
        initial = c.constant(t)
    align = 1
    while c.peek():
        if c.next() == "align":
            align = c.integer()
    module.globals[name] = GlobalVariable(name, space, t, align, initial, external, constant)
