"""Vector clocks: what is ordered before what, among participants that synchronise. For checkers of memory accesses.

A participant is whatever runs on its own: a warp, a block, a copy engine. Its time advances at each synchronisation, so
an access is told by the participant and its time `now[p]`. `known[q, p]` is the latest time of p that q is ordered
after: an access by p at time t comes before whatever q does next if `known[q, p] >= t`, and may overlap it if not.

A participant may stand for several threads (the lanes of a warp). What these did since they last *met* is not ordered
among them, so `known[p, p]` is an earlier time than `now[p]`. Who wants participants to be single threads leaves the
diagonal unread.

Participants synchronise together (`join`) or through messages: `release` gives what the sender knows, `acquire` makes a
receiver know it, `merge_messages` makes one message of two. An mbarrier or an atomic variable keeps such a message.

There may be several `times`, where some synchronisation orders only a part of memory; and `marks`, numbers that travel
with the times, such as the latest write that has passed a fence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Message = Array  # [times and marks, participants]


class VectorClocks:
    """The clocks of participants 0, 1, ..., of whom the code that runs executes one at a time.

    Attributes: `now` [participants], the present time of each; `ordered` [times, participants, participants], what each
        knows of each other, and `known`, the same for the first time. They are replaced when clocks advance: read them
        anew.
    """

    def __init__(self, participants: int, *, times: int = 1, marks: int = 0) -> None:
        self._times = times
        self._state = np.zeros((times + marks, participants, participants), np.int64)
        self._state[:times] = np.eye(participants, dtype=np.int64)
        # By how many ticks the threads of a participant have not met: what they did before is not ordered among them.
        self._apart = np.zeros(participants, np.int64)
        self._refresh()

    def _refresh(self) -> None:
        self.ordered: Array = self._state[: self._times] - np.diag(1 + self._apart)
        self.known: Array = self.ordered[0]
        self.now: Array = np.ascontiguousarray(np.diagonal(self._state[0]))

    def _tick(self, who: Array, meet: bool) -> None:
        """The time of `who` advances, because their threads `meet` or because they have told of themselves."""
        self._apart[who] = 0 if meet else self._apart[who] + 1
        self._state[: self._times, who, who] += 1
        self._refresh()

    # ---- participants and marks ----

    def add(self) -> int:
        """One participant more, of whom nobody knows anything; its number."""
        number = len(self.now)
        self._state = np.pad(self._state, ((0, 0), (0, 1), (0, 1)))
        self._apart = np.append(self._apart, 0)
        self._state[: self._times, number, number] = 1
        self._refresh()
        return number

    def marks(self, mark: int) -> Array:
        """What each participant knows of that mark of each other [participants, participants]; write to it freely."""
        return np.asarray(self._state[self._times + mark])

    # ---- synchronising ----

    def join(self, who: Array) -> None:
        """A barrier among `who`: all of their threads are ordered after everything that any of them did."""
        self._state[:, who] = self._state[:, who].max(axis=1)[:, None]
        self._tick(who, meet=True)

    def meet(self, who: Array) -> None:
        """A barrier among the threads inside each of `who`."""
        self._tick(who, meet=True)

    def release(self, who: Array, *, whole: bool = True, without: Iterable[int] = ()) -> Message:
        """What one who waits for all of `who` learns; their time advances.

        Where only some threads of each arrive (not `whole`), that is what it did before its present time, which goes
        on. `without`: the times of which the message does not tell.
        """
        told = self._state[:, who]
        told[list(without)] = 0
        if not whole:
            told[: self._times, np.arange(len(who)), who] -= 1
            return np.asarray(told.max(axis=1))
        message = np.asarray(told.max(axis=1))
        self._tick(who, meet=False)
        return message

    def message(self, who: Array, times: Array) -> Message:
        """One that tells only that each of `who` has reached a time (of the first kind)."""
        told = np.zeros_like(self._state[:, 0])
        told[0, who] = times
        return told

    def acquire(self, who: Array, message: Message) -> None:
        """`who` become ordered after what `release` returned."""
        count = message.shape[1]  # participants may have come since
        self._state[:, who, :count] = np.maximum(self._state[:, who, :count], message[:, None])
        past = self._state[0, who, who] - message[0, who]
        self._apart[who] = np.minimum(self._apart[who], past - 1)
        self._refresh()


def merge_messages(a: Message | None, b: Message) -> Message:
    """Both of two messages, of which one may be older and know fewer participants; None is an empty one."""
    if a is None:
        return b
    wide = max(a.shape[1], b.shape[1])
    a, b = (np.pad(message, ((0, 0), (0, wide - message.shape[1]))) for message in (a, b))
    return np.asarray(np.maximum(a, b))


def time_told(message: Message | None, participant: int) -> int | None:
    """The time of a participant that a message tells of, None if it is older than the participant."""
    if message is None or message.shape[1] <= participant:
        return None
    return int(message[0, participant])
