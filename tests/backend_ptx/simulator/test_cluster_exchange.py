"""Blocks of a cluster exchange partial sums through each other's shared memory, and all that this can miss."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.simulator.exchange import Defects, Exchange, every_schedule, once, rounds

from tilewright.backend_ptx.simulator import (
    Deadlock,
    LeftBlock,
    Misaligned,
    NotStarted,
    OutOfRange,
    Race,
    SimError,
    UnwrittenRead,
)

TWO, LOOP = Exchange(), Exchange(rounds=3)
FORMS = {
    "two": TWO,
    "four": Exchange(4),
    "in a loop": LOOP,
    "four in a loop": Exchange(4, 3),
    "eight bytes": Exchange(2, 2, 8),
    "whole barriers": replace(LOOP, start=("sync",), round=("store", "sync", "read", "sync"), end=()),
    "halves meet whole barriers": replace(LOOP, round=("wait", "store", "sync", "read", "arrive")),
    "a barrier of the block between": replace(
        LOOP, round=("wait", "store", "arrive", "block", "wait", "read", "arrive")),
    "warps arrive one after the other": replace(
        LOOP, round=("wait", "store", "second warps arrive", "first warps arrive", "wait", "read", "arrive")),
    "lanes arrive one after the other": replace(
        LOOP, round=("wait", "store", "block", "first lanes arrive", "other lanes arrive", "wait", "read", "arrive")),
    "nobody waits after the last arrival": replace(LOOP, end=()),
    "global memory too": replace(LOOP, end=("wait", "publish", "arrive", "wait", "look", "sync")),
    "global memory before the arrival": replace(LOOP, end=("publish", "wait", "sync", "look", "arrive", "wait")),
}


@every_schedule
@pytest.mark.parametrize("name", FORMS)
def test_sums_are_right(name: str, how: dict[str, Any]) -> None:
    np.testing.assert_array_equal(*FORMS[name].run(**how))


_UNORDERED = (Race, UnwrittenRead)
DEFECTS: Defects = {
    "peers may not have started": (once("store", "sync", "read"), NotStarted, "block [01] .* may not have started"),
    "nobody waits for the peers' start": (
        once("arrive", "store", "wait", "sync", "read"), NotStarted, "block [01] .* may not have started"),
    "slots are stored again while peers read them": (
        rounds("store", "sync", "read", start=("sync",), end=("sync",)), Race, "with no barrier between"),
    "the arrival after which peers store comes before the reads": (
        rounds("wait", "store", "arrive", "wait", "arrive", "read"), Race, "with no barrier between"),
    "the peers that read are waited for after the stores": (
        rounds("store", "wait", "sync", "read", "arrive", start=("sync", "arrive")), Race, "with no barrier between"),
    "stores are not waited for": (rounds("wait", "store", "read", "arrive"), _UNORDERED, "reads"),
    "lanes of the warp that has stored are not waited for": (
        once("sync", "store", "arrive", "read beside", "wait"), Race, "another lane|reads what thread"),
    "stores are waited for after the reads": (once("sync", "store", "arrive", "read", "wait"), _UNORDERED, "reads"),
    "stores are waited for after the reads, in a loop": (
        rounds("wait", "store", "arrive", "read", "wait", "arrive"), _UNORDERED, "reads"),
    "the arrival comes before the stores": (once("sync", "arrive", "store", "wait", "read"), _UNORDERED, "reads"),
    "the arrival comes before the stores, in a loop": (
        rounds("wait", "arrive", "store", "wait", "read", "arrive"), _UNORDERED, "reads"),
    "only the block's own barrier": (once("sync", "store", "block", "read", "sync"), _UNORDERED, "reads"),
    "a warp has arrived before it stores": (
        once("sync", "second warps arrive", "store", "first warps arrive", "wait", "read"), _UNORDERED, "reads"),
    "lanes arrive apart, with no barrier after the stores": (
        once("sync", "store", "first lanes arrive", "other lanes arrive", "wait", "read"), _UNORDERED, "reads"),
    "all store in the receiver's slot": (once("sync", "store in the receiver's slot", "sync", "read"), Race, "write"),
    "a block is told nothing": (
        once("sync", "store to all but the last", "sync", "read"), UnwrittenRead, "of block 1 .* nothing has written"),
    "there is no such block": (once("sync", "store to one more"), SimError, "block 2 of a cluster of 2 blocks"),
    "beyond the end": (once("sync", "store beyond the end"), OutOfRange, "offset 16[0-9]+ of"),
    "between words": (once("sync", "store between words"), Misaligned, "multiple of 4"),
    "a peer's address": (once("sync", "store at a peer's address"), OutOfRange, "reaches that of its own block only"),
    "onto an mbarrier": (once("mbarrier", "sync", "store"), Race, "touches an mbarrier"),
    "two arrivals": (once("arrive", "arrive"), SimError, "arrives at .* twice, with no wait"),
    "two arrivals, one of which waits": (once("arrive", "sync"), SimError, "arrives at .* twice, with no wait"),
    "two arrivals, two waits": (once("arrive", "wait", "arrive", "arrive"), SimError, "arrives at .* twice"),
    "no arrival": (once("wait"), SimError, "without having arrived"),
    "an arrival, two waits": (once("sync", "arrive", "wait", "wait"), SimError, "without having arrived"),
    "the other warps only arrive": (once("second warps arrive", "wait"), SimError, "without having arrived"),
    "a block leaves after its arrival": (
        once("sync", "store", "arrive", "the second block leaves", "wait", "read"), LeftBlock, "block 1"),
    "a block leaves after its stores and never arrives": (
        once("sync", "store", "the second block leaves", "sync", "read"), (LeftBlock, Race), "block 1|with no barrier"),
    "a block leaves in the last round": (
        rounds("the second block leaves early", "wait", "store", "arrive", "wait", "read", "arrive"), LeftBlock,
        "block 1"),
    "the last stores are not waited for": (
        rounds("wait", "store", "sync", "read", "arrive", end=("wait", "store", "arrive")), LeftBlock,
        "may leave|has left"),
    "global memory read between arrival and wait": (
        rounds("wait", "store", "sync", "read", "arrive", end=("wait", "publish", "arrive", "look", "wait", "sync")),
        Race, "with no barrier"),
    "global memory written between arrival and wait": (
        rounds("wait", "store", "sync", "read", "arrive", end=("publish", "wait", "look", "sync")), Race,
        "with no barrier"),
}


@every_schedule
@pytest.mark.parametrize("name", DEFECTS)
def test_defect_is_caught(name: str, how: dict[str, Any]) -> None:
    form, errors, words = DEFECTS[name]
    with pytest.raises(errors, match=words):
        form.run(**how)


@every_schedule
def test_numbers_of_wrong_slots_are_wrong(how: dict[str, Any]) -> None:
    """Nothing else is: slots have one writer each."""
    found, right = once("sync", "store in the next slot", "sync", "read", "sync").run(**how)
    assert (found != right).all()


@every_schedule
@pytest.mark.parametrize("steps", [("second warps leave", "sync"), ("arrive", "second warps leave", "wait")])
def test_who_has_left_counts_as_arrived(steps: tuple[str, ...], how: dict[str, Any]) -> None:
    found, right = once(*steps, "store", "sync", "read own").run(**how)
    np.testing.assert_array_equal(found[:, :32], right[:, 32:])
    assert not found[:, 32:].any()


@every_schedule
def test_the_barrier_waits_for_all(how: dict[str, Any]) -> None:
    """A warp of one block waits for another thing first, which comes after the barrier."""
    form = once("mbarrier", "sync", "first warp waits for the mbarrier", "arrive", "wait")
    with pytest.raises(Deadlock, match="the barrier of the cluster, where 32 threads have not arrived"):
        form.run(**how)
