"""LLVM's arithmetic, comparisons and conversions on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Undefined, Unsupported
from tilewright.backend_ptx.simulator.machine.code import Asked, Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler, OperationTable
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.memory.memory import SHARED_WINDOW
from tilewright.backend_ptx.simulator.numbers import floats
from tilewright.backend_ptx.simulator.numbers.integers import signed, unsigned
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.backend_ptx.simulator.text.types import I1, Float, Ptr, VectorType, numpy_type, scalar

Array = np.ndarray[Any, Any]
OPERATIONS = OperationTable()
Binary = Callable[[Array, Array], Array]


def _nonzero(b: Array) -> Array:
    """Divisors, of threads that do not divide too."""
    return np.where(b == 0, b.dtype.type(1), b)


def _udiv(a: Array, b: Array) -> Array:
    return a // _nonzero(b)


def _urem(a: Array, b: Array) -> Array:
    return a % _nonzero(b)


def _sdiv(a: Array, b: Array) -> Array:
    x, y = signed(a), signed(_nonzero(b))
    quotient = x // y
    quotient = quotient + ((quotient * y != x) & ((x < 0) != (y < 0)))
    return unsigned(quotient)


def _srem(a: Array, b: Array) -> Array:
    return unsigned(np.fmod(signed(a), signed(_nonzero(b))))


def _too_far(amount: Array) -> Array:
    """Whether an amount is no shift of its type."""
    return np.asarray(amount >= amount.dtype.itemsize * 8)


_INTEGER: dict[str, Binary] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "udiv": _udiv, "urem": _urem, "sdiv": _sdiv,
    "srem": _srem, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "shl": np.left_shift, "lshr": np.right_shift, "ashr": lambda a, b: unsigned(signed(a) >> signed(b)),
}
_BOOLEAN: dict[str, Binary] = {
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.bitwise_xor,
    "sub": np.bitwise_xor, "mul": np.bitwise_and,
}
_FLOAT: dict[str, Binary] = {
    "fadd": np.add, "fsub": np.subtract, "fmul": np.multiply, "fdiv": np.divide, "frem": np.fmod,
}


def _flushing(function: Callable[..., Array]) -> Callable[..., Array]:
    return lambda *values: floats.flush(function(*map(floats.flush, values)))


def with_ftz(c: FunctionCompiler, i: LlvmInstruction, function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with subnormal operands and results flushed, where the kernel asks for it."""
    if c.ftz and scalar(i.type) == Float("float"):
        return _flushing(function)
    return function


def pure(c: FunctionCompiler, i: LlvmInstruction, function: Callable[..., Any]) -> Operation:
    """An operation without effects: result = function(operands)."""
    slots = [c.slot(o) for o in i.operands]
    target = c.result(i)
    if len(slots) == 1:
        (only,) = slots

        def run1(m: Machine, r: Registers) -> None:
            m.put(r, target, function(r[only]))

        return run1
    if len(slots) == 2:
        first, second = slots

        def run2(m: Machine, r: Registers) -> None:
            m.put(r, target, function(r[first], r[second]))

        return run2

    def run(m: Machine, r: Registers) -> None:
        m.put(r, target, function(*[r[s] for s in slots]))

    return run


def defined(c: FunctionCompiler, i: LlvmInstruction, operand: int, wrong: Callable[[Array], Array], what: str,
            operation: Operation) -> Operation:
    """`operation`, with the error `what` where an operand of a thread that takes part is `wrong`.

    LLVM's own code may do such things (but no division by zero) and not use the result.
    """
    if not (c.strict or "div" in i.opcode or "rem" in i.opcode):
        return operation
    slot = c.slot(i.operands[operand])

    def run(m: Machine, r: Registers) -> Asked:
        bad = wrong(r[slot])
        if bad.any():
            faults = m.of_active(bad).reshape(len(m.active), -1).any(axis=1)
            if faults.any():
                raise Undefined(what, m.active[faults])
        return operation(m, r)

    return run


@OPERATIONS.define(*_INTEGER)
def _integer(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    table = _BOOLEAN if scalar(i.type) == I1 else _INTEGER
    if i.opcode not in table:
        raise Unsupported(f"{i.opcode} of i1")
    operation = pure(c, i, table[i.opcode])
    if i.opcode in ("udiv", "urem", "sdiv", "srem"):
        return defined(c, i, 1, lambda a: np.asarray(a == 0), f"{i.opcode} by zero is undefined", operation)
    if i.opcode in ("shl", "lshr", "ashr"):
        return defined(c, i, 1, _too_far, f"{i.opcode} by its width or more is undefined", operation)
    return operation


@OPERATIONS.define(*_FLOAT)
def _float(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return pure(c, i, with_ftz(c, i, _FLOAT[i.opcode]))


@OPERATIONS.define("fneg")
def _fneg(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return pure(c, i, np.negative)


@OPERATIONS.define("freeze")
def _freeze(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return pure(c, i, lambda a: a)


# ---- comparisons ----

_ICMP: dict[str, Binary] = {
    "eq": np.equal, "ne": np.not_equal, "ult": np.less, "ule": np.less_equal, "ugt": np.greater,
    "uge": np.greater_equal, "slt": lambda a, b: signed(a) < signed(b), "sle": lambda a, b: signed(a) <= signed(b),
    "sgt": lambda a, b: signed(a) > signed(b), "sge": lambda a, b: signed(a) >= signed(b),
}


def _unordered(a: Array, b: Array) -> Array:
    return np.isnan(a) | np.isnan(b)


_FCMP: dict[str, Binary] = {
    "oeq": np.equal, "ogt": np.greater, "oge": np.greater_equal, "olt": np.less, "ole": np.less_equal,
    "one": lambda a, b: (a != b) & ~_unordered(a, b), "ord": lambda a, b: ~_unordered(a, b), "uno": _unordered,
    "ueq": lambda a, b: (a == b) | _unordered(a, b), "ugt": lambda a, b: ~(a <= b), "uge": lambda a, b: ~(a < b),
    "ult": lambda a, b: ~(a >= b), "ule": lambda a, b: ~(a > b), "une": np.not_equal,
    "true": lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), bool),
    "false": lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), bool),
}


@OPERATIONS.define("icmp")
def _icmp(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return pure(c, i, _ICMP[i.extra["predicate"]])


@OPERATIONS.define("fcmp")
def _fcmp(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return pure(c, i, _FCMP[i.extra["predicate"]])


@OPERATIONS.define("select")
def _select(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    if isinstance(i.operands[1].type, VectorType) and not isinstance(i.operands[0].type, VectorType):
        return pure(c, i, lambda k, a, b: np.where(k[:, None], a, b))
    return pure(c, i, np.where)


# ---- conversions ----


def _trunc(a: Array, to: np.dtype[Any]) -> Array:
    return (a & a.dtype.type(1)).astype(bool) if to.kind == "b" else a.astype(to)


def _sext(a: Array, to: np.dtype[Any]) -> Array:
    return unsigned(signed(a).astype(f"i{to.itemsize}"))


def _float_cast(a: Array, to: np.dtype[Any]) -> Array:
    if a.dtype == floats.F64:
        return floats.round_to(a, to)
    return a.astype(to)


def _to_integer(is_signed: bool) -> Callable[[Array, np.dtype[Any]], Array]:
    return lambda a, to: floats.to_integer(a, to.itemsize * 8, is_signed)


def _outside(bits: int, is_signed: bool) -> Callable[[Array], Array]:
    """Whether floats are none of the integers after truncation."""
    low, high = (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1)) if is_signed else (0.0, 2.0**bits)

    def wrong(a: Array) -> Array:
        whole = np.trunc(a.astype(np.float64))
        return np.asarray(~((whole >= low) & (whole < high)))

    return wrong


def _from_bool(a: Array) -> Array:
    return a.astype(np.uint8) if a.dtype.kind == "b" else a


_CASTS: dict[str, Callable[[Array, np.dtype[Any]], Array]] = {
    "trunc": _trunc, "zext": lambda a, to: a.astype(to), "sext": _sext, "fptrunc": _float_cast, "fpext": _float_cast,
    "fptosi": _to_integer(True), "fptoui": _to_integer(False),
    "sitofp": lambda a, to: floats.from_integer(signed(a), to),
    "uitofp": lambda a, to: floats.from_integer(_from_bool(a), to),
    "ptrtoint": lambda a, to: a.astype(to), "inttoptr": lambda a, to: a.astype(to),
}


@OPERATIONS.define(*_CASTS)
def _cast(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    function, to = _CASTS[i.opcode], numpy_type(i.type)
    operation = pure(c, i, lambda a: function(a, to))
    if i.opcode in ("fptosi", "fptoui"):
        outside = _outside(to.itemsize * 8, i.opcode == "fptosi")
        return defined(c, i, 0, outside, f"{i.opcode} of NaN or out of range is undefined", operation)
    return operation


@OPERATIONS.define("addrspacecast")
def _addrspacecast(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    source, to = scalar(i.operands[0].type), scalar(i.type)
    assert isinstance(source, Ptr) and isinstance(to, Ptr)
    window = np.uint64(SHARED_WINDOW)
    if source.space == 3 and to.space == 0:
        return pure(c, i, lambda a: a + window)
    if source.space == 0 and to.space == 3:
        return pure(c, i, lambda a: a - window)
    return pure(c, i, lambda a: a)


def _to_bytes(a: Array) -> Array:
    """[n] or [n, lanes] as bytes [n, size]; i1 lanes are packed, eight to a byte."""
    rows = a.shape[0]
    if a.dtype.kind == "b":
        return np.packbits(a.reshape(rows, -1), axis=1, bitorder="little")
    return np.ascontiguousarray(a).view(np.uint8).reshape(rows, -1)


@OPERATIONS.define("bitcast")
def _bitcast(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    source, target = i.operands[0].type, i.type
    to = numpy_type(target)
    shape = (-1, target.count) if isinstance(target, VectorType) else (-1,)
    same_size = scalar(source) != I1 and to.itemsize == numpy_type(source).itemsize and to.kind != "b"
    if same_size and isinstance(source, VectorType) == isinstance(target, VectorType):
        return pure(c, i, lambda a: a.view(to))

    def convert(a: Array) -> Array:
        raw = _to_bytes(a)
        if to.kind == "b":
            lanes = target.count if isinstance(target, VectorType) else 1
            bits = np.unpackbits(raw, axis=1, bitorder="little", count=lanes).astype(bool)
            return bits.reshape(shape)
        return raw.view(to).reshape(shape)

    return pure(c, i, convert)
