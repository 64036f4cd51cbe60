"""Meanings of cp.async: copies of up to 16 bytes per thread to shared memory, that land when a wait says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import PendingCopy, SimError
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.state import BlockState, Machine, Registers
from tilewright.backend_ptx.simulator.memory.in_flight import begin_copy, end_copy
from tilewright.backend_ptx.simulator.memory.memory import GLOBAL
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction

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


class _OutstandingCopies(BlockState):
    """The copies in flight, and how many groups each thread has committed."""

    def __init__(self, machine: Machine) -> None:
        self.copies: list[_Copies] = []
        self.committed = np.zeros(machine.threads, np.int64)


def copy_async(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
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
        state = m.of_block(_OutstandingCopies)
        groups = state.committed[threads]
        state.copies.append(_Copies(np.array(threads), groups, sources, np.array(lengths), offsets, data))

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


def copy_commit(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    def run(m: Machine, r: Registers) -> None:
        m.of_block(_OutstandingCopies).committed[m.active] += 1

    return run


def copy_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    """All but the thread's latest `pending` groups land now: the latest moment that the hardware allows."""
    pending = facts["pending"]

    def run(m: Machine, r: Registers) -> None:
        state = m.of_block(_OutstandingCopies)
        done_before = state.committed - pending
        here = np.zeros(m.threads, bool)
        here[m.active] = True
        left = []
        for copies in state.copies:
            lands = (copies.group < done_before[copies.threads]) & here[copies.threads]
            if lands.any():
                _land(m, copies.part(lands))
            if not lands.all():
                left.append(copies.part(~lands))
        state.copies = left

    return run
