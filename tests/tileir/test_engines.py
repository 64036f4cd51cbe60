"""Fences as sets: what each waits for, to whom it shows it, and whether one does what another asks."""

from __future__ import annotations

import pytest

from tilewright.tileir.engines import (
    GLOBAL,
    SHARED,
    THREADS,
    Engine,
    Fence,
    Scope,
    Timeline,
    after,
    all_spaces,
    space,
    timelines,
)

COPY = Engine("copy")
MULTIPLY = Engine("multiply")
IN_SHARED = timelines([THREADS], [SHARED])


def test_a_fence_does_what_a_smaller_one_asks() -> None:
    both = timelines([THREADS, COPY], [SHARED, GLOBAL])
    large = Fence(both, both, Scope.CTA)
    assert large.does(large)
    assert large.does(Fence(IN_SHARED, timelines([COPY], [SHARED]), Scope.WARP))


@pytest.mark.parametrize("asked", [
    Fence(timelines([MULTIPLY], [SHARED]), IN_SHARED),  # waits for an engine more
    Fence(IN_SHARED, timelines([MULTIPLY], [SHARED])),  # shows it to an engine more
    Fence(timelines([THREADS], [GLOBAL]), IN_SHARED),  # another space
    Fence(IN_SHARED, IN_SHARED, Scope.CLUSTER),  # more threads
])
def test_it_does_not_do_more(asked: Fence) -> None:
    assert not Fence(IN_SHARED, IN_SHARED, Scope.CTA).does(asked)


def test_a_sequence_needs_the_wait_before_the_barrier() -> None:
    copied = Timeline(COPY, SHARED)
    wait = Fence(timelines([COPY], [SHARED]), IN_SHARED)
    meet = Fence(IN_SHARED, IN_SHARED, Scope.CTA)
    asked = Fence(frozenset([copied]), IN_SHARED, Scope.CTA)
    assert after(copied, [wait, meet]).does(asked)
    assert not after(copied, [meet, wait]).does(asked)  # others met before the bytes had landed
    assert not after(copied, [wait]).does(asked)
    assert not after(copied, [meet]).does(asked)


def test_a_space_is_declared_once() -> None:
    mine = space("shared")
    assert mine is SHARED and mine in all_spaces()
