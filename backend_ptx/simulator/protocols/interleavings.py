"""The moves of a protocol from state to state, and which of them may not happen.

A state is the position of every process, each mbarrier's (complete phases, arrivals missing, bytes missing), and the
TMA loads in flight. What is checked where:

| what | when |
|---|---|
| more arrivals, or other bytes, than a phase expects | at arrivals and when bytes land |
| a phase complete while somebody has yet to wait for the one before: parities alias | when a phase completes |
| a slot filled that somebody reads or has still to read, or into which a copy flies | when a fill starts |
| a slot read before all its bytes have landed and are visible, or with those of another fill | when a read starts |
| nobody can go on; a copy in flight at the end; arrivals at a CTA that has left | always |

Reads by MMAs and TMA stores last from their start to the wait that covers them, whenever the hardware ends them. What
threads read of their own bytes is left to barrier insertion and the simulator, which know layouts.

Reductions leave out interleavings that cannot fail where none of the others does:

* What fails most easily when it comes early, and disables nobody, happens as soon as it can: arrivals, starts of
  copies and reads, and waits that may pass. (A late wait could only see parities alias. Then its slot had been filled
  and released again meanwhile, and the fill finds the reads behind that wait unfinished; `thorough` makes waits steps
  of their own all the same.) What ends an access or makes bytes visible is a step of its own, as late as one likes.
* The copies of an mbarrier land together when somebody waits on it, not before. Landing only enables that wait, who
  touches the slot before finds the copy in flight, and a phase that some of the bytes complete gets too many. It is not
  later either: a process that waits has not finished its reads, as one that has started them.
* The CTAs of a cluster run the same programs and reach either their own mbarriers or all alike: states that differ by a
  permutation of CTAs are one.
* A warpgroup is one process: its warps run the same program and wait on the same mbarriers. Drift among them shows in
  their arrivals: a phase that does not wait for all of them gets too many. `split` in `protocol_of` makes it two, any
  one warp and the rest, which shows each conflict between two warps as an interleaving too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.backend_ptx.simulator.protocols.program import Act, Action, Place, Process, Protocol
from tilewright.backend_ptx.simulator.protocols.tables import NEVER, Tables, is_shared

At = tuple[int, Place]  # CTA and place
State = tuple[tuple[int, ...], tuple[int, ...], tuple[tuple[int, int, int], ...], tuple[int, ...]]
Move = tuple[str, int]  # ("step", process) or ("land", mbarrier)
BEGIN: Move = ("begin", 0)

_BLOCKING = {Act.WAIT, Act.SYNC, Act.TAKE}
_ENDS = {Act.READ_WAIT, Act.STORE_WAIT}
_VISIBLE = {Act.FILL, Act.FENCE, Act.ASYNC_WAIT}


class DefectError(Exception):
    """What is wrong with a step."""


class Interleavings:
    """The moves of a protocol."""

    def __init__(self, protocol: Protocol, thorough: bool = False) -> None:
        self._thorough = thorough
        self.processes, self.teams = protocol.processes, protocol.teams
        self.main = [i for i, p in enumerate(self.processes) if p.role == protocol.main]
        self.ctas = 1 + max(p.cta for p in self.processes)
        counts = dict(protocol.counts)
        copies = [a for p in self.processes for a in p.actions if a.kind is Act.COPY]
        guards = {a.places[0]: a.places[1] for a in copies}
        self.tables = [Tables(p).fill(guards) for p in self.processes]
        used = {a.places[-1] for p in self.processes for a in p.actions
                if a.kind in (Act.WAIT, Act.ARRIVE, Act.EXPECT, Act.COPY)}
        self.barriers = {at: k for k, at in enumerate((c, b) for c in range(self.ctas) for b in sorted(used))}
        self.barrier_names = list(self.barriers)
        self.counts = [counts.get(place[0], 0) for _, place in self.barriers]
        self.slots = {at: k for k, at in enumerate((c, s) for c in range(self.ctas) for s in sorted(guards))}
        self.slot_names = list(self.slots)
        self.parts = {a.places[0]: a.ctas for a in copies}
        self.near = _neighbours(protocol)
        self._passes = [_before(p, Act.PASS) for p in self.processes]
        self._takes = [_before(p, Act.TAKE) for p in self.processes]
        self._syncs = [_before(p, Act.SYNC) for p in self.processes]
        self._late = [self._late_positions(i, thorough) for i in range(len(self.processes))]
        self._log: list[str] | None = None
        self._labels = list(range(self.ctas))

    def _late_positions(self, i: int, thorough: bool) -> list[bool]:
        """By position, whether the action is a step of its own."""
        process, tables = self.processes[i], self.tables[i]
        alone = sum(self.processes[k].cta == process.cta for k in self.main) == 1
        shared = {place for t in self.tables for place in t.shared_reads}
        filled = any(place in shared for place in tables.fills)
        slots = {place for _, place in self.slots}
        out = []
        for at, action in enumerate(process.actions):
            late = action.kind in _ENDS and at in tables.ends
            late |= action.kind is Act.TOUCH and action.places[0] in slots
            late |= action.kind in _VISIBLE and filled and not alone
            out.append(late or (thorough and action.kind in _BLOCKING | _ENDS | _VISIBLE | {Act.TOUCH}))
        return out

    def start(self) -> State:
        bars = [v for count in self.counts for v in (0, count, 0)]
        return (0,) * len(self.processes), tuple(bars), (), (0,) * len(self.slots)

    def canonical(self, state: State) -> tuple[State, list[int]]:
        """The state with its CTAs in order, and which CTA is where."""
        if self.ctas == 1:
            return state, [0]
        pcs, bars, flying, landed = state
        k, b, s = (len(v) // self.ctas for v in (pcs, bars, landed))
        parts = []
        for c in range(self.ctas):
            own = tuple((f - c * b // 3, slot - c * s, size) for f, slot, size in flying if slot // s == c) if s else ()
            parts.append((pcs[c * k : c * k + k], bars[c * b : c * b + b], own, landed[c * s : c * s + s], c))
        parts.sort()
        flights = [(f + c * b // 3, slot + c * s, size) for c, part in enumerate(parts) for f, slot, size in part[2]]
        return (tuple(v for part in parts for v in part[0]), tuple(v for part in parts for v in part[1]),
                tuple(sorted(flights)), tuple(v for part in parts for v in part[3])), [part[4] for part in parts]

    # Moves ---------------------------------------------------------------------------------------------------------

    def moves(self, state: State) -> Iterator[Move]:
        """What may happen next."""
        pcs, bars, flying, _ = state
        for i, (process, pc) in enumerate(zip(self.processes, pcs, strict=True)):
            if pc < len(process.actions) and self._enabled(i, process.actions[pc], pcs, bars):
                yield "step", i
        for barrier in self._awaited(pcs, flying):
            yield "land", barrier

    def _awaited(self, pcs: Sequence[int], flying: Sequence[tuple[int, int, int]]) -> list[int]:
        """The mbarriers on which somebody waits and to which copies are in flight."""
        here = {barrier for barrier, _, _ in flying}
        if not here:
            return []
        fronts = ((p.cta, p.actions[pc]) for p, pc in zip(self.processes, pcs, strict=True) if pc < len(p.actions))
        return sorted(here & {self.barriers[cta, a.places[0]] for cta, a in fronts if a.kind is Act.WAIT})

    def _enabled(self, i: int, action: Action, pcs: Sequence[int], bars: Sequence[int]) -> bool:
        process, kind = self.processes[i], action.kind
        if kind is Act.WAIT:
            return bars[3 * self.barriers[process.cta, action.places[0]]] & 1 != action.a
        if kind is Act.SYNC:
            return self._met(i, pcs, self._syncs, self._mates(process))
        if kind is Act.TAKE:
            peers = self._alternating(process, self._turn(process))
            number = self._takes[i][pcs[i]] + 1
            return self._met(i, pcs, self._takes, peers) and all(
                self._passes[k][pcs[k]] >= number for k in self._passers(process))
        return True

    def _met(self, i: int, pcs: Sequence[int], done: list[list[int]], others: list[int]) -> bool:
        """Have all of these processes come to the meeting to which process i has come?"""
        number = done[i][pcs[i]] + 1
        return all(done[k][min(pcs[k] + 1, len(done[k]) - 1)] >= number for k in others)

    def _mates(self, process: Process) -> list[int]:
        """Those with whom a process of the main role meets at barriers of the CTA, itself included."""
        return [k for k in self.main if self.processes[k].cta == process.cta
                and self.processes[k].team == process.team]

    def _turn(self, process: Process) -> int:
        """What alternates on the tensor cores: teams, or the warpgroups of one."""
        return process.team if self.teams > 1 else process.group

    def _alternating(self, process: Process, turn: int) -> list[int]:
        return [k for k in self.main
                if self.processes[k].cta == process.cta and self._turn(self.processes[k]) == turn]

    def _passers(self, process: Process) -> list[int]:
        """Who yields the tensor cores to a process."""
        turns = 1 + max(self._turn(self.processes[k]) for k in self.main)
        return self._alternating(process, (self._turn(process) - 1) % turns)

    def move(self, state: State, move: Move) -> State:
        """The state after a move; DefectError if it may not happen."""
        what, number = move
        pcs, bars, flying, landed = list(state[0]), list(state[1]), list(state[2]), list(state[3])
        if what == "land":
            self._land(number, pcs, bars, flying, landed)
        elif what == "step":
            self._do(number, pcs, bars, flying, landed)
        self._settle(pcs, bars, flying, landed)
        return tuple(pcs), tuple(bars), tuple(sorted(flying)), tuple(landed)

    def _settle(self, pcs: list[int], bars: list[int], flying: list[Any], landed: list[int]) -> None:
        """Whatever happens as soon as it can."""
        going = True
        while going:
            going = False
            for i, process in enumerate(self.processes):
                while pcs[i] < len(process.actions) and not self._late[i][pcs[i]]:
                    action = process.actions[pcs[i]]
                    if action.kind in _BLOCKING and not self._enabled(i, action, pcs, bars):
                        break
                    self._do(i, pcs, bars, flying, landed)
                    going = True
            for barrier in () if self._thorough or going else self._awaited(pcs, flying):
                self._land(barrier, pcs, bars, flying, landed)
                going = True

    def _do(self, i: int, pcs: list[int], bars: list[int], flying: list[Any], landed: list[int]) -> None:
        """The next action of a process."""
        action = self.processes[i].actions[pcs[i]]
        self._say(f"{self._who(i)} {action}" + (f"  (line {action.line})" if action.line > 0 else ""))
        self._act(i, action, pcs, bars, flying, landed)
        pcs[i] += 1

    def _who(self, i: int) -> str:
        process = self.processes[i]
        return f"CTA {self._labels[process.cta]} {process.name}" if self.ctas > 1 else process.name

    def _name(self, at: At) -> str:
        cta, (name, number) = at
        return f"{name.split('@')[0]}[{number}]" + (f" of CTA {self._labels[cta]}" if self.ctas > 1 else "")

    def _act(self, i: int, action: Action, pcs: list[int], bars: list[int], flying: list[Any],
             landed: list[int]) -> None:
        process, kind = self.processes[i], action.kind
        if kind is Act.ARRIVE:
            for cta in range(action.ctas) if action.ctas > 1 else (process.cta,):
                self._arrive(i, (cta, action.places[0]), process.warps, pcs, bars)
        elif kind is Act.EXPECT:
            barrier = self.barriers[process.cta, action.places[0]]
            bars[3 * barrier + 2] += action.a
            self._arrive(i, (process.cta, action.places[0]), 1, pcs, bars)
        elif kind is Act.COPY:
            for cta in range(action.ctas) if action.ctas > 1 else (process.cta,):
                self._start_copy(i, cta, action, pcs, flying, landed)
        elif kind in (Act.FILL, Act.ASYNC_FILL):
            self._start_fill(i, action, pcs, flying)
        elif kind in (Act.READ, Act.TOUCH, Act.STORE):
            for place in action.places:
                self._start_read(i, place, action, pcs, landed)
        elif kind is Act.PASS:
            peers = self._alternating(process, action.a)
            if any(self._passes[i][pcs[i]] > self._takes[k][min(pcs[k] + 1, len(self._takes[k]) - 1)] for k in peers):
                raise DefectError(f"{process.name} yields the tensor cores a second time before they are taken")

    # mbarriers -----------------------------------------------------------------------------------------------------

    def _arrive(self, i: int, at: At, arrivals: int, pcs: list[int], bars: list[int]) -> None:
        if self._has_left(at[0], pcs):
            raise DefectError(f"{self._who(i)} arrives on {self._name(at)} of a CTA that has left")
        k = 3 * self.barriers[at]
        if bars[k + 1] < arrivals:
            raise DefectError(f"{self._name(at)} gets more arrivals in phase {bars[k]} than the {self.counts[k // 3]} "
                               "that complete it")
        bars[k + 1] -= arrivals
        self._complete(at, pcs, bars)

    def _has_left(self, cta: int, pcs: list[int]) -> bool:
        return all(pcs[k] == len(p.actions) for k, p in enumerate(self.processes) if p.cta == cta)

    def _complete(self, at: At, pcs: list[int], bars: list[int]) -> None:
        """Begin the next phase if all arrivals and bytes are there."""
        k = 3 * self.barriers[at]
        if bars[k + 1] == 0 and bars[k + 2] < 0:  # before the arrivals, bytes of another CTA's copies may come first
            raise DefectError(f"{self._name(at)} gets more bytes in phase {bars[k]} than were announced")
        if bars[k + 1] or bars[k + 2]:
            return
        bars[k] += 1
        bars[k + 1] = self.counts[k // 3]
        self._say(f"    phase {bars[k] - 1} of {self._name(at)} is complete")
        for i, (process, tables, pc) in enumerate(zip(self.processes, self.tables, pcs, strict=True)):
            if process.cta == at[0] and tables.next_target(at[1], pc) < bars[k]:
                raise DefectError(f"{self._name(at)} is {bars[k] - tables.next_target(at[1], pc) + 1} phases ahead of "
                                   f"{self._who(i)}, which waits by parity")

    def _land(self, barrier: int, pcs: list[int], bars: list[int], flying: list[Any], landed: list[int]) -> None:
        for flight in [f for f in flying if f[0] == barrier]:
            _, slot, size = flight
            flying.remove(flight)
            self._say(f"    {size} bytes land in {self._name(self.slot_names[slot])}")
            bars[3 * barrier + 2] -= size
            landed[slot] += 1
        self._complete(self.barrier_names[barrier], pcs, bars)

    # Slots ---------------------------------------------------------------------------------------------------------

    def _start_copy(self, i: int, cta: int, action: Action, pcs: list[int], flying: list[Any],
                    landed: list[int]) -> None:
        place, guard = action.places
        version = self.tables[i].copies[pcs[i]]
        slot = self.slots[cta, place]
        if self._has_left(cta, pcs):
            raise DefectError(f"{self._who(i)} copies to {self._name((cta, place))} of a CTA that has left")
        if landed[slot] // self.parts[place] < version - 1:
            raise DefectError(f"{self._name((cta, place))} is filled again while the last copy to it is in flight")
        self._check_free(i, (cta, place), version, pcs, flying)
        flying.append((self.barriers[cta, guard], slot, action.a))

    def _start_fill(self, i: int, action: Action, pcs: list[int], flying: list[Any]) -> None:
        [place] = action.places
        fills = self.tables[i].fills[place]
        version = 1 + next(k for k, fill in enumerate(fills) if fill[0] == pcs[i])
        self._check_free(i, (self.processes[i].cta, place), version, pcs, flying)

    def _check_free(self, i: int, at: At, version: int, pcs: list[int], flying: list[Any]) -> None:
        """Nobody reads what lies there, and nobody has still to read it; nor in the bytes of buffers around. What other
        threads read of their own bytes is none of a fill by threads."""
        cta, place = at
        for k, (process, tables, pc) in enumerate(zip(self.processes, self.tables, pcs, strict=True)):
            if process.cta != cta:
                continue
            number = tables.unfinished(place, pc, shared=at not in self.slots and k != i)
            if number < version:
                raise DefectError(f"{self._name(at)} is filled for the {_nth(version)} time while {self._who(k)} has "
                                   f"not finished reading the {_nth(number)}")
            for other in self.near.get(place, ()):
                reads = (tables.reads if k == i else tables.shared_reads).get(other, [])
                if any(start < pc <= end for start, end, _ in reads):
                    raise DefectError(f"{self._name(at)} is filled while {self._who(k)} reads "
                                       f"{self._name((cta, other))}, which shares its bytes")
        for other in self.near.get(place, ()):
            if any(slot == self.slots.get((cta, other)) for _, slot, _ in flying):
                raise DefectError(f"{self._name(at)} is filled while a copy to {self._name((cta, other))}, which "
                                   "shares its bytes, is in flight")

    def _start_read(self, i: int, place: Place, action: Action, pcs: list[int], landed: list[int]) -> None:
        at = self.processes[i].cta, place
        version = self.tables[i].version(place, pcs[i])
        if at in self.slots:
            self._check_landed(i, at, version, landed[self.slots[at]], self.parts[place])
            return
        if not version:
            raise DefectError(f"{self._who(i)} reads {self._name(at)}, which nobody has filled")
        for k in self._mates(self.processes[i]) if is_shared(action) else (i,):
            fills = self.tables[k].fills.get(place, [])
            ready = fills[version - 1][1 if action.kind is Act.TOUCH else 2] if len(fills) >= version else NEVER
            if pcs[k] <= ready:
                raise DefectError(f"{self._who(i)} reads {self._name(at)} before the {_nth(version)} fill by "
                                   f"{self._who(k)} is there and visible")

    def _check_landed(self, i: int, at: At, version: int, landed: int, parts: int) -> None:
        if version == 0 or landed < version * parts:
            raise DefectError(f"{self._who(i)} reads {self._name(at)} before the bytes of its {_nth(max(version, 1))} "
                               "fill have landed")
        if landed > version * parts:
            raise DefectError(f"{self._who(i)} reads {self._name(at)} after it was filled again")

    # The end, and telling ------------------------------------------------------------------------------------------

    def problem_at_end(self, state: State) -> str:
        """What is wrong where nothing can happen any more."""
        pcs, _, flying, _ = state
        stuck = [f"{self._who(i)} {p.actions[pc]}" for i, (p, pc) in enumerate(zip(self.processes, pcs, strict=True))
                 if pc < len(p.actions)]
        if stuck:
            return "deadlock: " + "; ".join(stuck)
        if flying:
            where = ", ".join(self._name(self.slot_names[slot]) for _, slot, _ in flying)
            return f"all have ended while copies to {where} are in flight"
        for i, tables in enumerate(self.tables):
            for place, reads in tables.reads.items():
                if any(end == NEVER for _, end, _ in reads):
                    return f"{self._who(i)} ends without waiting for its reads of {place[0]}[{place[1]}]"
            for place, fills in tables.fills.items():
                if any(there == NEVER for _, there, _ in fills):
                    return f"{self._who(i)} ends without waiting for its copies to {place[0]}[{place[1]}]"
        return ""

    def told(self, path: list[Move]) -> list[str]:
        """The actions of a path, in words; the last may be the defect."""
        self._log, state = [], self.start()
        try:
            for move in path:
                state, order = self.canonical(self.move(state, move))
                self._labels = [self._labels[c] for c in order]
        except DefectError:
            pass
        log, self._log, self._labels = self._log, None, list(range(self.ctas))
        return log

    def _say(self, text: str) -> None:
        if self._log is not None:
            self._log.append(text)


def _neighbours(protocol: Protocol) -> dict[Place, list[Place]]:
    """The places of other buffers that share bytes with a place."""
    out: dict[Place, list[Place]] = {}
    touched = {place for p in protocol.processes for a in p.actions for place in a.places}
    extents = [(place, where) for place, where in protocol.extents if place in touched]
    for place, (low, high) in extents:
        near = [other for other, (first, end) in extents if other[0] != place[0] and low < end and first < high]
        if near:
            out[place] = near
    return out


def _before(process: Process, kind: Act) -> list[int]:
    """By position, how many actions of a kind stand before it."""
    out = [0]
    for action in process.actions:
        out.append(out[-1] + (action.kind is kind))
    return out


def _nth(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")
