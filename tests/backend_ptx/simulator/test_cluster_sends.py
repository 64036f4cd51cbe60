"""Exchanges between blocks by stores that complete on mbarriers, with no barrier of the cluster but at the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.simulator.exchange import Defects, every_schedule, once, rounds

from tilewright.backend_ptx.simulator import Deadlock, LeftBlock, NotStarted, PendingCopy, Race, SimError, UnwrittenRead

OPEN: Any = {"start": ("open", "wait"), "end": ()}
ROUND = ("block", "expect", "send", "await", "read")
FORMS = {
    "once": once("open", "wait", "expect", "send", "await", "read"),
    "four blocks": once("open", "wait", "expect", "send", "await", "read", cluster=4),
    "in a loop": rounds(*ROUND, **OPEN, slots=2, rounds=5),
    "four blocks in a loop": rounds(*ROUND, **OPEN, slots=2, cluster=4, rounds=4),
    "eight bytes": rounds(*ROUND, **OPEN, slots=2, size=8),
    "bytes announced late": rounds("block", "send", "expect", "await", "read", **OPEN, slots=2, rounds=5),
    "one slot, and barriers of the cluster": rounds("expect", "send", "await", "read", "sync", **OPEN),
    "one mbarrier, and barriers of the cluster": rounds("expect", "send", "await", "read", "sync", **OPEN, barriers=1),
    "all warps send, and wait for all": rounds("expect", "send", "await", "read", **OPEN, slots=2, rounds=5),
    "some warps send": rounds("block", "expect", "first warps send", "await", "read", **OPEN, slots=2, rounds=5),
    "opened by an arrival that releases": once("open with release", "wait", "expect", "send", "await", "read"),
}


@every_schedule
@pytest.mark.parametrize("name", FORMS)
def test_sums_are_right(name: str, how: dict[str, Any]) -> None:
    np.testing.assert_array_equal(*FORMS[name].run(**how))


_EARLY = (PendingCopy, UnwrittenRead)
DEFECTS: Defects = {
    "mbarriers may not be there": (once("open", "send", "wait", "expect", "await", "read"), NotStarted, "may not have"),
    "mbarriers are not published": (
        once("open without fence", "wait", "expect", "send", "await", "read"), Race, "with no barrier between"),
    "mbarriers are published after the arrival": (
        once("arrive relaxed", "open without arrival", "wait", "expect", "send", "await", "read"), SimError, ""),
    "an arrival that does not release": (
        once("sync", "store", "arrive relaxed", "wait", "read"), (Race, UnwrittenRead), "reads"),
    "slots are stored again while peers read them": (
        rounds(*ROUND, **OPEN), (Race, PendingCopy), ""),
    "warps send while others of their block read": (
        rounds("expect", "first warps send", "await", "read", **OPEN, slots=2), Race, "with no barrier between"),
    "one mbarrier for both slots": (
        rounds(*ROUND, **OPEN, slots=2, barriers=1, rounds=4), SimError, ""),
    "one mbarrier for both slots of four blocks": (
        rounds(*ROUND, **OPEN, slots=2, barriers=1, rounds=3, cluster=4), SimError, ""),
    "one mbarrier for two exchanges": (
        rounds(*ROUND, **OPEN, slots=2, barriers=1, rounds=2), SimError, ""),
    "nobody waits": (once("open", "wait", "expect", "send", "read"), _EARLY, "reads"),
    "nobody waits at the end": (
        rounds(*ROUND, start=("open", "wait"), end=("block", "expect", "send"), slots=2), (PendingCopy, LeftBlock),
        "nothing waited|has left"),
    "bytes are not announced": (once("open", "wait", "send", "await", "read"), Deadlock, "arrivals and"),
    "more bytes are announced": (once("open", "wait", "expect more", "send", "await", "read"), Deadlock, "4 bytes are"),
    "fewer bytes are announced": (once("open", "wait", "expect less", "send", "await", "read"), SimError, ""),
    "a block is told nothing": (
        once("open", "wait", "expect", "send to all but the last", "await", "read"), Deadlock, "of block 1 of the"),
    "there is no such block": (
        once("open", "wait", "expect", "send to one more", "await", "read"), SimError, "block 2 of a cluster of 2"),
    "all send in the receiver's slot": (
        once("open", "wait", "expect", "send in the receiver's slot", "await", "read"), (PendingCopy, Race),
        "two asynchronous|writes"),
}


@every_schedule
@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_caught(name: str, how: dict[str, Any]) -> None:
    form, errors, words = DEFECTS[name]
    with pytest.raises(errors, match=words or None):
        form.run(max_steps=5000, **how)
