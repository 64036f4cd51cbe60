"""What a protocol is made of: processes, each a straight line of actions on mbarriers, slots and named barriers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import gcd

Place = tuple[str, int]
"""A slot of a ring, or one of a ring's mbarriers: the name of the ring, and the number. A single buffer is slot 0."""


class Act(Enum):
    """What a process does; the words of a counterexample."""

    WAIT = "waits for phase parity"  # a: parity
    ARRIVE = "arrives"  # on the mbarriers of `ctas` CTAs, with all its warps
    EXPECT = "arrives and expects bytes"  # a: bytes
    COPY = "starts a TMA load"  # into the slots of `ctas` CTAs; a: bytes for each; the mbarrier comes second
    READ = "starts an MMA on"
    READ_WAIT = "waits for MMAs but"  # a: how many may be outstanding
    TOUCH = "loads from"
    FILL = "stores to"
    ASYNC_FILL = "starts a cp.async to"
    COMMIT = "commits its cp.async"
    ASYNC_WAIT = "waits for cp.async groups but"  # a: how many may be outstanding
    FENCE = "fences for the async proxy"
    STORE = "starts a TMA store from"  # a: of how many warps; 1: a single lane stores the whole buffer
    STORE_WAIT = "waits for TMA stores but"  # a: how many may be outstanding
    SYNC = "meets the consumers at the CTA barrier"
    TAKE = "takes the turn"
    PASS = "yields the tensor cores to warpgroup"  # a: which


@dataclass(frozen=True, slots=True)
class Action:
    """One action: on `places` (an mbarrier or slots, by kind), with a number `a`; `line` is the user's. `phase`: how
    many phases are complete after a wait that comes after others, which other warps make."""

    kind: Act
    places: tuple[Place, ...] = ()
    a: int = 0
    ctas: int = 1
    line: int = field(default=0, compare=False)
    phase: int | None = None

    def __str__(self) -> str:
        where = ", ".join(f"{name.split('@')[0]}[{slot}]" for name, slot in self.places)
        number = f" {self.a}" if self.kind in _NUMBERED else ""
        return " ".join(filter(None, (self.kind.value + number, where)))


_NUMBERED = {Act.WAIT, Act.EXPECT, Act.READ_WAIT, Act.ASYNC_WAIT, Act.STORE_WAIT, Act.PASS}


@dataclass(frozen=True, slots=True)
class Process:
    """Threads that run the same actions in step: `warps` of one warpgroup of a role, or a role's elected thread."""

    name: str
    cta: int
    role: str
    group: int
    warps: int
    actions: tuple[Action, ...]
    team: int = 0


@dataclass(frozen=True, slots=True)
class Protocol:
    """The processes of all CTAs of a cluster. `counts`: arrivals that complete a phase of each ring of mbarriers.
    `extents`: first byte and end of each slot in shared memory. `teams`: of warps of the main role, which
    run blocks in turns; at barriers only the threads of one meet."""

    processes: tuple[Process, ...]
    counts: tuple[tuple[str, int], ...]
    extents: tuple[tuple[Place, tuple[int, int]], ...]
    main: str
    teams: int = 1

    def key(self) -> object:
        """Equal for protocols that differ in names, places of buffers that nothing shares, and the unit of bytes."""
        numbers: dict[str, int] = {}
        unit = gcd(*(a.a for p in self.processes for a in p.actions if a.kind in (Act.EXPECT, Act.COPY))) or 1

        def number(name: str) -> int:
            return numbers.setdefault(name, len(numbers))

        def keys(process: Process) -> Iterator[object]:
            for a in process.actions:
                amount = a.a // unit if a.kind in (Act.EXPECT, Act.COPY) else a.a
                yield a.kind, tuple((number(n), s) for n, s in a.places), amount, a.ctas, a.phase

        programs = tuple((p.cta, p.role, p.team, p.group, p.warps, tuple(keys(p))) for p in self.processes)
        overlaps = frozenset(
            (number(a[0]), a[1], number(b[0]), b[1]) for a, (low, high) in self.extents
            for b, (first, end) in self.extents if a[0] != b[0] and low < end and first < high)
        return programs, frozenset((number(n), c) for n, c in self.counts if n in numbers), overlaps
