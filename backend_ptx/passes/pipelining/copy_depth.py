"""How many rounds ahead a loop loads: from shared memory, registers, the hints and the number of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.passes.pipelining.copy_candidates import Candidate
from tilewright.backend_ptx.resources.occupancy import RESERVED
from tilewright.backend_ptx.resources.shared import ALIGNMENT
from tilewright.backend_ptx.targets import KIB, Target

# Slots of a ring when nothing limits them: three rounds in flight cover the latency of memory behind one of compute.
USUAL = 4
MOST = 8
LEAST = 2
# Rings that only hide latency (no thread needs another's elements) must move at least this much a round, in whole
# vectors, and the loop must run this often: otherwise the copies cost more than they hide.
ENOUGH_BYTES = 4 * KIB
ENOUGH_ROUNDS = 4
WIDE = 16


class Depth(NamedTuple):
    """The slots of each ring (1: none), the rings that stay, and why."""

    stages: int
    rings: tuple[Candidate, ...]
    reason: str
    bytes: int = 0  # of a slot of each


def decide_depth(
    candidates: Sequence[Candidate], rounds: int | None, blocks: Sequence[int], other_bytes: int, target: Target,
    limit: int | None = None,
) -> Depth:
    """`rounds` is the most that the loop can run (None: unknown), `blocks` how many shall share a multiprocessor, the
    first count that leaves room is taken, `other_bytes` the shared memory that the loop needs beside rings, `limit`
    the most slots that a plan may have."""
    if rounds is not None and rounds < 2:
        return Depth(1, (), decisions.RUNS_ONCE)
    rings = [c for c in candidates if c.exchanged or _pays(c, rounds)]
    if not rings:
        return Depth(1, (), decisions.TOO_LITTLE)
    least = max(c.least for c in rings)
    while rings:
        found = _depth_of(rings, rounds, blocks, other_bytes, target, limit)
        if found is not None:
            return found
        left = min(rings, key=lambda c: (c.exchanged, -c.bytes))
        rings.remove(left)
        other_bytes += left.bytes * left.buffers  # they go through buffers of their own then
    return Depth(1, (), decisions.slots_do_not_fit(least, target.shared_per_block))


def _pays(candidate: Candidate, rounds: int | None) -> bool:
    """Whether a ring without exchange is worth its copies."""
    if candidate.load.latency is not None:
        return True
    often = rounds is None or rounds >= ENOUGH_ROUNDS
    return candidate.width == WIDE and candidate.bytes >= ENOUGH_BYTES and often


def _depth_of(
    rings: Sequence[Candidate], rounds: int | None, blocks: Sequence[int], other_bytes: int, target: Target,
    limit: int | None,
) -> Depth | None:
    size = sum(-(-c.bytes // ALIGNMENT) * ALIGNMENT for c in rings)
    hints = [c.load.latency for c in rings if c.load.latency is not None]
    least = max(c.least for c in rings)
    wanted = min(max(hints), MOST) if hints else USUAL + least - LEAST
    most = rounds if rounds is not None and rounds < wanted else None
    wanted = wanted if most is None else most
    wanted = max(wanted, least)
    if limit is not None and limit < wanted:
        wanted = limit
    for resident in blocks:
        room = target.shared_per_block if resident == 1 else target.shared_per_sm // resident - RESERVED
        stages = min(wanted, (room - other_bytes) // size)
        # Two blocks on a multiprocessor hide as much as one more slot.
        if stages >= (least + 1 if resident > 1 and wanted > least else least):
            why = decisions.depth(max(hints, default=None), most, room if stages < wanted else None, resident)
            return Depth(stages, tuple(rings), why, size)
    return None
