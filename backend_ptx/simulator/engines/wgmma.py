"""Meanings of wgmma: MMAs that run beside the threads.

Each warp of a warpgroup computes its 16 rows on its own, when it gets there: the hardware promises no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.instructions.warpgroup import A_REGISTERS, KINDS, Kind
from tilewright.backend_ptx.simulator.engines import descriptor
from tilewright.backend_ptx.simulator.errors import Divergence, InFlight, Unfenced
from tilewright.backend_ptx.simulator.machine.code import Operation
from tilewright.backend_ptx.simulator.machine.compile import FunctionCompiler
from tilewright.backend_ptx.simulator.machine.outstanding import (
    OutstandingMma,
    is_token,
    outstanding,
    settle,
    token_parts,
    words_of,
)
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine, Registers, Value
from tilewright.backend_ptx.simulator.machine.tracked_registers import left_operands, register_operands, roots
from tilewright.backend_ptx.simulator.memory.in_flight import begin_reads
from tilewright.backend_ptx.simulator.memory.shared import peer
from tilewright.backend_ptx.simulator.ops.matrix import matrix_of, multiplied, values_of
from tilewright.backend_ptx.simulator.text.ir import LlvmInstruction
from tilewright.backend_ptx.simulator.text.types import Float

Array = np.ndarray[Any, Any]
Facts = Mapping[str, Any]
GROUP = 4  # warps
_ROWS = 16  # of a warp


def _accumulator(n: int, kind: Kind) -> tuple[Array, Array]:
    """(row, column) [32, registers, elements] of a warp's part of the accumulators."""
    lane = np.arange(WARP)[:, None, None]
    element = np.arange(n // 2).reshape(1, -1, kind.per_register)
    row = lane // 4 + 8 * (element // 2 % 2)
    column = 8 * (element // 4) + 2 * (lane % 4) + element % 2
    row, column = np.broadcast_arrays(row, column)
    return row, column


@dataclass
class _Call:
    """The operands' slots of one wgmma instruction, and what its facts say."""

    facts: Facts
    kind: Kind
    steps: list[tuple[list[int], int]]  # slots of A (a descriptor, or registers) and of B's descriptor
    scale: int
    acc: list[int]
    roots: frozenset[str]
    left: frozenset[str]  # those of A
    line: int

    @property
    def form(self) -> tuple[int, str]:
        return self.facts["n"], self.facts["kind"]


def wgmma(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slots = [c.slot(o) for o in i.operands]
    kind = KINDS[facts["kind"]]
    each = 1 if facts["shared_a"] else A_REGISTERS
    steps = [
        (slots[at : at + each], slots[at + each]) for at in range(0, facts["steps"] * (each + 1), each + 1)
    ]
    scale = facts["steps"] * (each + 1)
    names, left = (roots(operands, c.defined) for operands in (register_operands(i), left_operands(i)))
    call = _Call(facts, kind, steps, slots[scale], slots[scale + 1 :], names, left, i.line)
    target = c.result(i)

    def run(m: Machine, r: Registers) -> None:
        warps = m.whole_warps("wgmma")
        if (warps % m.block_warps >= m.block_warps // GROUP * GROUP).any():
            raise Divergence("wgmma by warps that are no whole warpgroup", m.active)
        if facts["fenced"]:
            outstanding(m).fence(warps)
        tokens = _Run(m, r, call, warps).start()
        kind_of = np.float32 if kind.register == "float" else np.uint32
        m.put(r, target, tuple(t.reshape(1).view(kind_of) for t in tokens))

    return run


class _Run:
    """One execution of a wgmma instruction by some warps."""

    def __init__(self, m: Machine, r: Registers, call: _Call, warps: Array) -> None:
        self.m, self.r, self.call, self.warps = m, r, call, warps
        self.state = outstanding(m)
        self.reads: dict[int, list[Array]] = {int(w): [] for w in warps}
        self.row, self.column = _accumulator(call.facts["n"], call.kind)

    def start(self) -> Array:
        """Compute, and keep the results from everybody until a wait. Returns the registers' tokens."""
        scale = self._uniform(self.call.scale, "scale-d")
        b = [self._uniform(slot, "B's descriptor") for _, slot in self.call.steps]
        a = [self._uniform(s[0], "A's descriptor") if self.call.facts["shared_a"] else [] for s, _ in self.call.steps]
        for at, warp in enumerate(self.warps.tolist()):
            _same_in_group(self.m, warp, (self.call.line, scale[at], *(x[at] for x in (*a, *b) if x)))
        d = self._accumulators() * (np.array(scale) != 0)[:, None, None]
        for step in range(len(self.call.steps)):
            right = self._right(b[step]).swapaxes(1, 2)
            d = self._wrapped(multiplied(self.m, "wgmma", self._kinds, self._left(step, a[step]), right, d))
        done = np.ones(self.m.warps, bool)
        done[self.warps] = False
        mma = OutstandingMma(self.call.form, self._words(d), done, self.reads, self.call.left)
        return self.state.add(mma, self.warps)

    def _uniform(self, slot: int, name: str) -> list[int]:
        """The value of each warp, the same in all its lanes."""
        lanes = self.m.spread(self.r[slot])[: self.m.warps * WARP].reshape(self.m.warps, WARP)[self.warps]
        if (lanes != lanes[:, :1]).any():
            raise Divergence(f"wgmma: {name} differs between lanes of a warp", self.warps * WARP)
        return [int(x) for x in lanes[:, 0]]

    # ---- operands ----

    def _left(self, step: int, descriptors: list[int]) -> Array:
        """A's rows of each warp, [warps, 16, k]."""
        facts, kind = self.call.facts, self.call.kind
        if not facts["shared_a"]:
            registers = [settle(self.m, self.r[s], strict=False) for s in self.call.steps[step][0]]
            return matrix_of(self.m, registers, "A", (_ROWS, 8, kind.k), kind.a)[self.warps]
        rows = [
            self._read(bits, facts["a_trans"], warp % self.m.block_warps % GROUP * _ROWS, _ROWS, warp, kind.a)
            for warp, bits in zip(self.warps.tolist(), descriptors, strict=True)
        ]
        return np.stack(rows)

    def _right(self, descriptors: list[int]) -> Array:
        """B's columns as each warp sees them, [warps, n, k]."""
        facts, kind = self.call.facts, self.call.kind
        columns = [
            self._read(bits, facts["b_trans"], 0, facts["n"], warp, kind.b)
            for warp, bits in zip(self.warps.tolist(), descriptors, strict=True)
        ]
        return np.stack(columns)

    def _read(self, bits: int, trans: bool, first: int, count: int, warp: int, kind: str) -> Array:
        addresses = descriptor.operand(bits, trans, first, count).reshape(-1).astype(np.uint64)
        addresses += np.uint64(peer(0, warp // self.m.block_warps))  # a descriptor means the warp's own block
        offsets, data = begin_reads(self.m.memory, addresses, warp * WARP, "wgmma")
        self.reads[warp].append(offsets)
        words = descriptor.to_rows(data, trans, count)
        return values_of(words, kind).reshape(count, -1).astype(np.float64)

    # ---- accumulators ----

    def _accumulators(self) -> Array:
        """The accumulators before the MMA, [warps, 16, n]."""
        given = [words_of(self.m.spread(self.r[s])) for s in self.call.acc]
        words = np.stack([w for w in given if w is not None])[:, : self.m.warps * WARP]  # [registers, threads]
        lanes = words.reshape(len(words), self.m.warps, WARP)
        ours = np.empty((len(words), len(self.warps), WARP), np.uint32)
        for at, warp in enumerate(self.warps.tolist()):
            ours[:, at] = self._of_warp(lanes[:, warp], warp)
        out = np.zeros((len(self.warps), _ROWS, self.call.facts["n"]))
        numbers = _numbers(ours, self.call.kind).transpose(1, 2, 0, 3)  # [warps, lanes, registers, elements]
        out[:, self.row, self.column] = numbers
        return out

    def _of_warp(self, words: Array, warp: int) -> Array:
        """The accumulators' words [registers, 32] of a warp; those of the latest MMAs need no wait."""
        numbers, registers = token_parts(words)
        number = int(numbers.flat[0])
        mma = self.state.known.get(number)
        if mma is not None and is_token(words).all() and (numbers == number).all():
            if mma.form != self.call.form or (registers != np.arange(len(words))[:, None]).any():
                raise InFlight("wgmma takes accumulators of an MMA of another shape, or others of its registers",
                               [warp * WARP])
            return mma.values[:, warp * WARP : (warp + 1) * WARP]
        self._require_fence(warp)
        full = np.zeros((len(words), self.m.threads), np.uint32)
        full[:, warp * WARP : (warp + 1) * WARP] = words
        settled = [settle(self.m, row.view(np.float32), strict=False).view(np.uint32) for row in full]
        return np.stack(settled)[:, warp * WARP : (warp + 1) * WARP]

    def _require_fence(self, warp: int) -> None:
        fenced = self.state.warps[warp].fenced
        late = max((self.state.written[name, warp] for name in self.call.roots), default=0)
        if fenced == 0 or fenced < late:
            raise Unfenced("wgmma takes registers that the warp wrote with no wgmma.fence after that", [warp * WARP])

    @property
    def _kinds(self) -> tuple[str, str, str]:
        return self.call.kind.a, self.call.kind.b, self.call.kind.acc

    def _wrapped(self, d: Array) -> Array:
        return d.astype(np.int64).astype(np.int32).astype(np.float64) if self.call.kind.integer else d

    def _words(self, d: Array) -> Array:
        """The accumulators as words [registers, threads of the block]."""
        lanes = d[:, self.row, self.column]  # [warps, 32, registers, elements]
        kind = self.call.kind
        stored = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[kind.acc]
        words = np.ascontiguousarray(lanes.astype(stored)).view(np.uint32)[..., 0]
        out = np.zeros((words.shape[2], self.m.warps, WARP), np.uint32)
        out[:, self.warps] = words.transpose(2, 0, 1)
        return out.reshape(len(out), -1)


def _numbers(words: Array, kind: Kind) -> Array:
    """Accumulator words as float64, elements of a register along a new last axis."""
    stored = {"f32": np.float32, "f16": np.float16, "s32": np.int32}[kind.acc]
    raw = np.ascontiguousarray(words)[..., None]
    return raw.view(stored).astype(np.float64)


@dataclass
class _Order:
    """The MMAs of a warpgroup, as its first warp issued them, and how many each warp has issued."""

    issued: list[tuple[int, ...]] = field(default_factory=list)
    counts: list[int] = field(default_factory=lambda: [0] * GROUP)


class _Orders(BlockState):
    """The order of each warpgroup of the cluster."""

    def __init__(self, machine: Machine) -> None:
        self.of_group: dict[int, _Order] = {}

    def check(self, machine: Machine) -> None:
        for group, order in self.of_group.items():
            if len(set(order.counts)) > 1:
                raise Divergence(f"wgmma: the warps of warpgroup {group} issue {order.counts} MMAs")


def _same_in_group(m: Machine, warp: int, what: tuple[int, ...]) -> None:
    """All warps of a warpgroup execute the same MMAs."""
    groups = m.of_block(_Orders).of_group
    rank, warp_of_block = divmod(warp, m.block_warps)
    number, part = divmod(warp_of_block, GROUP)
    order = groups.setdefault(rank * (m.block_warps // GROUP) + number, _Order())
    at = order.counts[part]
    order.counts[part] += 1
    if at == len(order.issued):
        order.issued.append(what)
    elif order.issued[at] != what:
        raise Divergence("wgmma: the warps of the warpgroup issue different MMAs", [warp * WARP])


def _through(c: FunctionCompiler, i: LlvmInstruction) -> tuple[list[int], int | None]:
    """Slots of the registers that pass through a wait, and where they go."""
    return [c.slot(o) for o in i.operands], c.result(i) if i.result is not None else None


def wgmma_fence(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return lambda m, r: outstanding(m).fence(m.whole_warps("wgmma.fence"))


def _result(values: list[Array]) -> Value:
    return values[0] if len(values) == 1 else tuple(values)


def wgmma_commit(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    return lambda m, r: outstanding(m).commit(m.whole_warps("wgmma.commit_group"))


def wgmma_wait(c: FunctionCompiler, i: LlvmInstruction, facts: Facts) -> Operation:
    slots, target = _through(c, i)
    strict = [o.type == Float("float") for o in i.operands]
    pending = facts["pending"]

    def run(m: Machine, r: Registers) -> None:
        outstanding(m).wait(m, m.whole_warps("wgmma.wait_group"), pending)
        if target is not None:
            given = zip(slots, strict, strict=True)
            m.put(r, target, _result([settle(m, r[s], strict=exact, wait=True) for s, exact in given]))

    return run
