"""Outstanding MMAs of warpgroups: who owns which registers until which wait.

The result registers of an MMA in flight hold *tokens*: bit patterns of a signalling NaN that name the MMA and
the register. Moves of registers (which LLVM's vectors and phis are) carry them along; any other instruction that meets
a token gets the value if a wait has covered the MMA, and is an error if none has.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.backend_ptx.simulator.errors import InFlight, PendingCopy
from tilewright.backend_ptx.simulator.machine.state import WARP, BlockState, Machine
from tilewright.backend_ptx.simulator.memory.in_flight import end_reads

Array = np.ndarray[Any, Any]
_PATTERN, _MASK = 0x7FA00000, 0xFFE00000
_REGISTER_BITS, _NUMBER_BITS = 7, 14
_KEPT = 256  # MMAs whose values are remembered, per block


@dataclass
class OutstandingMma:
    """The values [registers, threads] (as 32-bit words) of one instruction, and which warps may use them."""

    form: tuple[int, str]  # n and kind
    values: Array
    done: Array
    reads: dict[int, list[Array]] = field(default_factory=dict)  # per warp: offsets of operands in shared memory
    left: frozenset[str] = frozenset()  # the registers that hold A


@dataclass
class _Warp:
    """What one warp has started: MMAs not committed yet, and groups, oldest first."""

    open: list[OutstandingMma] = field(default_factory=list)
    groups: list[list[OutstandingMma]] = field(default_factory=list)
    fenced: int = 0  # when it executed wgmma.fence last


class OutstandingMmas(BlockState):
    """All MMAs of a block. `moment` orders fences and writes of registers."""

    def __init__(self, machine: Machine) -> None:
        self.warps = [_Warp() for _ in range(machine.warps)]
        self.kept = _KEPT * machine.cluster
        self.known: dict[int, OutstandingMma] = {}
        self.number = 0
        self.moment = 0
        self.written: Counter[tuple[str, int]] = Counter()  # (register, warp) -> when

    def check(self, machine: Machine) -> None:
        for number, warp in enumerate(self.warps):
            if warp.open or any(warp.groups):
                raise PendingCopy("the kernel ends while wgmma is in flight", [number * WARP])

    def add(self, mma: OutstandingMma, warps: Array) -> Array:
        """Register an MMA; returns the tokens of its registers."""
        self.number = (self.number + 1) % (1 << _NUMBER_BITS)
        self.known[self.number] = mma
        self.known.pop((self.number - self.kept) % (1 << _NUMBER_BITS), None)
        for warp in warps.tolist():
            self.warps[warp].open.append(mma)
        registers = np.arange(len(mma.values), dtype=np.uint32)
        return np.uint32(_PATTERN | self.number << _REGISTER_BITS) | registers

    def commit(self, warps: Array) -> None:
        for warp in warps.tolist():
            mine = self.warps[warp]
            mine.groups.append(mine.open)
            mine.open = []

    def wait(self, m: Machine, warps: Array, pending: int) -> None:
        """All but the newest `pending` groups of each warp are complete."""
        for warp in warps.tolist():
            mine = self.warps[warp]
            count = max(0, len(mine.groups) - pending)
            for mma in (p for group in mine.groups[:count] for p in group):
                mma.done[warp] = True
                for offsets in mma.reads.pop(warp, []):
                    end_reads(m.memory, offsets, warp * WARP)
            del mine.groups[:count]
        m.memory.clocks.meet(warps)  # each lane has waited, so each is ordered after the reads

    def fence(self, warps: Array) -> None:
        self.moment += 1
        for warp in warps.tolist():
            self.warps[warp].fenced = self.moment

    def note_write(self, register: str, warps: Array) -> None:
        """An instruction has written a register that an MMA will take."""
        self.moment += 1
        for warp in warps.tolist():
            mine = self.warps[warp]
            if any(register in p.left for group in (mine.open, *mine.groups) for p in group):
                raise InFlight(f"writes %{register}, which a wgmma in flight reads as A", [warp * WARP])
            self.written[register, warp] = self.moment


def outstanding(m: Machine) -> OutstandingMmas:
    """Those of the block."""
    return m.of_block(OutstandingMmas)


def words_of(value: Array) -> Array | None:
    """Floats, 32-bit integers or pairs of 16-bit numbers as words; None for other types."""
    if value.dtype.itemsize == 2 and value.ndim == 2 and value.shape[1] % 2 == 0:
        return np.ascontiguousarray(value).view(np.uint32)
    return value.view(np.uint32) if value.dtype.itemsize == 4 else None


def is_token(words: Array) -> Array:
    return np.asarray((words & np.uint32(_MASK)) == _PATTERN)


def token_parts(words: Array) -> tuple[Array, Array]:
    """Number of the MMA and register, of tokens."""
    number = words >> np.uint32(_REGISTER_BITS) & np.uint32((1 << _NUMBER_BITS) - 1)
    return number.astype(np.int64), (words & np.uint32((1 << _REGISTER_BITS) - 1)).astype(np.int64)


def settle(m: Machine, value: Array, *, strict: bool, wait: bool = False) -> Array:
    """`value` of the active threads with complete MMAs' values in place of tokens.

    `strict`: a pattern that names no MMA is an error, not a number. Otherwise `value` may be integers, of which any can
    look like a token: all lanes of a warp have the same one. `wait`: MMAs in flight may stay (else an error).
    """
    words = words_of(value)
    if words is None or not is_token(words).any():
        return value
    words = np.array(m.spread(words))
    found = is_token(words)
    found[~_active(m)] = False
    if not strict:
        found &= _same_in_warps(words, _active(m))
    state = outstanding(m)
    numbers, registers = token_parts(words)
    for number in np.unique(numbers[found]).tolist():
        here = found & (numbers == number)
        mma = state.known.get(number)
        threads = np.nonzero(here)[0]
        if mma is None:
            if strict:
                raise InFlight("a result of wgmma from long ago", threads)
            continue
        late = ~mma.done[threads // WARP]
        if late.any() and not wait:
            raise InFlight(
                "uses a result of wgmma with no wgmma.wait_group that covers it before", threads[late])
        ready = here & _per_thread(mma.done, words)
        words[ready] = mma.values[registers[ready], np.nonzero(ready)[0]]
    return words.view(value.dtype)


def _same_in_warps(words: Array, active: Array) -> Array:
    """Which words [threads, ...] all active lanes of their warp have."""
    lanes = active.reshape(-1, WARP)
    by_warp = words.reshape(*lanes.shape, -1)
    first = np.take_along_axis(by_warp, lanes.argmax(axis=1)[:, None, None], axis=1)
    same = ((by_warp == first) | ~lanes[:, :, None]).all(axis=1, keepdims=True)
    return np.broadcast_to(same, by_warp.shape).reshape(words.shape)


def _active(m: Machine) -> Array:
    if m.mask is None:
        return np.ones(m.threads, bool)
    return m.mask


def _per_thread(done: Array, words: Array) -> Array:
    """A flag per warp as one per thread, in the shape of `words`."""
    flags = np.repeat(done, WARP)[: len(words)]
    return flags if words.ndim == 1 else np.broadcast_to(flags[:, None], words.shape)
