"""LLVM's address arithmetic, loads, stores and atomics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler, OperationTable
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.memory.memory import LOCAL_BASE
from tilewright.backend_ptx.simulator.numbers import floats
from tilewright.backend_ptx.simulator.numbers.integers import signed
from tilewright.backend_ptx.simulator.ops.arith import pure
from tilewright.backend_ptx.simulator.text.ir import Const, LlvmInstruction
from tilewright.backend_ptx.simulator.text.types import (
    I1,
    Array,
    Ptr,
    Struct,
    Type,
    VectorType,
    numpy_type,
    size_of,
)

Numbers = np.ndarray[Any, Any]
OPERATIONS = OperationTable()


def _steps(i: LlvmInstruction) -> tuple[list[int], int]:
    """Bytes per unit of each variable index, and the bytes that constant struct indices add."""
    t: Type = i.extra["source"]
    factors, fixed = [size_of(t)], 0
    for operand in i.operands[2:]:
        if isinstance(t, Struct):
            assert isinstance(operand, Const) and isinstance(operand.bits, int)
            fixed += sum(map(size_of, t.elems[: operand.bits]))
            t = t.elems[operand.bits]
            factors.append(0)
        else:
            assert isinstance(t, Array | VectorType)
            t = t.elem
            factors.append(size_of(t))
    return factors, fixed


@OPERATIONS.define("getelementptr")
def _getelementptr(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    factors, fixed = _steps(i)
    lanes = isinstance(i.type, VectorType)
    start = np.array([fixed], np.int64)

    def address(base: Numbers, *indices: Numbers) -> Numbers:
        if lanes and base.ndim == 1:
            base = base[:, None]
        offset = start
        for index, factor in zip(indices, factors, strict=True):
            step = signed(index).astype(np.int64) * np.int64(factor)
            offset = offset + (step[:, None] if lanes and step.ndim == 1 else step)
        return base + offset.view(np.uint64)

    return pure(c, i, address)


def _space(t: Type) -> int:
    assert isinstance(t, Ptr)
    return t.space


def _element(t: Type) -> np.dtype[Any]:
    """The type of the bytes in memory: an i1 is a byte, vectors of i1 have no layout that we use."""
    if isinstance(t, VectorType) and t.elem == I1:
        raise Unsupported("a vector of i1 in memory")
    return np.dtype(np.uint8) if t == I1 else numpy_type(t)


def _align(i: LlvmInstruction, t: Type) -> int:
    natural = size_of(t) if not isinstance(t, VectorType) else 1 << (size_of(t) - 1).bit_length()
    given = i.extra["align"]
    return int(given) if given is not None else natural


@OPERATIONS.define("load")
def _load(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    slot, target = c.slot(i.operands[0]), c.result(i)
    space, size, align = _space(i.operands[0].type), size_of(i.type), _align(i, i.type)
    kind, vector, invariant = _element(i.type), isinstance(i.type, VectorType), i.extra["invariant"]
    is_bool = i.type == I1

    def run(m: Machine, r: Registers) -> None:
        raw = m.memory.load(space, m.of_active(r[slot]), size, align, m.active, invariant=invariant)
        value = raw.view(kind)
        if not vector:
            value = value[:, 0]
        m.put(r, target, m.to_threads(value != 0 if is_bool else value))

    return run


@OPERATIONS.define("store")
def _store(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    value, pointer = c.slot(i.operands[0]), c.slot(i.operands[1])
    t = i.operands[0].type
    space, size, align = _space(i.operands[1].type), size_of(t), _align(i, t)
    kind = _element(t)

    def run(m: Machine, r: Registers) -> None:
        data = np.ascontiguousarray(m.of_active(r[value]).astype(kind, copy=False))
        raw = data.view(np.uint8).reshape(len(data), size)
        m.memory.store(space, m.of_active(r[pointer]), raw, align, m.active)

    return run


@OPERATIONS.define("alloca")
def _alloca(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    offset = c.parent.alloca(size_of(i.extra["source"]) * i.extra["count"], i.extra["align"])
    target = c.result(i)
    address = np.array([LOCAL_BASE + offset], np.uint64)

    def run(m: Machine, r: Registers) -> None:
        m.put(r, target, address)

    return run


# ---- atomics: one thread after another, in an order that the machine's seed chooses ----

Update = Callable[[Any, Any], Any]  # (old, operand) -> new; NumPy scalars


def _as_signed(function: Callable[[int, int], int]) -> Update:
    def run(old: Any, x: Any) -> Any:
        kind = np.dtype(f"i{old.dtype.itemsize}")
        return np.asarray(function(old.view(kind), x.view(kind)), kind).view(old.dtype)[()]

    return run


UPDATES: dict[str, Update] = {
    "xchg": lambda old, x: x, "add": lambda old, x: old + x, "sub": lambda old, x: old - x,
    "and": lambda old, x: old & x, "or": lambda old, x: old | x, "xor": lambda old, x: old ^ x,
    "nand": lambda old, x: ~(old & x), "max": _as_signed(max), "min": _as_signed(min),
    "umax": lambda old, x: max(old, x), "umin": lambda old, x: min(old, x),
    "fadd": lambda old, x: old + x, "fsub": lambda old, x: old - x,
    "fmax": lambda old, x: floats.maximum_number(np.asarray(old), np.asarray(x))[()],
    "fmin": lambda old, x: floats.minimum_number(np.asarray(old), np.asarray(x))[()],
    "uinc_wrap": lambda old, x: old.dtype.type(0) if old >= x else old + old.dtype.type(1),
    "udec_wrap": lambda old, x: x if old == 0 or old > x else old - old.dtype.type(1),
}


def atomic(
    m: Machine, space: int, addresses: Numbers, kind: np.dtype[Any], threads: Numbers,
    update: Callable[[Any, int], Any],
) -> Numbers:
    """For each access, in some order: memory becomes update(old, number of the access). Returns the old values."""
    old = np.zeros(len(addresses), kind)
    order = list(range(len(addresses)))
    m.random.shuffle(order)
    for n in order:
        segment, offset = m.memory.atomic_place(space, addresses[n : n + 1], kind.itemsize, threads[n : n + 1])
        place = segment.data[offset : offset + kind.itemsize]
        old[n] = place.view(kind)[0]
        place[:] = np.asarray(update(old[n], n), kind).reshape(1).view(np.uint8)
    return old


@OPERATIONS.define("atomicrmw")
def _atomicrmw(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    pointer, value = (c.slot(o) for o in i.operands)
    space, kind, update = _space(i.operands[0].type), numpy_type(i.operands[1].type), UPDATES[i.extra["operation"]]
    target = c.result(i) if i.result is not None else None

    def run(m: Machine, r: Registers) -> None:
        given = m.of_active(r[value])
        old = atomic(m, space, m.of_active(r[pointer]), kind, m.active, lambda was, n: update(was, given[n]))
        if target is not None:
            m.put(r, target, m.to_threads(old))

    return run


@OPERATIONS.define("cmpxchg")
def _cmpxchg(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    pointer, expected, new = (c.slot(o) for o in i.operands)
    space, kind = _space(i.operands[0].type), numpy_type(i.operands[1].type)
    target = c.result(i) if i.result is not None else None

    def run(m: Machine, r: Registers) -> None:
        want, give = m.of_active(r[expected]), m.of_active(r[new])
        old = atomic(
            m, space, m.of_active(r[pointer]), kind, m.active, lambda was, n: give[n] if was == want[n] else was
        )
        if target is not None:
            m.put(r, target, (m.to_threads(old), m.to_threads(old == want)))

    return run


@OPERATIONS.define("fence")
def _fence(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    return lambda m, r: None
