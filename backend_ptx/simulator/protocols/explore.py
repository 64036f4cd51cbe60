"""Every interleaving of a protocol, state by state: no deadlock, no slot overwritten too early or read too early.

The states and moves, and the reductions that leave out most of them, are those of interleavings.py.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tilewright.backend_ptx.simulator.protocols.interleavings import BEGIN, DefectError, Interleavings, Move, State
from tilewright.backend_ptx.simulator.protocols.program import Protocol


class ViolationError(Exception):
    """A defect of a protocol, with the shortest interleaving that shows it."""

    def __init__(self, what: str, trace: list[str]) -> None:
        super().__init__("\n".join([what, *(f"  {line}" for line in trace)]))
        self.what = what
        self.trace = trace


class TooManyStatesError(Exception):
    """The exploration was given up."""


@dataclass(frozen=True, slots=True)
class Explored:
    """How many states a protocol has, and how many moves lead from one to another."""

    states: int
    moves: int


def explore(protocol: Protocol, limit: int = 2_000_000, *, thorough: bool = False) -> Explored:
    """Visit every state. ViolationError for a defect; TooManyStatesError above `limit` states. `thorough`: with fewer
    reductions, to hold the others against."""
    machine = Interleavings(protocol, thorough)
    came: dict[State, tuple[State, Move] | None] = {}
    try:
        first = machine.canonical(machine.move(machine.start(), BEGIN))[0]
    except DefectError as error:
        raise ViolationError(str(error), machine.told([BEGIN])) from None
    came[first] = None
    queue, moves = deque([first]), 0
    while queue:
        state = queue.popleft()
        options = list(machine.moves(state))
        if not options and (problem := machine.problem_at_end(state)):
            raise ViolationError(problem, machine.told(_path(state, came)))
        for move in options:
            try:
                after = machine.canonical(machine.move(state, move))[0]
            except DefectError as error:
                raise ViolationError(str(error), machine.told([*_path(state, came), move])) from None
            moves += 1
            if after not in came:
                came[after] = state, move
                queue.append(after)
        if len(came) > limit:
            raise TooManyStatesError(f"more than {limit} states")
    return Explored(len(came), moves)


def _path(state: State, came: dict[State, tuple[State, Move] | None]) -> list[Move]:
    """The moves that lead to a state."""
    path: list[Move] = []
    found = came[state]
    while found is not None:
        state, move = found
        path.append(move)
        found = came[state]
    return [BEGIN, *reversed(path)]
