"""Which arrays only pass through L2, so that what a later launch of a recording reads is still there then.

Each array takes places in L2 at the cost of what has been there longest: of an intermediate of half its size most would
have left before it is read, for arrays that nobody waits for. A recording knows which these are; no kernel does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from tilewright.combining.graph import Graph, Part, Slot
from tilewright.estimating.result import ArrayTraffic, Estimate


@dataclass(frozen=True)
class Use:
    """What a launch does in memory: the bytes of each array by slot, the arrays that it reads, and those that it does
    not write and of which it reads each byte once."""

    sizes: dict[int, int]
    read: frozenset[int]
    once: frozenset[int]


def passing(uses: Sequence[Use], l2_bytes: int) -> list[frozenset[int]]:
    """For each launch, in their order, the arrays that shall be the first to leave L2: none where all fit, where none
    is waited for, or where those that are do not fit themselves."""
    found = []
    for number, use in enumerate(uses):
        waiting = _waiting(uses, number)
        others = {slot: size for slot, size in use.sizes.items() if slot not in waiting}
        room = l2_bytes - sum(waiting.values())
        keeps = not waiting or room < 0 or sum(others.values()) <= room
        found.append(frozenset() if keeps else use.once & others.keys())
    return found


def _waiting(uses: Sequence[Use], number: int) -> dict[int, int]:
    """The arrays of earlier launches that this one or a later one reads, and those of this one that a later one reads,
    with their bytes."""
    later = frozenset[int]().union(*(use.read for use in uses[number + 1 :]))
    before = {slot: size for use in uses[:number] for slot, size in use.sizes.items()}
    both = {**before, **uses[number].sizes}
    return {slot: size for slot, size in both.items()
            if slot in later or (slot in before and slot in uses[number].read)}


def use_of(graph: Graph, slots: Iterable[int], estimate: Estimate) -> Use:
    """What a launch does with the arrays among its slots."""
    named = {array.name: array for array in estimate.arrays}
    arrays = {slot: named[graph.slots[slot].name] for slot in slots if graph.slots[slot].is_array}
    return Use({slot: max(a.read.unique, a.written.unique) for slot, a in arrays.items()},
               frozenset(slot for slot, a in arrays.items() if a.read.requested),
               frozenset(slot for slot, a in arrays.items() if _once(a)))


def _once(array: ArrayTraffic) -> bool:
    return array.read.once and array.read.requested > 0 and not array.written.requested


def use_of_parts(graph: Graph, parts: Iterable[Part]) -> Use:
    """What launches may do that are not looked at."""
    arrays = {slot: size_of(graph.slots[slot]) for part in parts for slot in part.slots if graph.slots[slot].is_array}
    return Use(arrays, frozenset(arrays), frozenset())


def size_of(slot: Slot) -> int:
    """The bytes of an array's elements."""
    return prod(slot.info.shape) * slot.info.dtype.bytes
