"""LLVM's operations on vectors and aggregates: lanes and members in and out, shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import Unsupported
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler, OperationTable
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers, Value
from tilewright.backend_ptx.simulator.ops.arith import pure
from tilewright.backend_ptx.simulator.text.ir import Const, LlvmInstruction, Local
from tilewright.backend_ptx.simulator.text.types import VectorType

Array = np.ndarray[Any, Any]
OPERATIONS = OperationTable()


def _constant_index(i: LlvmInstruction, position: int) -> int | None:
    index = i.operands[position]
    return index.bits if isinstance(index, Const) and isinstance(index.bits, int) else None


@OPERATIONS.define("extractelement")
def _extractelement(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    at = _constant_index(i, 1)
    if at is None:
        return pure(c, i, _extract_dynamic)
    slot, target = c.slot(i.operands[0]), c.result(i)

    def run(m: Machine, r: Registers) -> None:
        m.put(r, target, r[slot][:, at])

    return run


def _extract_dynamic(v: Array, index: Array) -> Array:
    rows = max(len(v), len(index))
    where = np.minimum(np.broadcast_to(index, rows), v.shape[1] - 1).astype(np.int64)
    picked: Array = np.broadcast_to(v, (rows, v.shape[1]))[np.arange(rows), where]
    return picked


@OPERATIONS.define("insertelement")
def _insertelement(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    vector, value, target = c.slot(i.operands[0]), c.slot(i.operands[1]), c.result(i)
    at = _constant_index(i, 2)
    index = c.slot(i.operands[2])
    # A chain of inserts fills one array: nothing else reads the intermediate vectors.
    source = i.operands[0]
    owned = (
        isinstance(source, Local) and c.uses[source.name] == 1
        and source.name in c.defined and c.defined[source.name].opcode == "insertelement"
    )

    def run(m: Machine, r: Registers) -> None:
        v, x = r[vector], r[value]
        rows = max(len(v), len(x)) if at is not None else max(len(v), len(x), len(r[index]))
        if not (owned and len(v) == rows and m.mask is None):
            v = np.array(np.broadcast_to(v, (rows, v.shape[1])))
        if at is not None:
            v[:, at] = x
        else:
            v[np.arange(rows), np.broadcast_to(r[index], rows).astype(np.int64)] = x
        m.put(r, target, v)

    return run


@OPERATIONS.define("shufflevector")
def _shufflevector(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    mask = i.operands[2]
    assert isinstance(mask, Const) and isinstance(i.type, VectorType)
    bits = mask.bits if isinstance(mask.bits, tuple) else (0,) * i.type.count
    lanes = np.array([b if isinstance(b, int) else 0 for b in bits], np.int64)
    first = i.operands[0].type
    assert isinstance(first, VectorType)
    a, b, target = c.slot(i.operands[0]), c.slot(i.operands[1]), c.result(i)
    if (lanes < first.count).all():
        start, count = int(lanes[0]), len(lanes)
        step = int(lanes[1] - lanes[0]) if count > 1 else 1
        if step > 0 and (lanes == start + step * np.arange(count)).all():
            piece = slice(start, start + step * (count - 1) + 1, step)

            def cut(m: Machine, r: Registers) -> None:
                m.put(r, target, r[a][:, piece])

            return cut

        def pick(m: Machine, r: Registers) -> None:
            m.put(r, target, r[a][:, lanes])

        return pick

    def both(m: Machine, r: Registers) -> None:
        x, y = r[a], r[b]
        rows = max(len(x), len(y))
        joined = np.concatenate(
            [np.broadcast_to(x, (rows, x.shape[1])), np.broadcast_to(y, (rows, y.shape[1]))], axis=1
        )
        m.put(r, target, joined[:, lanes])

    return both


@OPERATIONS.define("extractvalue")
def _extractvalue(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    indices = i.extra["indices"]

    def get(a: Value) -> Value:
        for index in indices:
            a = a[index]
        return a

    return pure(c, i, get)


@OPERATIONS.define("insertvalue")
def _insertvalue(c: FunctionCompiler, i: LlvmInstruction) -> Operation:
    indices = i.extra["indices"]
    if len(indices) != 1:
        raise Unsupported("insertvalue into a nested aggregate")
    at = indices[0]
    return pure(c, i, lambda a, x: (*a[:at], x, *a[at + 1 :]))
