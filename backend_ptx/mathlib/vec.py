"""Values with operators: what the formulas of the library are written in.

A `Vec` is a builder and one of its values (a scalar or `<N x elem>`). `*` and `+` are separate roundings; a fused
multiply-add is always an explicit `fma`. Numbers become constants of the other operand's type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tilewright.backend_ptx.llvm.builder import Builder, Val

# The integer type with the bits of a float type.
_BITS = {"float": "i32", "double": "i64", "half": "i16", "bfloat": "i16"}


def _raw(operand: Any) -> Any:
    return operand.val if isinstance(operand, Vec) else operand


def _operator(word: str, of_floats: str = "", swap: bool = False) -> Callable[[Vec, Any], Vec]:
    """The operator that emits the builder's `word`, or for floats `of_floats`; `swap`: with the operands exchanged."""

    def method(self: Vec, other: Any) -> Vec:
        emit: Callable[[Any, Any], Val] = getattr(self.b, of_floats if self.val.is_float else word)
        return Vec(self.b, emit(_raw(other), self.val) if swap else emit(self.val, _raw(other)))

    return method


def _comparison(word: str, of_floats: str) -> Callable[[Vec, Any], Vec]:
    """The comparison with LLVM's predicate `word` of icmp, or for floats `of_floats` of fcmp."""
    return lambda self, other: self.compare(of_floats if self.val.is_float else word, other)


class Vec:
    """A value of `b`; operators emit one instruction each. `>>` of an integer is arithmetic."""

    __slots__ = ("b", "val")

    def __init__(self, b: Builder, val: Val) -> None:
        self.b = b
        self.val = val

    @property
    def elem(self) -> str:
        return self.val.elem

    # ---- arithmetic ---------------------------------------------------------------------------------------

    __add__, __radd__ = _operator("add", "fadd"), _operator("add", "fadd", swap=True)
    __sub__, __rsub__ = _operator("sub", "fsub"), _operator("sub", "fsub", swap=True)
    __mul__, __rmul__ = _operator("mul", "fmul"), _operator("mul", "fmul", swap=True)
    __truediv__, __rtruediv__ = _operator("", "fdiv"), _operator("", "fdiv", swap=True)
    __and__, __or__, __xor__ = _operator("and_"), _operator("or_"), _operator("xor")
    __lshift__, __rshift__ = _operator("shl"), _operator("ashr")
    lshr = _operator("lshr")  # logical shift right

    def __neg__(self) -> Vec:
        return Vec(self.b, self.b.fneg(self.val)) if self.val.is_float else 0 - self

    def __abs__(self) -> Vec:
        return self.intrinsic("llvm.fabs")

    # ---- comparison ---------------------------------------------------------------------------------------

    def compare(self, predicate: str, other: Any) -> Vec:
        """`predicate` is LLVM's word of fcmp or icmp."""
        method = self.b.fcmp if self.val.is_float else self.b.icmp
        return Vec(self.b, method(predicate, self.val, _raw(other)))

    lt, le = _comparison("slt", "olt"), _comparison("sle", "ole")
    gt, ge = _comparison("sgt", "ogt"), _comparison("sge", "oge")
    eq, ne = _comparison("eq", "oeq"), _comparison("ne", "une")  # a NaN differs from everything

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

    def _with(self, more: Sequence[Any]) -> list[Val]:
        return [self.val, *(a.val if isinstance(a, Vec) else self.b.like(self.val, a) for a in more)]

    def intrinsic(self, name: str, *more: Any) -> Vec:
        """An overloaded intrinsic on whole vectors."""
        return Vec(self.b, self.b.intrinsic(name, self._with(more)))

    def lanewise(self, name: str, *more: Any) -> Vec:
        """An intrinsic of scalars with a result of the same type (llvm.nvvm.*), lane by lane."""
        call = partial(self.b.call, name, self.elem)
        return Vec(self.b, self.b.each(lambda *lane: call(lane), *self._with(more)))

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
    return Vec(b, b.fma(_raw(a), _raw(x), _raw(c)))


def where(condition: Vec, a: Any, other: Any) -> Vec:
    """Element by element `condition ? a : other`; a Python bool or at most one number may stand for a choice."""
    return Vec(condition.b, condition.b.select(condition.val, _raw(a), _raw(other)))


def choose(condition: Vec, pattern: Vec, a: float, other: float) -> Vec:
    """`where` between two numbers of the type of `pattern`."""
    return where(condition, like(pattern, a), like(pattern, other))


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


def odd_series(x: Vec, s: Vec, coefficients: Sequence[float]) -> Vec:
    """x + x*s*P(s); + 0.0 makes the product of x = -0 and a negative coefficient +0, so that the sum is -0."""
    return fma(fma(polynomial(s, coefficients), s, 0.0), x, x)


def scale(x: Vec, n: Vec) -> Vec:
    """x * 2**n for integers up to twice the largest exponent, in two steps, so that only the last one rounds or
    overflows."""
    first = n >> 1
    return x * two_to(first, x.elem) * two_to(n - first, x.elem)


def two_to(n: Vec, elem: str) -> Vec:
    """2**n of normal numbers."""
    bits = (n + 1023).cast("sext", "i64") << 52 if elem == "double" else n + 127 << 23
    return bits.as_float(elem)
