"""A line of LLVM's text as tokens: types, constants and operands. Errors name the line."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from types import MappingProxyType

from tilewright.backend_ptx.simulator.text.ir import (
    Bits,
    Const,
    ConstExpr,
    Global,
    LlvmInstruction,
    Local,
    Operand,
)
from tilewright.backend_ptx.simulator.text.types import (
    FLOAT_BITS,
    I1,
    VOID,
    Array,
    Float,
    Int,
    Ptr,
    Struct,
    Type,
    VectorType,
)

_TOKEN = re.compile(
    r'"[^"]*"|[%@](?:"[^"]*"|[-\w$.]+)|-?\d+\.\d+e[+-]\d+|!?[-\w$.]+|\.\.\.|[=,*(){}\[\]<>!#]'
)
_FLAGS = frozenset(
    "nuw nsw exact disjoint nneg fast nnan ninf nsz arcp contract afn reassoc samesign inbounds nusw volatile "
    "tail musttail notail atomic weak".split()
)
BINARY = frozenset("add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv frem".split())
CASTS = frozenset(
    "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast".split()
)


class ParseError(Exception):
    """The text is outside the subset, or is not LLVM IR."""


class Line:
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
            return Ptr(self.space())
        if token[0] == "i" and token[1:].isdigit():
            return Int(int(token[1:]))
        if token in "<[":
            count = self.integer()
            self.expect("x")
            elem = self.type()
            self.expect(">" if token == "<" else "]")
            return VectorType(count, elem) if token == "<" else Array(count, elem)
        if token == "{":
            elems = [] if self.peek() == "}" else [self.type()]
            while self.accept(","):
                elems.append(self.type())
            self.expect("}")
            return Struct(tuple(elems))
        if token in self.types:
            return self.types[token]
        raise self.fail(f"unknown type {token!r}")

    def space(self) -> int:
        if not self.accept("addrspace"):
            return 0
        self.expect("(")
        space = self.integer()
        self.expect(")")
        return space

    def starts_type(self) -> bool:
        t = self.peek()
        return t in ("void", "ptr", "<", "[", "{", *FLOAT_BITS) or t in self.types or (t[:1] == "i" and t[1:].isdigit())

    # ---- values ----

    def typed(self) -> Operand:
        return self.value(self.type())

    def value(self, t: Type) -> Operand:
        token = self.peek()
        if token[0] == "%":
            return Local(t, unquote(self.next()[1:]))
        if token[0] == "@":
            return Global(t, unquote(self.next()[1:]))
        if token == "getelementptr" or token in CASTS or token in BINARY:
            return ConstExpr(t, self._expression(self.next()))
        return Const(t, self.constant(t))

    def _expression(self, opcode: str) -> LlvmInstruction:
        self.skip_flags()
        self.expect("(")
        if opcode == "getelementptr":
            source = self.type()
            self.expect(",")
            operands = [self.typed()]
            while self.accept(","):
                operands.append(self.typed())
            self.expect(")")
            return LlvmInstruction(opcode, operands[0].type, operands, extra={"source": source})
        operand = self.typed()
        if self.accept(","):
            operands = [operand, self.typed()]
            self.expect(")")
            return LlvmInstruction(opcode, operand.type, operands)
        self.expect("to")
        to = self.type()
        self.expect(")")
        return LlvmInstruction(opcode, to, [operand])

    def constant(self, t: Type) -> Bits:
        token = self.next()
        if token in ("undef", "poison"):
            return None
        if token in ("zeroinitializer", "null", "none"):
            return _zero(t)
        if token == "splat":
            assert isinstance(t, VectorType)
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
        return unquote(self.next()[1:])


def unquote(name: str) -> str:
    return name[1:-1] if name.startswith('"') else name


def _characters(quoted: str) -> Bits:
    """The bytes of "text\\00"."""
    return tuple(int(m[1:], 16) if len(m) == 3 else ord(m) for m in re.findall(r"\\[0-9A-Fa-f]{2}|.", quoted[1:-1]))


def _zero(t: Type) -> Bits:
    if isinstance(t, VectorType | Array):
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
