"""Wavefronts of shared memory: how often the banks serve the requests of warps, and how often would do.

Shared memory serves 32 banks of 4 bytes at once, to all lanes for up to 4 bytes each, to 16 for 8 bytes and to 8 for 16
bytes. Lanes that touch different words of one bank are served one after another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tilewright.backend_ptx.layouts.matrices import MatrixPlan, movement
from tilewright.backend_ptx.ops.async_copy import AsyncGather, AsyncLoad
from tilewright.backend_ptx.ops.shared import SharedLoad, SharedStore
from tilewright.backend_ptx.targets import Target
from tilewright.estimating.requests import Machine
from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import access_vector, copy_vector, offset_bases
from tilewright.tileir.layouts.flat import LANE, LANE_BITS, WARP, log2
from tilewright.tileir.layouts.queries import copies
from tilewright.tileir.rules import RuleTable

BANKS, WORD = 32, 4


class Served(NamedTuple):
    """Who accesses a buffer where: `layout` says where a lane's address lies, `owners` (None: all) which threads act,
    of the first `lanes` of each warp, and each moves `width` elements, of which `inside` are the register bits that do
    not choose an address."""

    shared: Layout
    layout: Layout
    owners: Layout | None
    width: int
    inside: tuple[int, ...]
    element_bytes: int
    lanes: int = 32


@dataclass(frozen=True, slots=True)
class SharedUse:
    """What an op asks of shared memory over the whole launch: `what` it does ("store", "load", "copy"), the `line` of
    the program that it is for, `wavefronts`, and the `least` that its requests need."""

    what: str
    line: int
    wavefronts: int
    least: int


def shared_uses(machine: Machine, target: Target, runs: dict[Any, int]) -> Iterator[SharedUse]:
    """Of the ops of one role; `runs`: how often each body runs, over all blocks."""
    for block, times in runs.items():
        for op in block.ops:
            rule = RULES.of(op)
            if rule is not None and times:
                what, access = rule(machine, op, target)
                wavefronts, least = waves_of(access)
                yield SharedUse(what, op.span.line, wavefronts * times, least * times)


@lru_cache(maxsize=1024)
def waves_of(access: Served) -> tuple[int, int]:
    """(wavefronts, the least that would do) of all requests of a CTA for one tile."""
    register, lane, warp = offset_bases(access.shared, access.layout)
    heads = [r for r in range(1 << len(register)) if not any(r >> bit & 1 for bit in access.inside)]
    at_register = np.array(span(register), np.int64)[heads]
    at_lane = np.array(span((*lane, *(0,) * (LANE_BITS - len(lane)))), np.int64)
    at_warp = np.array(span(warp), np.int64)
    offsets = at_warp[:, None, None] ^ at_register[None, :, None] ^ at_lane[None, None, :]
    acts: Any = np.ones((len(at_warp), 1, len(at_lane)), np.bool_)
    if access.owners is not None:
        masks = [np.arange(n) & copies(access.owners, dim) == 0 for n, dim in ((len(at_warp), WARP), (32, LANE))]
        acts = (masks[0][:, None] & masks[1][None, :])[:, None, :]
    acts = acts & (np.arange(32) < access.lanes)
    acts = np.broadcast_to(acts, offsets.shape).reshape(-1, 32)
    return wavefronts(offsets.reshape(-1, 32) * access.element_bytes, acts, access.width * access.element_bytes)


def wavefronts(addresses: Any, acts: Any, width: int) -> tuple[int, int]:
    """(wavefronts, the least that would do) of requests: addresses in bytes and which lanes act, arrays [requests, 32];
    each lane moves `width` bytes."""
    group = 32 >> max(0, log2(width) - 2)
    words = addresses[:, :, None] // WORD + np.arange(max(width // WORD, 1))
    words = np.where(acts[:, :, None], words, -1).reshape(-1, group * words.shape[2])
    words = np.sort(words, axis=1)
    new = words >= 0
    new[:, 1:] &= words[:, 1:] != words[:, :-1]
    served = np.zeros((len(words), BANKS), np.int64)
    rows = np.broadcast_to(np.arange(len(words))[:, None], words.shape)
    np.add.at(served, (rows[new], words[new] % BANKS), 1)
    most = served.max(axis=1, initial=0)
    return int(most.sum()), int((most > 0).sum())


def _store(machine: Machine, op: SharedStore, target: Target) -> tuple[str, Served]:
    layout, shared, size = machine.layout(op.value.type), op.buffer.type.layout, op.buffer.type.dtype.bytes
    stored, plan, _ = movement(shared, layout, size, target.has_stmatrix)
    width, inside = access_vector(shared, stored, size)
    return "store", Served(shared, stored, layout, width, inside, size, _addressing(plan))


def _load(machine: Machine, op: SharedLoad, target: Target) -> tuple[str, Served]:
    """The place of a sub-tile moves all lanes alike."""
    shared, size = op.buffer.type.layout, op.buffer.type.dtype.bytes
    layout = machine.layout(op.result.type)
    if layout.shape != op.buffer.type.shape:
        layout = Layout(layout.dims, op.buffer.type.shape)
    read, plan, _ = movement(shared, layout, size)
    width, inside = access_vector(shared, read, size)
    return "load", Served(shared, read, None, width, inside, size, _addressing(plan))


def _addressing(plan: MatrixPlan | None) -> int:
    """The lanes whose addresses count: of ldmatrix and stmatrix eight for each matrix."""
    return 32 if plan is None else 8 * plan.per_instruction


def _copy(machine: Machine, op: AsyncLoad | AsyncGather, target: Target) -> tuple[str, Served]:
    shared, layout, size = op.buffer.type.layout, machine.layout(op.tile), op.tile.dtype.bytes
    width = machine.requests(op).width
    assert width <= copy_vector(shared, layout, size), f"{op.opcode} copies {width} elements at once"
    return "copy", Served(shared, layout, layout, width, tuple(range(log2(width))), size)


RULES: RuleTable[Callable[[Machine, Any, Target], tuple[str, Served]]] = RuleTable("requests of shared memory", {
    SharedStore: _store, SharedLoad: _load, AsyncLoad: _copy, AsyncGather: _copy,
})
