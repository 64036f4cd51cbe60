"""Vector clocks say exactly what a graph of the synchronisations says: which access is ordered before which."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
import pytest

from tilewright.tileir.clocks import Message, VectorClocks, merge_messages, time_told

FIRST, SECOND, THIRD = range(3)
Event = tuple[int, int, int]  # participant, its time, number


def who(*participants: int) -> np.ndarray:
    return np.array(participants)


def ordered(clocks: VectorClocks, before: int, time: int, after: int) -> bool:
    """Whether what `before` did at that time comes before what `after` does next."""
    return bool(clocks.known[after, before] >= time)


def test_nothing_is_ordered_before_a_synchronisation() -> None:
    clocks = VectorClocks(3)
    for p in range(3):
        for q in range(3):
            assert not ordered(clocks, p, clocks.now[p], q)


def test_a_barrier_orders_what_came_before_it_among_those_who_meet() -> None:
    clocks = VectorClocks(3)
    before = int(clocks.now[FIRST])
    clocks.join(who(FIRST, SECOND))
    assert ordered(clocks, FIRST, before, SECOND) and ordered(clocks, FIRST, before, FIRST)
    assert not ordered(clocks, FIRST, before, THIRD)
    assert not ordered(clocks, FIRST, int(clocks.now[FIRST]), SECOND)  # what comes after it


def test_messages_carry_what_the_sender_has_learned() -> None:
    clocks = VectorClocks(3)
    before = int(clocks.now[FIRST])
    clocks.acquire(who(SECOND), clocks.release(who(FIRST)))
    after = int(clocks.now[FIRST])
    clocks.acquire(who(THIRD), clocks.release(who(SECOND)))
    assert ordered(clocks, FIRST, before, SECOND) and ordered(clocks, FIRST, before, THIRD)
    assert not ordered(clocks, FIRST, after, THIRD)
    assert not ordered(clocks, THIRD, int(clocks.now[THIRD]), FIRST)  # a message goes one way


def test_a_part_of_the_threads_tells_what_all_did_before_they_met() -> None:
    clocks = VectorClocks(2)
    before = int(clocks.now[FIRST])
    clocks.meet(who(FIRST))
    since = int(clocks.now[FIRST])
    message = clocks.release(who(FIRST), whole=False)
    assert clocks.now[FIRST] == since  # its other threads go on in this time
    clocks.acquire(who(SECOND), message)
    assert ordered(clocks, FIRST, before, SECOND) and not ordered(clocks, FIRST, since, SECOND)


def test_threads_of_one_participant_are_ordered_by_meeting_or_by_its_own_message() -> None:
    clocks = VectorClocks(1)
    before = int(clocks.now[FIRST])
    message = clocks.release(who(FIRST))
    assert not ordered(clocks, FIRST, before, FIRST)
    clocks.acquire(who(FIRST), message)
    assert ordered(clocks, FIRST, before, FIRST)
    later = int(clocks.now[FIRST])
    clocks.meet(who(FIRST))
    assert ordered(clocks, FIRST, later, FIRST)


def test_a_time_that_a_message_leaves_out() -> None:
    clocks = VectorClocks(2, times=2)
    before = int(clocks.now[FIRST])
    clocks.acquire(who(SECOND), clocks.release(who(FIRST), without=[1]))
    assert clocks.ordered[0, SECOND, FIRST] >= before > clocks.ordered[1, SECOND, FIRST]
    clocks.acquire(who(SECOND), clocks.release(who(FIRST)))
    assert clocks.ordered[1, SECOND, FIRST] >= before


def test_marks_travel_with_messages_and_do_not_tick() -> None:
    clocks = VectorClocks(3, marks=2)
    clocks.marks(1)[FIRST, FIRST] = 7
    clocks.acquire(who(SECOND), clocks.release(who(FIRST)))
    assert clocks.marks(1)[SECOND, FIRST] == 7 and clocks.marks(0)[SECOND, FIRST] == 0
    clocks.join(who(SECOND, THIRD))
    assert clocks.marks(1)[THIRD, FIRST] == 7


def test_a_participant_that_comes_later() -> None:
    clocks = VectorClocks(2)
    old = clocks.release(who(FIRST))
    new = clocks.add()
    assert new == 2 and not ordered(clocks, new, int(clocks.now[new]), FIRST)
    assert time_told(old, new) is None and time_told(None, 0) is None
    time = int(clocks.now[new])
    message = merge_messages(old, clocks.release(who(new)))
    assert time_told(message, new) == time
    clocks.acquire(who(SECOND), message)
    assert ordered(clocks, new, time, SECOND) and ordered(clocks, FIRST, 1, SECOND)
    clocks.acquire(who(FIRST), old)  # one that knows nothing of it is understood
    assert not ordered(clocks, new, time, FIRST)


def test_a_message_that_tells_only_that_somebody_is_there() -> None:
    clocks = VectorClocks(2)
    start = clocks.now.copy()
    clocks.meet(who(FIRST))
    clocks.acquire(who(SECOND), clocks.message(who(FIRST), start[:1]))
    assert ordered(clocks, FIRST, int(start[FIRST]), SECOND)
    assert not ordered(clocks, FIRST, int(clocks.now[FIRST]), SECOND)


@dataclass
class Model:
    """The same with sets: what each participant did, and which of all events come before whatever it does next."""

    participants: int
    done: list[list[Event]] = field(default_factory=list)
    before: list[set[Event]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.done = [[] for _ in range(self.participants)]
        self.before = [set() for _ in range(self.participants)]

    def all_of(self, p: int) -> set[Event]:
        return self.before[p] | set(self.done[p])


def _step(r: random.Random, clocks: VectorClocks, model: Model, sent: list[tuple[Message, set[Event]]]) -> None:
    chosen = r.sample(range(model.participants), r.randint(1, min(3, model.participants)))
    match r.choice(["access", "access", "join", "meet", "release", "release part", "acquire", "acquire", "merge"]):
        case "access":
            p = chosen[0]
            model.done[p].append((p, int(clocks.now[p]), sum(map(len, model.done))))
        case "join":
            together = set().union(*map(model.all_of, chosen))
            clocks.join(np.array(chosen))
            for p in chosen:
                model.before[p] = set(together)
        case "meet":
            clocks.meet(np.array(chosen))
            for p in chosen:
                model.before[p] = model.all_of(p)
        case "release":
            sent.append((clocks.release(np.array(chosen)), set().union(*map(model.all_of, chosen))))
        case "release part":
            known = [model.before[p] | {e for e in model.done[p] if e[1] < clocks.now[p]} for p in chosen]
            sent.append((clocks.release(np.array(chosen), whole=False), set().union(*known)))
        case "acquire" if sent:
            message, told = r.choice(sent)
            clocks.acquire(np.array(chosen), message)
            for p in chosen:
                model.before[p] |= told
        case "merge" if sent:
            (a, told_a), (b, told_b) = r.choice(sent), r.choice(sent)
            sent.append((merge_messages(a, b), told_a | told_b))


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    r = random.Random(seed)
    model = Model(r.randint(1, 5))
    clocks = VectorClocks(model.participants, times=r.choice([1, 2]), marks=r.choice([0, 2]))
    sent: list[tuple[Message, set[Event]]] = []
    for _ in range(80):
        _step(r, clocks, model, sent)
        for event in (e for done in model.done for e in done):
            for q in range(model.participants):
                assert ordered(clocks, event[0], event[1], q) == (event in model.before[q]), (event, q)
