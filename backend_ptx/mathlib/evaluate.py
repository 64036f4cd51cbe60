"""The library's formulas on NumPy arrays: a builder whose instructions compute at once.

It gives the values that the GPU gives, but for the hardware's approximations (ex2, rcp, rsqrt): those are rounded
correctly here, and moved by `off` units in the last place, up or down by chance, to see what their error may cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.backend_ptx.mathlib.vec import Vec

Array = Any
_DTYPES = {
    "i1": np.bool_, "i16": np.int16, "i32": np.int32, "i64": np.int64, "half": np.float16, "float": np.float32,
    "double": np.float64,
}
_COMPARE: dict[str, Callable[..., Any]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}


class Value:
    """An array with what the formulas ask of a `Val`."""

    __slots__ = ("array", "elem", "n", "const")

    def __init__(self, elem: str, array: Array) -> None:
        self.elem = elem
        self.array: Array = np.asarray(array, _DTYPES[elem])
        self.n = 0
        self.const = None


class NumpyBuilder:
    """The computing methods of `Builder` on arrays of one shape."""

    def __init__(self, off: float = 0.0) -> None:
        self.off = off
        self._random = np.random.default_rng(1)

    def like(self, pattern: Value, value: float) -> Value:
        if pattern.elem in ("i1", "half", "float", "double"):
            return Value(pattern.elem, value)
        bits = np.iinfo(_DTYPES[pattern.elem]).bits
        wrapped = int(value) & (1 << bits) - 1
        return Value(pattern.elem, wrapped - (1 << bits) if wrapped >> bits - 1 else wrapped)

    def _operands(self, *operands: Any) -> tuple[str, list[Array]]:
        pattern = next(o for o in operands if isinstance(o, Value))
        values = [o if isinstance(o, Value) else self.like(pattern, o) for o in operands]
        assert all(v.elem == pattern.elem for v in values), [v.elem for v in values]
        return pattern.elem, [v.array for v in values]

    def _apply(self, function: Callable[..., Array], *operands: Any) -> Value:
        elem, arrays = self._operands(*operands)
        with np.errstate(all="ignore"):
            return Value(elem, function(*arrays))

    def fadd(self, a: Any, b: Any) -> Value:
        return self._apply(np.add, a, b)

    def fsub(self, a: Any, b: Any) -> Value:
        return self._apply(np.subtract, a, b)

    def fmul(self, a: Any, b: Any) -> Value:
        return self._apply(np.multiply, a, b)

    def fdiv(self, a: Any, b: Any) -> Value:
        return self._apply(np.divide, a, b)

    add, sub, mul = fadd, fsub, fmul

    def fneg(self, a: Value) -> Value:
        return self._apply(np.negative, a)

    def fma(self, a: Any, b: Any, c: Any) -> Value:
        return self._apply(fma, a, b, c)

    def and_(self, a: Any, b: Any) -> Value:
        return self._apply(np.bitwise_and, a, b)

    def or_(self, a: Any, b: Any) -> Value:
        return self._apply(np.bitwise_or, a, b)

    def xor(self, a: Any, b: Any) -> Value:
        return self._apply(np.bitwise_xor, a, b)

    def shl(self, a: Any, b: Any) -> Value:
        return self._apply(np.left_shift, a, b)

    def ashr(self, a: Any, b: Any) -> Value:
        return self._apply(np.right_shift, a, b)

    def lshr(self, a: Any, b: Any) -> Value:
        return self._apply(lambda x, y: (_unsigned(x) >> _unsigned(y)).view(x.dtype), a, b)

    def icmp(self, predicate: str, a: Any, b: Any) -> Value:
        _, (x, y) = self._operands(a, b)
        if predicate[0] == "u":
            x, y = _unsigned(x), _unsigned(y)
        return Value("i1", _COMPARE[predicate[-2:]](x, y))

    def fcmp(self, predicate: str, a: Any, b: Any) -> Value:
        _, (x, y) = self._operands(a, b)
        if predicate == "uno":
            return Value("i1", np.isnan(x) | np.isnan(y))
        return Value("i1", _COMPARE[predicate[-2:]](x, y))  # NumPy's are ordered, and its not_equal is une

    def select(self, condition: Value, a: Any, b: Any) -> Value:
        elem, (x, y) = self._operands(a, b)
        return Value(elem, np.where(condition.array, x, y))

    def cast(self, op: str, v: Value, elem: str) -> Value:
        array = _unsigned(v.array) if op in ("zext", "uitofp") and v.elem != "i1" else v.array
        with np.errstate(all="ignore"):
            return Value(elem, array.astype(_DTYPES[elem]))

    def bitcast(self, v: Value, elem: str) -> Value:
        return Value(elem, v.array.view(_DTYPES[elem]))

    def each(self, function: Callable[..., Value], *values: Value) -> Value:
        return function(*values)

    def intrinsic(self, name: str, args: Sequence[Value]) -> Value:
        return self._apply(_INTRINSICS[name], *args)

    def value_call(self, name: str, elem: str, args: Sequence[Value]) -> Value:
        """An llvm.nvvm intrinsic."""
        return self._apply(lambda *arrays: self._approximate(name.removeprefix("llvm.nvvm."), arrays), *args)

    def _approximate(self, name: str, arrays: tuple[Array, ...]) -> Array:
        if name in _EXACT:
            return _EXACT[name](*arrays)
        function, flush = _APPROXIMATE[name]
        x = _flush(arrays[0]) if flush else arrays[0]
        exact = function(x.astype(np.longdouble))
        result = exact.astype(x.dtype)
        if self.off:
            noise = self._random.choice([-self.off, self.off], result.shape)
            moved = (exact + noise * np.spacing(np.abs(result))).astype(x.dtype)
            normal = np.isfinite(result) & (np.abs(result) >= np.finfo(x.dtype).tiny)
            result = np.where(normal & (result != exact), moved, result)
        return _flush(result) if flush else result

    def rare_lanes(self, needed: Callable[[Vec], Vec], slow: Callable[[Vec], Vec], x: Vec, fast: Vec) -> Vec:
        """The slow code in all lanes, chosen where it is needed."""
        condition: Any = needed(x).val
        chosen: Any = self.select(condition, slow(x).val, fast.val)
        return Vec(x.b, chosen)


def _unsigned(x: Array) -> Array:
    return x.view(np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _flush(x: Array) -> Array:
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(x.dtype.type(0), x), x)


def fma(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of float32 or float64 with one rounding (float64: but for overflow and underflow on the way)."""
    if a.dtype == np.float32:
        product = a.astype(np.float64) * b.astype(np.float64)
        high, low = _two_sum(product, c.astype(np.float64))
        return _to_odd(high, low).astype(np.float32)
    high, low = _two_product(a, b)
    total, rest = _two_sum(high, c)
    low, lower = _two_sum(low, rest)
    result = total + _to_odd(low, lower)
    plain = a * b + c  # right for infinities and for the sign of a zero
    return np.where(np.isfinite(result) & np.isfinite(high) & (result != 0), result, plain)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _split(a: Array) -> tuple[Array, Array]:
    wide = a * 134217729.0
    high = wide - (wide - a)
    return high, a - high


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


def _to_odd(high: Array, low: Array) -> Array:
    """high + low rounded to odd: where something is left over, the neighbour with an odd last bit."""
    bits = high.view(np.int64)
    inexact = (low != 0) & np.isfinite(low) & np.isfinite(high)
    toward_zero = (low < 0) != (high < 0)
    stepped = np.where((bits & 1) == 0, bits + np.where(toward_zero, -1, 1), bits)
    return np.where(inexact, stepped, bits).view(np.float64)


def _fma_down(a: Array, b: Array, c: Array) -> Array:
    """fma rounded toward minus infinity, for float32."""
    exact = a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    nearest = exact.astype(np.float32)
    return np.where(nearest > exact, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def _multiply_high(a: Array, b: Array) -> Array:
    """The upper 64 bits of the product of two unsigned 64-bit numbers."""
    x, y = _unsigned(a), _unsigned(b)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & mask)
    return (x1 * y1 + (middle >> half) + (other >> half)).view(np.int64)


def _funnel_left(a: Array, b: Array, shift: Array) -> Array:
    x, y, s = _unsigned(a), _unsigned(b), _unsigned(shift)
    width = x.dtype.type(x.dtype.itemsize * 8)
    s = s % width
    return np.where(s == 0, x, x << s | y >> (width - np.maximum(s, 1))).view(a.dtype)


_INTRINSICS: dict[str, Callable[..., Array]] = {
    "llvm.fabs": np.abs, "llvm.maxnum": np.fmax, "llvm.minnum": np.fmin, "llvm.copysign": np.copysign,
    "llvm.sqrt": np.sqrt, "llvm.floor": np.floor, "llvm.rint": np.rint, "llvm.fshl": _funnel_left,
}
_EXACT: dict[str, Callable[..., Array]] = {
    "saturate.f": lambda x: np.fmin(np.fmax(x, np.float32(0)), np.float32(1)), "fma.rm.f": _fma_down,
    "mulhi.ull": _multiply_high,
}


def _reciprocal(x: Array) -> Array:
    return 1 / x


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


# (function, whether it flushes subnormals).
_APPROXIMATE: dict[str, tuple[Callable[[Array], Array], bool]] = {
    "ex2.approx.ftz.f32": (np.exp2, True), "rcp.approx.ftz.f": (_reciprocal, True),
    "rsqrt.approx.f": (_reciprocal_root, False), "rsqrt.approx.ftz.f": (_reciprocal_root, True),
    "rcp.approx.ftz.d": (_reciprocal, True), "rsqrt.approx.ftz.d": (_reciprocal_root, True),
}
