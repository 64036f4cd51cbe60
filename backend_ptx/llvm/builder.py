"""A light text builder for LLVM NVPTX IR: every method appends one line and returns the value it defines.

A `Val` is a scalar (`n == 0`) or a vector `<n x elem>`. All operations work on both; where an operand may be
a Python number it becomes a (splat) constant of the other operand's type. Element types are LLVM's words: "i1"
"i8" "i16" "i32" "i64" "half" "bfloat" "float" "double" "ptr addrspace(1)" ....

Code that only computes (the math library) should use the part of this class above the line "memory", so that
a NumPy evaluator with the same methods can run it:
    const like  fadd fsub fmul fdiv fneg fma  add sub mul sdiv udiv srem urem  and_ or_ xor shl lshr ashr
    icmp fcmp select cast bitcast  intrinsic call  each  shuffle extract insert
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tilewright.backend_ptx.llvm.constants import BITS, const_text, suffix, type_text
from tilewright.backend_ptx.llvm.values import (
    AfterPhis,
    Definition,
    Number,
    Operand,
    Parts,
    Phi,
    Val,
    WidePhi,
    chosen_parts,
)

__all__ = ["Builder", "Number", "Operand", "Phi", "Val"]

_INT_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
}
# Lanes that are registers of their own; narrower ones share.
_WIDE = frozenset(("float", "double", "i32", "i64"))
# Characters of a struct type from which on it gets a name.
LONG_TYPE = 80
_RIGHT_ZERO_IS_LEFT = frozenset(("add", "sub", "or", "xor", "shl", "lshr", "ashr"))


class Builder:
    """The body of one function. `declares` collects the declarations, `globals` and `types` those of the module."""

    def __init__(self) -> None:
        self.lines: list[object] = []  # str, or what becomes a str at the end
        self._prologue: list[object] = []
        self.declares: dict[str, str] = {}
        self.globals: list[str] = []
        self.types: dict[str, str] = {}  # names of long struct types
        self.block = "entry"
        self.dbg = ""  # appended to every instruction: ", !dbg !7" or nothing
        self._next = 0
        self._labels = 0
        self._has_convergent = False

    # ---- values ------------------------------------------------------------------------------------------

    def const(self, elem: str, value: Number, n: int = 0) -> Val:
        """The constant `value` (rounded or wrapped to the type), in every lane when n > 0."""
        text = const_text(elem, value)
        return Val(elem, n, f"splat ({elem} {text})" if n else text, value)

    def const_vector(self, elem: str, values: Sequence[Number]) -> Val:
        """A vector constant, a value per lane."""
        return Val(elem, len(values), "<" + ", ".join(f"{elem} {const_text(elem, v)}" for v in values) + ">")

    def like(self, pattern: Val, value: Number) -> Val:
        """The constant `value` with the type of `pattern`."""
        return self.const(pattern.elem, value, pattern.n)

    def poison(self, elem: str, n: int = 0) -> Val:
        return Val(elem, n, "poison")

    def emit(self, elem: str, n: int, text: str) -> Val:
        """Append `%new = text`, of type elem or <n x elem>."""
        self._next += 1
        name = f"%v{self._next}"
        self.lines.append(f"  {name} = {text}{self.dbg}")
        return Val(elem, n, name)

    def raw(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}{self.dbg}")

    def _pair(self, a: Operand, b: Operand) -> tuple[Val, Val]:
        if not isinstance(a, Val):
            assert isinstance(b, Val)
            a = self.like(b, a)
        if not isinstance(b, Val):
            b = self.like(a, b)
        assert a.type == b.type, f"operands differ: {a} and {b}"
        return a, b

    # ---- arithmetic --------------------------------------------------------------------------------------

    def binary(self, op: str, a: Operand, b: Operand) -> Val:
        """`op` is LLVM's word, flags included ("fadd", "add nsw"). Integer identities and constants fold."""
        a, b = self._pair(a, b)
        if b.const is not None and not a.is_float:
            if b.const == 0 and op in _RIGHT_ZERO_IS_LEFT or b.const == 1 and op in ("mul", "sdiv", "udiv"):
                return a
            if a.const is not None and op in _INT_FOLD:
                return self.like(a, _INT_FOLD[op](int(a.const), int(b.const)))
        if a.const == 0 and op in ("add", "or", "xor") and not a.is_float:
            return b
        return self.emit(a.elem, a.n, f"{op} {a.type} {a.text}, {b.text}")

    def fadd(self, a: Operand, b: Operand) -> Val:
        return self.binary("fadd", a, b)

    def fsub(self, a: Operand, b: Operand) -> Val:
        return self.binary("fsub", a, b)

    def fmul(self, a: Operand, b: Operand) -> Val:
        return self.binary("fmul", a, b)

    def fdiv(self, a: Operand, b: Operand) -> Val:
        return self.binary("fdiv", a, b)

    def fneg(self, a: Val) -> Val:
        return self.emit(a.elem, a.n, f"fneg {a.type} {a.text}")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Val:
        """a * b + c with one rounding."""
        pattern = next(v for v in (a, b, c) if isinstance(v, Val))
        values = [v if isinstance(v, Val) else self.like(pattern, v) for v in (a, b, c)]
        return self.intrinsic("llvm.fma", values)

    def add(self, a: Operand, b: Operand) -> Val:
        return self.binary("add", a, b)

    def sub(self, a: Operand, b: Operand) -> Val:
        return self.binary("sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Val:
        return self.binary("mul", a, b)

    def sdiv(self, a: Operand, b: Operand) -> Val:
        return self.binary("sdiv", a, b)

    def udiv(self, a: Operand, b: Operand) -> Val:
        return self.binary("udiv", a, b)

    def srem(self, a: Operand, b: Operand) -> Val:
        return self.binary("srem", a, b)

    def urem(self, a: Operand, b: Operand) -> Val:
        return self.binary("urem", a, b)

    def and_(self, a: Operand, b: Operand) -> Val:
        return self.binary("and", a, b)

    def or_(self, a: Operand, b: Operand) -> Val:
        return self.binary("or", a, b)

    def xor(self, a: Operand, b: Operand) -> Val:
        return self.binary("xor", a, b)

    def shl(self, a: Operand, b: Operand) -> Val:
        return self.binary("shl", a, b)

    def lshr(self, a: Operand, b: Operand) -> Val:
        return self.binary("lshr", a, b)

    def ashr(self, a: Operand, b: Operand) -> Val:
        return self.binary("ashr", a, b)

    def icmp(self, predicate: str, a: Operand, b: Operand) -> Val:
        """`eq ne slt sle sgt sge ult ule ugt uge`; the result is i1."""
        a, b = self._pair(a, b)
        return self.emit("i1", a.n, f"icmp {predicate} {a.type} {a.text}, {b.text}")

    def fcmp(self, predicate: str, a: Operand, b: Operand) -> Val:
        """`oeq olt ... une uno ord`; the result is i1."""
        a, b = self._pair(a, b)
        return self.emit("i1", a.n, f"fcmp {predicate} {a.type} {a.text}, {b.text}")

    def select(self, condition: Val, a: Operand, b: Operand) -> Val:
        """Element by element `condition ? a : b`; a scalar condition chooses whole vectors."""
        a, b = self._pair(a, b)
        if condition.const is not None:
            return a if condition.const else b
        return self.emit(a.elem, a.n, f"select {condition}, {a}, {b}")

    def cast(self, op: str, v: Val, elem: str) -> Val:
        """`op` is LLVM's word: trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp ptrtoint."""
        if v.elem == elem:
            return v
        if v.const is not None and op in ("sext", "zext", "trunc") and v.elem != "i1":
            number = int(v.const)
            return self.const(elem, number & ((1 << int(v.elem[1:])) - 1) if op == "zext" else number, v.n)
        pieces = self._registers(v, elem)
        if len(pieces) > 1:
            return self._parts([self.cast(op, piece, elem) for piece in pieces])
        return self.emit(elem, v.n, f"{op} {v} to {type_text(elem, v.n)}")

    def bitcast(self, v: Val, elem: str, n: int | None = None) -> Val:
        """The same bits as `elem` (and, when `n` is given, as another number of lanes)."""
        lanes = v.n if n is None else n
        if v.elem == elem and v.n == lanes:
            return v
        if isinstance(v, Parts) and v.elem in BITS and elem in BITS and lanes:
            each = lanes // len(v.parts)
            if each * len(v.parts) == lanes:
                return self._parts([self.bitcast(part, elem, each if each > 1 else 0) for part in v.parts])
        return self.emit(elem, lanes, f"bitcast {v} to {type_text(elem, lanes)}")

    def _registers(self, v: Val, elem: str) -> Sequence[Val]:
        """A vector that is known by its parts in such pieces that lanes of `elem` that share a register stay together;
        one piece for any other."""
        if not isinstance(v, Parts) or v.elem not in BITS or elem not in BITS:
            return [v]
        lanes = max(1, 32 // BITS[elem])
        if v.per >= lanes or lanes == 1:
            return v.parts
        if v.n % lanes or (count := v.n // lanes) & (count - 1):
            return [v]
        return [self.shuffle(v, range(i, i + lanes)) for i in range(0, v.n, lanes)]

    # ---- calls -------------------------------------------------------------------------------------------

    def call(self, name: str, elem: str, args: Sequence[Val], n: int = 0, attributes: str = "") -> Val | None:
        """Call the function or (non-overloaded) intrinsic `name`; elem "void" gives None."""
        result = type_text(elem, n)
        if name not in self.declares:
            params = ", ".join(a.type for a in args)
            self.declares[name] = f"declare {result} @{name}({params}) {attributes}"
        text = f"call {result} @{name}({', '.join(map(str, args))})"
        if elem == "void":
            self.raw(text)
            return None
        return self.emit(elem, n, text)

    def value_call(self, name: str, elem: str, args: Sequence[Val], n: int = 0) -> Val:
        """`call` of a function without effects, which returns a value."""
        value = self.call(name, elem, args, n)
        assert value is not None
        return value

    def intrinsic(self, name: str, args: Sequence[Val], elem: str = "", n: int | None = None) -> Val:
        """An overloaded intrinsic, named without its suffix, of the type of args[0].

        With `elem` (and `n`) the result differs and its suffix comes first, as for `llvm.fptosi.sat.i32.f32`.
        """
        first = args[0]
        if elem:
            lanes = first.n if n is None else n
            full = f"{name}.{suffix(elem, lanes)}.{suffix(first.elem, first.n)}"
            return self.value_call(full, elem, args, lanes)
        return self.value_call(f"{name}.{suffix(first.elem, first.n)}", first.elem, args, first.n)

    def each(self, function: Callable[..., Val], *values: Val) -> Val:
        """Apply a function of scalars lane by lane (for intrinsics and asm that have no vector form)."""
        lanes = values[0].n
        if not lanes:
            return function(*values)
        out = [function(*(self.extract(v, i) for v in values)) for i in range(lanes)]
        return self.vector(out)

    def asm(
        self, text: str, constraints: str, args: Sequence[Val] = (), result: str = "void", *,
        convergent: bool = False, memory: bool = False, pure: bool = False,
    ) -> Val | None:
        """Inline PTX. `result` is an LLVM type ("float", "{ i32, i32 }"); `pure`: LLVM may merge and drop it.

        `convergent`: every thread of a warp or block must arrive together. `memory`: it may touch memory.
        """
        if memory:
            constraints += ",~{memory}" if constraints else "~{memory}"
        effect = "" if pure else "sideeffect "
        text = text.replace("\n", "\\0A").replace('"', "\\22")
        attribute = ""
        if convergent:
            self._has_convergent = True
            attribute = " #1"
        result = self._named(result)
        line = f'call {result} asm {effect}"{text}", "{constraints}"({", ".join(map(str, args))}){attribute}'
        if result == "void":
            self.raw(line)
            return None
        if result[0] == "<":
            lanes, _, elem = result[1:-1].partition(" x ")
            return self.emit(elem, int(lanes), line)
        return self.emit(result, 0, line)

    def _named(self, result: str) -> str:
        """A long struct type by a name: every `extractvalue` says the type once more."""
        if len(result) < LONG_TYPE:
            return result
        return self.types.setdefault(result, f"%pack{len(self.types)}")

    # ---- vectors -----------------------------------------------------------------------------------------

    def splat(self, v: Val, n: int) -> Val:
        """A scalar in every lane; n == 0 leaves it alone."""
        if not n:
            return v
        if v.const is not None:
            return self.const(v.elem, v.const, n)
        one = self.emit(v.elem, n, f"insertelement <{n} x {v.elem}> poison, {v}, i32 0")
        if n == 1:
            return one
        return self.emit(v.elem, n, f"shufflevector {one}, {one.type} poison, <{n} x i32> zeroinitializer")

    def extract(self, v: Val, i: int) -> Val:
        """Lane i; of a scalar, the scalar."""
        if not v.n:
            return v
        if v.const is not None:
            return self.const(v.elem, v.const)
        if isinstance(v, Parts):
            return self.extract(v.parts[i // v.per], i % v.per) if v.per else v.parts[i]
        return self.emit(v.elem, 0, f"extractelement {v}, i32 {i}")

    def insert(self, v: Val, x: Val, i: int) -> Val:
        return self.emit(v.elem, v.n, f"insertelement {v}, {x}, i32 {i}")

    def vector(self, values: Sequence[Val]) -> Val:
        """A vector of scalars of one type."""
        return self._parts(values)

    def _parts(self, parts: Sequence[Val]) -> Val:
        """A vector of scalars, or of a power of two of vectors of one length."""
        if len(parts) == 1 and parts[0].n:
            return parts[0]
        self._next += 1
        out = Parts(f"%v{self._next}", parts, self.dbg)
        self.lines.append(Definition(out))
        return out

    def shuffle(self, a: Val, lanes: Sequence[int], b: Val | None = None) -> Val:
        """Lanes chosen from a, or from a followed by b."""
        if b is None and len(lanes) == a.n and list(lanes) == list(range(a.n)):
            return a
        if a.const is not None and b is None:
            return self.const(a.elem, a.const, len(lanes))
        if isinstance(a, Parts) and (b is None or isinstance(b, Parts) and b.per == a.per):
            known = [*a.parts, *(b.parts if isinstance(b, Parts) else ())]
            chosen = chosen_parts(lanes, a.per)
            if chosen is not None:
                return self._parts([known[i] for i in chosen])
            [part, *others] = {i // a.per for i in lanes}
            if not others:
                return self.shuffle(known[part], [i % a.per for i in lanes])
        other = b.text if b is not None else "poison"
        n = len(lanes)
        mask = ", ".join(f"i32 {i}" for i in lanes)
        return self.emit(a.elem, n, f"shufflevector {a}, {a.type} {other}, <{n} x i32> <{mask}>")

    def concat(self, parts: Sequence[Val]) -> Val:
        """The lanes of all parts in a row; scalars count as one lane. Parts have one length each."""
        if not parts[0].n:
            return self.vector(parts)
        if len({p.per if isinstance(p, Parts) else -1 for p in parts}) == 1 and isinstance(parts[0], Parts):
            parts = [inner for p in parts if isinstance(p, Parts) for inner in p.parts]
        if parts[0].n and len(parts) & (len(parts) - 1):  # no power of two: through the lanes
            return self.vector([self.extract(p, i) for p in parts for i in range(p.n)])
        return self._parts(parts)

    def extractvalue(self, aggregate: Val, elem: str, index: int, n: int = 0) -> Val:
        """A member of a struct value (what an asm with several results returns)."""
        return self.emit(elem, n, f"extractvalue {aggregate}, {index}")

    # ---- memory ------------------------------------------------------------------------------------------

    def gep(self, pointer: Val, offset: Operand, elem: str = "i8") -> Val:
        """pointer + offset * sizeof(elem), the offset in i32 (sign-extended) or i64."""
        if not isinstance(offset, Val):
            offset = self.const("i64", offset)
        if offset.const == 0:
            return pointer
        return self.emit(pointer.elem, offset.n, f"getelementptr {elem}, {pointer}, {offset}")

    def load(self, elem: str, n: int, pointer: Val, align: int, *, invariant: bool = False) -> Val:
        """`invariant`: nothing writes there while the kernel runs (the read-only path)."""
        tail = ", !invariant.load !0" if invariant else ""
        return self.emit(elem, n, f"load {type_text(elem, n)}, {pointer}, align {align}{tail}")

    def store(self, value: Val, pointer: Val, align: int) -> None:
        self.raw(f"store {value}, {pointer}, align {align}")

    def add_global(self, text: str) -> None:
        """A module-level definition, once."""
        if text not in self.globals:
            self.globals.append(text)

    # ---- control flow ------------------------------------------------------------------------------------

    def label(self, hint: str = "b") -> str:
        """A new label, not yet placed."""
        self._labels += 1
        return f"{hint}{self._labels}"

    def start(self, label: str) -> None:
        """Place a label: what follows belongs to that block."""
        self.lines.append(f"{label}:")
        self.block = label

    def br(self, label: str) -> None:
        self.raw(f"br label %{label}")

    def cbr(self, condition: Val, then: str, other: str) -> None:
        self.raw(f"br {condition}, label %{then}, label %{other}")

    def ret(self) -> None:
        self.raw("ret void")

    def phi(self, elem: str, n: int = 0) -> Phi:
        self._next += 1
        phi = Phi(Val(elem, n, f"%v{self._next}"))
        self.lines.append(phi)
        return phi

    def phis(self, like: Sequence[Val]) -> list[Phi]:
        """All phis of a block, with the types of given values; other code must follow, not precede them."""
        out = [self._wide_phi(v) if v.n and v.elem in _WIDE else self.phi(v.elem, v.n) for v in like]
        self.lines += [AfterPhis(phi) for phi in out if isinstance(phi, WidePhi)]
        return out

    def _wide_phi(self, like: Val) -> WidePhi:
        self._next += 1
        phi = WidePhi(like.elem, like.n, f"%v{self._next}")
        self.lines.append(phi)
        return phi

    @contextmanager
    def prologue(self) -> Iterator[None]:
        """What is emitted inside stands at the start of the function, so that all later code may use it.

        Only straight-line code from function parameters, constants and other values of the prologue.
        """
        lines, dbg = self.lines, self.dbg
        self.lines, self.dbg = self._prologue, ""
        try:
            yield
        finally:
            self.lines, self.dbg = lines, dbg

    def head(self) -> list[str]:
        """The lines of the module that stand before the function."""
        types = [f"{name} = type {text}" for text, name in self.types.items()]
        return [*self.globals, *types, *self.declares.values()]

    def text(self) -> str:
        """The body, from `entry:` to the last line."""
        for line in self.lines:
            if isinstance(line, Phi):
                line.settle()
        return "entry:\n" + "\n".join(filter(None, map(str, [*self._prologue, *self.lines]))) + "\n"

    @property
    def uses_convergent_asm(self) -> bool:
        return self._has_convergent
