"""Values with operators: what the formulas of the library are written in, over any builder.

A `Vec` is a builder and one of its values (a scalar or `<N x elem>`). `*` and `+` are separate roundings; a fused
multiply-add is always an explicit `fma`. Numbers become constants of the other operand's type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tilewright.backend_ptx.llvm.builder import Builder, Val

# The integer type with the bits of a float type.
_BITS = {"float": "i32", "double": "i64", "half": "i16", "bfloat": "i16"}
_FLOATS = frozenset(_BITS)


class Vec:
    """A value of `b`; operators emit one instruction each. `>>` of an integer is arithmetic."""

    __slots__ = ("b", "val")

    def __init__(self, b: Builder, val: Val) -> None:
        self.b = b
        self.val = val

    @property
    def elem(self) -> str:
        return self.val.elem

    @property
    def is_float(self) -> bool:
        return self.val.elem in _FLOATS

    def _raw(self, other: Any) -> Any:
        return other.val if isinstance(other, Vec) else other

    def _binary(self, op: str, other: Any, swap: bool = False) -> Vec:
        method: Callable[[Any, Any], Val] = getattr(self.b, op)
        a, c = self.val, self._raw(other)
        return Vec(self.b, method(c, a) if swap else method(a, c))

    def _arith(self, op: str, other: Any, swap: bool = False) -> Vec:
        return self._binary("f" + op if self.is_float else op, other, swap)

    # ---- arithmetic ---------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Vec:
        return self._arith("add", other)

    def __radd__(self, other: Any) -> Vec:
        return self._arith("add", other, swap=True)

    def __sub__(self, other: Any) -> Vec:
        return self._arith("sub", other)

    def __rsub__(self, other: Any) -> Vec:
        return self._arith("sub", other, swap=True)

    def __mul__(self, other: Any) -> Vec:
        return self._arith("mul", other)

    def __rmul__(self, other: Any) -> Vec:
        return self._arith("mul", other, swap=True)

    def __truediv__(self, other: Any) -> Vec:
        return self._binary("fdiv", other)

    def __rtruediv__(self, other: Any) -> Vec:
        return self._binary("fdiv", other, swap=True)

    def __neg__(self) -> Vec:
        return Vec(self.b, self.b.fneg(self.val)) if self.is_float else 0 - self

    def __abs__(self) -> Vec:
        return self.intrinsic("llvm.fabs")

    def __and__(self, other: Any) -> Vec:
        return self._binary("and_", other)

    def __or__(self, other: Any) -> Vec:
        return self._binary("or_", other)

    def __xor__(self, other: Any) -> Vec:
        return self._binary("xor", other)

    def __lshift__(self, other: Any) -> Vec:
        return self._binary("shl", other)

    def __rshift__(self, other: Any) -> Vec:
        return self._binary("ashr", other)

    def lshr(self, other: Any) -> Vec:
        """Logical shift right."""
        return self._binary("lshr", other)

    def invert(self) -> Vec:
        """Logical not of an i1."""
        return self._binary("xor", True)

    # ---- comparison ---------------------------------------------------------------------------------------

    def compare(self, predicate: str, other: Any) -> Vec:
        """`predicate` is LLVM's word of fcmp or icmp."""
        method = self.b.fcmp if self.is_float else self.b.icmp
        return Vec(self.b, method(predicate, self.val, self._raw(other)))

    def lt(self, other: Any) -> Vec:
        return self.compare("olt" if self.is_float else "slt", other)

    def le(self, other: Any) -> Vec:
        return self.compare("ole" if self.is_float else "sle", other)

    def gt(self, other: Any) -> Vec:
        return self.compare("ogt" if self.is_float else "sgt", other)

    def ge(self, other: Any) -> Vec:
        return self.compare("oge" if self.is_float else "sge", other)

    def eq(self, other: Any) -> Vec:
        return self.compare("oeq" if self.is_float else "eq", other)

    def ne(self, other: Any) -> Vec:
        """Not equal; a NaN differs from everything."""
        return self.compare("une" if self.is_float else "ne", other)

    def isnan(self) -> Vec:
        return self.compare("uno", self)

    # ---- bits and conversions -----------------------------------------------------------------------------

    def bits(self) -> Vec:
        """The bits of a float as an integer of the same width."""
        return Vec(self.b, self.b.bitcast(self.val, _BITS[self.elem]))

    def as_float(self, elem: str) -> Vec:
        """The float `elem` with these bits."""
        return Vec(self.b, self.b.bitcast(self.val, elem))

    def cast(self, op: str, elem: str) -> Vec:
        """LLVM's cast `op` (sitofp, fptrunc, zext, ...)."""
        return Vec(self.b, self.b.cast(op, self.val, elem))

    # ---- calls --------------------------------------------------------------------------------------------

    def intrinsic(self, name: str, *more: Any) -> Vec:
        """An overloaded intrinsic on whole vectors."""
        args = [self.val, *(a.val if isinstance(a, Vec) else self.b.like(self.val, a) for a in more)]
        return Vec(self.b, self.b.intrinsic(name, args))

    def lanewise(self, name: str, *more: Any) -> Vec:
        """An intrinsic of scalars with a result of the same type (llvm.nvvm.*), lane by lane."""
        args = [self.val, *(a.val if isinstance(a, Vec) else self.b.like(self.val, a) for a in more)]
        elem = self.elem
        return Vec(self.b, self.b.each(lambda *lane: self.b.value_call(name, elem, list(lane)), *args))

    def max(self, other: Any) -> Vec:
        """The larger one; a NaN loses."""
        return self.intrinsic("llvm.maxnum", other)

    def min(self, other: Any) -> Vec:
        """The smaller one; a NaN loses."""
        return self.intrinsic("llvm.minnum", other)

    def copysign(self, sign: Any) -> Vec:
        """This magnitude with the sign of `sign`."""
        return self.intrinsic("llvm.copysign", sign)


def fma(a: Any, x: Any, c: Any) -> Vec:
    """a * x + c with one rounding; at least one operand is a Vec."""
    b = next(v.b for v in (a, x, c) if isinstance(v, Vec))
    return Vec(b, b.fma(*(v.val if isinstance(v, Vec) else v for v in (a, x, c))))


def where(condition: Vec, a: Any, other: Any) -> Vec:
    """Element by element `condition ? a : other`; a Python bool or at most one number may stand for a choice."""
    b = condition.b
    return Vec(b, b.select(condition.val, *(v.val if isinstance(v, Vec) else v for v in (a, other))))


def choose(condition: Vec, pattern: Vec, a: float, other: float) -> Vec:
    """`where` between two numbers of the type of `pattern`."""
    b = condition.b
    return Vec(b, b.select(condition.val, b.like(pattern.val, a), b.like(pattern.val, other)))


def like(pattern: Vec, value: float) -> Vec:
    """The constant `value` with the type of `pattern`."""
    return Vec(pattern.b, pattern.b.like(pattern.val, value))


def polynomial(x: Vec, coefficients: Sequence[Any], start: Any = None) -> Vec:
    """sum(coefficients[i] * x**i) by Horner's rule; `start` is the accumulator of higher terms, if any."""
    *rest, last = coefficients
    acc = last if start is None else fma(start, x, last)
    for c in reversed(rest):
        acc = fma(acc, x, c)
    return acc if isinstance(acc, Vec) else like(x, acc)
