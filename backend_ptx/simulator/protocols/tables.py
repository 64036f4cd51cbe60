"""What is known of each process before anything runs: when its reads end, which fill of a slot they mean, and for which
phase it waits. Processes are straight lines, so these are tables by position."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Place, Process

NEVER = 1 << 30
_GROUPS = {Act.READ: Act.READ_WAIT, Act.STORE: Act.STORE_WAIT}


class Tables:
    """Of one process.

    `targets`: by position of a wait, how many phases of its mbarrier are complete when it may go on.
    `reads`: by place, (position, position at which it is over, the fill that it reads), in order; `shared_reads`, those
    of other threads' bytes among them: by MMAs, and by TMA stores of whole buffers.
    `fills`: by place, (position, position from which the threads' bytes are there, from which the async proxy sees
    them), one for each fill by threads. `copies`: by position of a TMA load, which fill it is.
    """

    def __init__(self, process: Process) -> None:
        self.process = process
        self.targets: dict[int, int] = {}
        self.reads: dict[Place, list[tuple[int, int, int]]] = {}
        self.shared_reads: dict[Place, list[tuple[int, int, int]]] = {}
        self.ends: set[int] = set()
        self.fills: dict[Place, list[tuple[int, int, int]]] = {}
        self.copies: dict[int, int] = {}
        self.waits: dict[Place, list[int]] = {}
        self.guards: dict[Place, Place] = {}

    def fill(self, guards: dict[Place, Place]) -> Tables:
        """`guards`: the mbarrier of each slot that TMA fills."""
        self.guards = guards
        self._find_targets()
        self._find_fills()
        self._find_reads()
        length = len(self.process.actions)
        self._ends = {place: _unfinished(reads, length) for place, reads in self.reads.items()}
        self._shared_ends = {place: _unfinished(reads, length) for place, reads in self.shared_reads.items()}
        return self

    def unfinished(self, place: Place, at: int, shared: bool = False) -> int:
        """The earliest fill of a place that the process at this position has still to read, or is reading."""
        ends = (self._shared_ends if shared else self._ends).get(place)
        return ends[at] if ends else NEVER

    def next_target(self, barrier: Place, at: int) -> int:
        """What the process' next wait on an mbarrier waits for."""
        positions = self.waits.get(barrier, [])
        k = bisect_left(positions, at)
        return self.targets[positions[k]] if k < len(positions) else NEVER

    def version(self, place: Place, at: int) -> int:
        """Which fill of a place a read at this position means: TMA's, by the phase that was waited for last; the
        threads' own last one."""
        guard = self.guards.get(place)
        if guard is None:
            return sum(1 for start, _, _ in self.fills.get(place, []) if start < at)
        positions = self.waits.get(guard, [])
        k = bisect_left(positions, at)
        return self.targets[positions[k - 1]] if k else 0

    def _steps(self, *kinds: Act) -> Iterator[tuple[int, Action]]:
        return ((i, a) for i, a in enumerate(self.process.actions) if a.kind in kinds)

    def _find_targets(self) -> None:
        self.targets = targets_of(self.process.actions)
        for i in self.targets:
            self.waits.setdefault(self.process.actions[i].places[0], []).append(i)

    def _find_fills(self) -> None:
        number: dict[Place, int] = {}
        for i, a in self._steps(Act.COPY):
            number[a.places[0]] = self.copies[i] = number.get(a.places[0], 0) + 1
        landed = self._async_ends()
        for i, a in self._steps(Act.FILL, Act.ASYNC_FILL):
            there = i if a.kind is Act.FILL else landed.get(i, NEVER)
            fenced = next((j for j, _ in self._steps(Act.FENCE) if j > there), NEVER)
            self.fills.setdefault(a.places[0], []).append((i, there, fenced))

    def _async_ends(self) -> dict[int, int]:
        """By position of a cp.async, that of the wait that covers it."""
        groups: list[list[int]] = []
        still: list[int] = []
        out: dict[int, int] = {}
        for i, a in self._steps(Act.ASYNC_FILL, Act.COMMIT, Act.ASYNC_WAIT):
            if a.kind is Act.ASYNC_FILL:
                still.append(i)
            elif a.kind is Act.COMMIT:
                groups.append(still)
                still = []
            else:
                out.update({k: i for group in groups[: max(0, len(groups) - a.a)] for k in group if k not in out})
        return out

    def _find_reads(self) -> None:
        for i, a in self._steps(Act.TOUCH):
            self.reads.setdefault(a.places[0], []).append((i, i, self.version(a.places[0], i)))
        for kind, wait in _GROUPS.items():
            still: list[tuple[int, Action]] = []
            for i, a in self._steps(kind, wait):
                if a.kind is kind:
                    still.append((i, a))
                    continue
                done, still = still[: max(0, len(still) - a.a)], still[max(0, len(still) - a.a) :]
                self._over(done, i)
            self._over(still, NEVER)
        for reads in self.reads.values():
            reads.sort()

    def _over(self, reads: list[tuple[int, Action]], end: int) -> None:
        for start, a in reads:
            if is_shared(a):
                self.ends.add(end)
            for place in a.places:
                read = start, end, self.version(place, start)
                self.reads.setdefault(place, []).append(read)
                if is_shared(a):
                    self.shared_reads.setdefault(place, []).append(read)


def targets_of(actions: Sequence[Action]) -> dict[int, int]:
    """By position of a wait, the complete phases that it means. A wait for the parity of the wait before it means the
    same phase; else the next one of that parity; unless it says which."""
    last: dict[Place, int] = {}
    found: dict[int, int] = {}
    for i, a in enumerate(actions):
        if a.kind is Act.WAIT:
            target = last.get(a.places[0], -1)
            while target < 0 or target & 1 == a.a:
                target += 1
            found[i] = last[a.places[0]] = target if a.phase is None else a.phase
    return found


def is_shared(action: Action) -> bool:
    """Does a read concern bytes of other threads? A TMA store of several warps copies what each has written itself."""
    return action.kind is Act.READ or (action.kind is Act.STORE and action.a == 1)


def _unfinished(reads: list[tuple[int, int, int]], length: int) -> list[int]:
    """By position, the earliest fill among the reads that are not over there."""
    out = [NEVER] * (length + 1)
    for _, end, version in reads:
        for at in range(min(end, length) + 1):
            out[at] = min(out[at], version)
    return out
