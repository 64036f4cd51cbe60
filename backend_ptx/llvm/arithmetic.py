"""Arithmetic of the builder: one method for each of LLVM's operations, comparisons and conversions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.backend_ptx.llvm.constants import BITS, type_text
from tilewright.backend_ptx.llvm.values import Operand, Parts, Recast, Val
from tilewright.backend_ptx.llvm.vectors import Vectors

_INT_FOLD: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}
_RIGHT_ZERO_IS_LEFT = frozenset(("add", "sub", "or", "xor", "shl", "lshr", "ashr"))


def _binary(op: str) -> Callable[[Arithmetic, Operand, Operand], Val]:
    return lambda self, a, b: self.binary(op, a, b)


class Arithmetic(Vectors):
    """What computes: it touches no memory and starts no block.

    All operations work on scalars and on vectors; an operand that is a Python number becomes a constant of the other
    operand's type.
    """

    def binary(self, op: str, a: Operand, b: Operand) -> Val:
        """`op` is LLVM's word, flags included ("fadd", "add nsw"). Integer identities and constants fold."""
        a, b = self._pair(a, b)
        if b.const is not None and not a.is_float:
            if (b.const == 0 and op in _RIGHT_ZERO_IS_LEFT) or (b.const == 1 and op in ("mul", "sdiv", "udiv")):
                return a
            if a.const is not None and op in _INT_FOLD:
                return self.like(a, _INT_FOLD[op](int(a.const), int(b.const)))
        if a.const == 0 and op in ("add", "or", "xor") and not a.is_float:
            return b
        if a.n and (lanes := self._lanes((a, b))):
            return self._by_lane(a.elem, [f"{op} {a.elem} {x.text}, {y.text}" for x, y in lanes])
        return self.computed(a.elem, a.n, f"{op} {a.type} {a.text}, {b.text}")

    fadd, fsub, fmul, fdiv = _binary("fadd"), _binary("fsub"), _binary("fmul"), _binary("fdiv")
    add, sub, mul = _binary("add"), _binary("sub"), _binary("mul")
    sdiv, udiv, srem, urem = _binary("sdiv"), _binary("udiv"), _binary("srem"), _binary("urem")
    and_, or_, xor = _binary("and"), _binary("or"), _binary("xor")
    shl, lshr, ashr = _binary("shl"), _binary("lshr"), _binary("ashr")

    def fneg(self, a: Val) -> Val:
        return self.computed(a.elem, a.n, f"fneg {a.type} {a.text}")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Val:
        """a * b + c with one rounding."""
        pattern = next(v for v in (a, b, c) if isinstance(v, Val))
        values = [v if isinstance(v, Val) else self.like(pattern, v) for v in (a, b, c)]
        return self.intrinsic("llvm.fma", values)

    def icmp(self, predicate: str, a: Operand, b: Operand) -> Val:
        """`eq ne slt sle sgt sge ult ule ugt uge`; the result is i1."""
        a, b = self._pair(a, b)
        return self.computed("i1", a.n, f"icmp {predicate} {a.type} {a.text}, {b.text}")

    def fcmp(self, predicate: str, a: Operand, b: Operand) -> Val:
        """`oeq olt ... une uno ord`; the result is i1."""
        a, b = self._pair(a, b)
        return self.computed("i1", a.n, f"fcmp {predicate} {a.type} {a.text}, {b.text}")

    def select(self, condition: Val, a: Operand, b: Operand) -> Val:
        """Element by element `condition ? a : b`; a scalar condition chooses whole vectors."""
        a, b = self._pair(a, b)
        if condition.const is not None:
            return a if condition.const else b
        return self.computed(a.elem, a.n, f"select {condition}, {a}, {b}")

    def cast(self, op: str, v: Val, elem: str) -> Val:
        """`op` is LLVM's word: trunc zext sext fptrunc fpext fptosi fptoui sitofp uitofp ptrtoint."""
        if v.elem == elem:
            return v
        if v.const is not None and op in ("sext", "zext", "trunc") and v.elem != "i1":
            number = int(v.const)
            return self.const(elem, number & ((1 << int(v.elem[1:])) - 1) if op == "zext" else number, v.n)
        pieces = self._registers(v, elem)
        if len(pieces) > 1:
            return self.vector([self.cast(op, piece, elem) for piece in pieces])
        return self.computed(elem, v.n, f"{op} {v} to {type_text(elem, v.n)}")

    def bitcast(self, v: Val, elem: str, n: int | None = None) -> Val:
        """The same bits as `elem` (and, when `n` is given, as another number of lanes)."""
        lanes = v.n if n is None else n
        if isinstance(v, Recast):
            v = v.source
        if v.elem == elem and v.n == lanes:
            return v
        if isinstance(v, Parts) and v.elem in BITS and elem in BITS and lanes:
            each = lanes // len(v.parts)
            if each * len(v.parts) == lanes:
                return self.vector([self.bitcast(part, elem, each if each > 1 else 0) for part in v.parts])
        return self._defined(Recast(self._name(), v, elem, lanes, self.dbg))

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
