"""Meanings of cp.async: copies of up to 16 bytes per thread to shared memory, that land when a wait says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.code import Registers
from tilewright.backend_ptx.simulator.compile import FunctionCompiler, Operation
from tilewright.backend_ptx.simulator.errors import PendingCopy, SimError
from tilewright.backend_ptx.simulator.ir import Instruction
from tilewright.backend_ptx.simulator.machine import Machine
from tilewright.backend_ptx.simulator.memory import GLOBAL
from tilewright.backend_ptx.simulator.shared_async import begin_copy, end_copy

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]


@dataclass
class _Copies:
    """Copies of one instruction that are in flight; `group` is the number of each thread's group.

    They read `lengths` bytes at `sources` at some moment until they land: `data` is what was there at the start.
    """

    threads: Array
    group: Array
    sources: Array
    lengths: Array
    offsets: Array
    data: Array

    def part(self, chosen: Array) -> _Copies:
        return _Copies(*(getattr(self, f.name)[chosen] for f in fields(self)))


def _committed(m: Machine) -> Array:
    found: Array = m.block_state.setdefault("copy groups", np.zeros(m.threads, np.int64))
    return found


def _flying(m: Machine) -> list[_Copies]:
    found: list[_Copies] = m.block_state.setdefault("copies", [])
    return found


def copy_async(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    to, source, length = (c.slot(o) for o in i.operands)
    size = facts["size"]

    def run(m: Machine, r: Registers) -> None:
        threads = m.active
        lengths = m.of_active(r[length])
        if (lengths > size).any():
            raise SimError(f"cp.async reads more than {size} bytes", threads[lengths > size])
        sources = np.array(m.of_active(r[source]))
        data = _read(m, sources, lengths, size, threads)
        offsets = m.memory.shared_offsets(m.of_active(r[to]).astype(np.uint64), size, threads)
        begin_copy(m.memory, offsets, size, threads)
        groups = _committed(m)[threads]
        _flying(m).append(_Copies(np.array(threads), groups, sources, np.array(lengths), offsets, data))

    return run


def _read(m: Machine, sources: Array, lengths: Array, size: int, threads: Array) -> Array:
    """The bytes, zero after the first `lengths`. Nothing is read where the length is 0, whatever the address."""
    data = np.zeros((len(threads), size), np.uint8)
    for n in np.unique(lengths):
        some = lengths == n
        if n:
            data[some, : int(n)] = m.memory.load(GLOBAL, sources[some], int(n), size, threads[some])
    return data


def _land(m: Machine, copies: _Copies) -> None:
    """The bytes arrive. Whoever changes the source before that changes what arrives, perhaps."""
    now = _read(m, copies.sources, copies.lengths, copies.data.shape[1], copies.threads)
    changed = (now != copies.data).any(axis=1)
    if changed.any():
        raise PendingCopy("global memory changes before its asynchronous copy has landed", copies.threads[changed])
    end_copy(m.memory, copies.offsets, copies.data, copies.threads)


def copy_commit(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        _committed(m)[m.active] += 1

    return run


def copy_wait(c: FunctionCompiler, i: Instruction, facts: Facts) -> Operation:
    """All but the thread's latest `pending` groups land now: the latest moment that the hardware allows."""
    pending = facts["pending"]

    def run(m: Machine, r: Registers) -> None:
        done_before = _committed(m) - pending
        here = np.zeros(m.threads, bool)
        here[m.active] = True
        left = []
        for copies in _flying(m):
            lands = (copies.group < done_before[copies.threads]) & here[copies.threads]
            if lands.any():
                _land(m, copies.part(lands))
            if not lands.all():
                left.append(copies.part(~lands))
        m.block_state["copies"] = left

    return run
