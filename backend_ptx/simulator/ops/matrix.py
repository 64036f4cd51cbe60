"""Meanings of ldmatrix, stmatrix and mma.sync: fragments of a warp and matrices ("Matrix Fragments", PTX ISA).

A fragment is described by two index arrays [32, registers, elements per register]: row and column of each element.
Products are added as the target's tensor cores add them, bit for bit (tileir/fused_sums.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import Machine, Registers
from tilewright.backend_ptx.simulator.memory.memory import SHARED
from tilewright.backend_ptx.simulator.numbers import floats
from tilewright.backend_ptx.simulator.ops.warp import by_warp, from_warps
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.tileir import dtypes as dt
from tilewright.tileir.enums import RoundingMode
from tilewright.tileir.fused_sums import Operand, multiply_add, operand, scaled_operand
from tilewright.tileir.rounding import fma_float64

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
_LANE = np.arange(32)[:, None, None]
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f64": 64, "f32": 32, "s32": 32,
         "e2m1": 4}


@cache
def fragment(which: str, m: int, n: int, k: int, bits: int) -> tuple[Array, Array]:
    """(row, column) of every element of operand A [m, k], B [k, n] or C [m, n] with elements of `bits` bits.

    Four lanes share a row of A and C (a column of B). A register holds 32/bits neighbours along k; four lanes
    together hold 4 * 32/bits of them, then come the rows 8 below, then the next such stretch of k. C holds pairs of
    neighbouring columns, two 32-bit registers or one packed one.
    """
    per = max(1, 32 // bits)
    element = np.arange(per)[None, None, :]
    stretch = 4 * per
    group, quad = _LANE // 4, _LANE % 4
    if which == "A":
        tall = m // 8
        register = np.arange(m * k // 32 // per)[None, :, None]
        row = group + 8 * (register % tall) + 0 * element
        column = quad * per + element + stretch * (register // tall)
    elif which == "B":
        register = np.arange(k * n // 32 // per)[None, :, None]
        row = quad * per + element + stretch * register
        column = group + 0 * row
    else:
        number = np.arange(m * n // 32).reshape(-1, per)[None]
        row = group + 8 * (number // 2)
        column = quad * 2 + number % 2 + 0 * row
    row, column = np.broadcast_arrays(row, column)
    return row, column


def values_of(registers: Array, kind: str) -> Array:
    """[..., registers] of raw 32-bit (or float) registers as numbers [..., registers, elements]."""
    if kind in ("f64", "f32"):
        return registers[..., None]
    if kind == "tf32":  # the hardware reads only the upper 19 bits
        return (registers & np.uint32(0xFFFFE000)).view(np.float32)[..., None]
    raw = np.ascontiguousarray(registers)[..., None]
    if kind == "s32":
        return raw.view(np.int32)
    if kind in ("f16", "bf16"):
        return raw.view(np.float16 if kind == "f16" else floats.BF16)
    bytes_ = raw.view(np.uint8)
    if kind == "e2m1":
        fours = np.stack([bytes_ & 15, bytes_ >> 4], axis=-1)
        return floats.FOURS[fours].reshape(*bytes_.shape[:-1], 8)
    if kind in ("s8", "u8"):
        return bytes_.view(np.int8) if kind == "s8" else bytes_
    return floats.from_fp8(bytes_, kind)


def matrix_of(m: Machine, registers: list[Array], which: str, shape: tuple[int, int, int], kind: str) -> Array:
    """The operand of every warp as a float64 matrix [warps, rows, columns]."""
    rows, columns = {"A": (0, 2), "B": (2, 1), "C": (0, 1)}[which]
    row, column = fragment(which, *shape, _BITS[kind])
    stacked = np.stack([by_warp(m, v) for v in registers], axis=2)
    out = np.empty((m.warps, shape[rows], shape[columns]), np.float64)
    out[:, row, column] = values_of(stacked, kind).astype(np.float64)
    return out


def mma(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    shape, acc = facts["shape"], facts["acc"]
    slots = [c.slot(o) for o in i.operands]
    counts = [fragment(w, *shape, _BITS[k])[0].shape[1] for w, k in (("A", facts["a"]), ("B", facts["b"]), ("C", acc))]
    cut = np.cumsum([*counts[:2], 2 if facts["scales"] else 0])
    target = c.result(i)
    row, column = fragment("C", *shape, _BITS[acc])

    def run(m: Machine, r: Registers) -> None:
        m.whole_warps("mma.sync")
        values = [r[s] for s in slots]
        a = matrix_of(m, values[: cut[0]], "A", shape, facts["a"])
        b = matrix_of(m, values[cut[0] : cut[1]], "B", shape, facts["b"])
        words, start = values[cut[1] : cut[2]], matrix_of(m, values[cut[2] :], "C", shape, acc)
        scaled = _scaled(m, (a, b), words, facts) if words else None
        d = multiplied(m, "mma.sync", (facts["a"], facts["b"], acc), a, b, start, scaled)
        lanes = d[:, row, column]  # [warps, 32, registers, elements]
        m.put(r, target, tuple(from_warps(m, _registers(lanes[:, :, n], acc)) for n in range(row.shape[1])))

    return run


def multiplied(
    m: Machine, unit: str, kinds: tuple[str, str, str], a: Array, b: Array, c: Array,
    scaled: tuple[Operand, Operand] | None = None,
) -> Array:
    """a @ b + c by one instruction of a unit; `kinds` are those of a, b and c. `scaled` are a and b with their scales.
    """
    left, right, acc = kinds
    if acc == "s32":
        return a @ b + c
    if acc == "f64":  # one fused multiply-add after the other
        for k in range(a.shape[-1]):
            c = fma_float64(a[..., :, k, None], b[..., k, None, :], c, RoundingMode.RN)
        return c
    rule = m.tensor_cores.summation(unit, dt.BY_IR[left], a.shape[-1])
    operands = scaled or (operand(a, dt.BY_IR[left]), operand(b, dt.BY_IR[right]))
    sums: Array = multiply_add(*operands, c.astype(np.float32), rule, half=acc == "f16")
    return sums


def _scaled(m: Machine, operands: tuple[Array, Array], words: list[Array], facts: Facts) -> tuple[Operand, Operand]:
    """A and B times their scales: bytes of the words of lanes l with l % 4 below 2 (rows l/4 and l/4 + 8 of A) and of
    lanes with l % 4 = 0 (column l/4 of B)."""
    runs, k = facts["scales"], facts["shape"][2]
    rows, columns = (
        floats.from_scale(np.ascontiguousarray(by_warp(m, w))[..., None].view(np.uint8)[..., :runs], facts["scale"])
        for w in words)
    rows = np.concatenate([rows[:, 0::4], rows[:, 1::4]], axis=1)
    left, right = (np.repeat(s, k // runs, axis=2) for s in (rows, columns[:, 0::4]))
    values, scales = dt.BY_IR[facts["a"]], dt.BY_IR[facts["scale"]]
    return (scaled_operand(operands[0], values, left, scales),
            scaled_operand(operands[1], values, right.swapaxes(1, 2), scales))


def _registers(values: Array, acc: str) -> Array:
    """[warps, 32, elements] of float64 as one register per lane."""
    if acc == "f16":
        return np.ascontiguousarray(values.astype(np.float16)).view(np.uint32)[..., 0]
    one = values[..., 0]
    if acc == "s32":  # wraps
        return one.astype(np.int64).astype(np.uint32)
    return one if acc == "f64" else one.astype(np.float32)


def _rows(m: Machine, address: Array, count: int) -> tuple[Array, Array]:
    """Threads whose addresses an x1/x2/x4 instruction uses (active warps' first 8 * count lanes), and those."""
    warps = m.whole_warps("ldmatrix")
    threads = (warps[:, None] * 32 + np.arange(8 * count)).reshape(-1)
    return threads, m.spread(address)[threads].astype(np.uint64)


def matrix_load(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slot, target, count, trans = c.slot(i.operands[0]), c.result(i), facts["count"], facts["trans"]

    def run(m: Machine, r: Registers) -> None:
        threads, addresses = _rows(m, r[slot], count)
        raw = m.memory.load(SHARED, addresses, 16, 16, threads)
        matrices = raw.view(np.uint16).reshape(-1, count, 8, 8)
        if trans:
            matrices = matrices.swapaxes(2, 3)
        # Lane l receives row l / 4, columns 2 * (l % 4) and the next, as one register.
        pairs = np.ascontiguousarray(matrices).view(np.uint32).reshape(-1, count, 32)
        full = np.zeros((m.warps, count, 32), np.uint32)
        full[m.active_warps()] = pairs
        out = tuple(full[:, n].reshape(-1)[: m.threads] for n in range(count))
        m.put(r, target, out[0] if count == 1 else out)

    return run


def matrix_store(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    address, *values = (c.slot(o) for o in i.operands)
    count, trans = facts["count"], facts["trans"]

    def run(m: Machine, r: Registers) -> None:
        threads, addresses = _rows(m, r[address], count)
        pairs = np.stack([by_warp(m, r[v]) for v in values], axis=1)[m.active_warps()]
        matrices = np.ascontiguousarray(pairs).view(np.uint16).reshape(-1, count, 8, 8)
        if trans:
            matrices = matrices.swapaxes(2, 3)
        data = np.ascontiguousarray(matrices).view(np.uint8).reshape(len(threads), 16)
        m.memory.store(SHARED, addresses, data, 16, threads)

    return run
