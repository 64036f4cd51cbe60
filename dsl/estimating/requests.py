"""Which elements the requests of warps access, for each load and store of a machine function.

A warp instruction that accesses global memory is one request: each lane moves some elements side by side. The threads
and registers of a tile's layout, and the widths that lowering uses, say which. A bulk copy is one request for each box.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from tilewright.backend_ptx.layouts.boxes import box_starts
from tilewright.backend_ptx.layouts.memory import VECTOR_BYTES
from tilewright.backend_ptx.ops.async_copy import AsyncGather, AsyncLoad
from tilewright.backend_ptx.ops.bulk import TmaLoad, TmaStore
from tilewright.backend_ptx.tensor_maps import copy_of, part_shape
from tilewright.tileir.analysis.accesses import GatherWidths, TileWidths
from tilewright.tileir.analysis.facts import facts
from tilewright.tileir.analysis.places import same_for_all
from tilewright.tileir.analysis.runs import runs
from tilewright.tileir.core import Function, Op
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.f2 import span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import copy_vector
from tilewright.tileir.layouts.flat import LANE, LANE_BITS, WARP, distributed, log2, parts
from tilewright.tileir.layouts.queries import copies
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.ops.memory import Gather, Load, Scatter, Store
from tilewright.tileir.rules import RuleTable

CACHED = 16  # bytes of an asynchronous copy that passes L1 by


@dataclass(frozen=True)
class Warps:
    """The accesses of a CTA's threads to a tile. `flats`: the flat index in the tile of what each register of each lane
    holds, int64 [warps, registers, lanes]; `owner`: which lanes act where several hold the same, bool [warps, lanes].
    """

    flats: Any
    owner: Any

    def heads(self, width: int) -> Any:
        """The first elements of accesses of so many registers each: [requests, lanes], warp by warp."""
        return self.flats[:, ::width].reshape(-1, self.flats.shape[2])

    def owners(self, width: int) -> Any:
        """Which lanes make these: [requests, lanes]."""
        each = self.flats.shape[1] // width
        return np.repeat(self.owner, each, axis=0)


def warps_of(layout: Layout) -> Warps:
    """Those of a tile in registers."""
    bases = [*parts(layout)]
    bases[1] = (*bases[1], *(0,) * (LANE_BITS - len(bases[1])))
    register, lane, warp = (np.array(span(each), np.int64) for each in bases)
    flats = warp[:, None, None] ^ register[None, :, None] ^ lane[None, None, :]
    numbers = [np.arange(len(n)) & copies(layout, dim) == 0 for n, dim in ((warp, WARP), (lane, LANE))]
    return Warps(flats, numbers[0][:, None] & numbers[1][None, :])


@dataclass(frozen=True)
class Requests:
    """How an op accesses its array. `flats` and `owner` as for `Warps`, of accesses of `width` elements, where nothing
    is `cut`; `single`: the same element by element, for accesses that an edge or a mask cuts (None: there are none).
    `cached`: what is read goes through L1. `cut`: elements of an access, counted from its first, that decide for each
    thread whether a mask cuts it, and all of its accesses with it; empty where edges of the tile cut single accesses.
    `warps` make them, one after another in `flats`. `ctas` of a cluster make them together.
    """

    flats: Any
    owner: Any
    width: int
    single: tuple[Any, Any] | None = None
    cached: bool = True
    cut: tuple[int, ...] = ()
    warps: int = 1
    ctas: int = 1


class Machine:
    """The accesses of one role of a machine function, whose tiles are computed by `warps` warps; `alone`: by one thread
    instead."""

    def __init__(self, function: Function, warps: int, alone: bool) -> None:
        self.function, self.warps, self.alone = function, warps, alone
        self._known: dict[Op, Requests] = {}

    @cached_property
    def facts(self) -> Any:
        return facts(self.function)

    @cached_property
    def runs(self) -> Any:
        return runs(self.function, self.facts)

    def layout(self, type_: Any) -> Layout:
        """The layout of a tile; a scalar lies in one register of every thread."""
        if not type_.shape:
            return distributed((), [], [0] * LANE_BITS, [0] * log2(self.warps))
        assert type_.layout is not None, f"{type_} has no layout"
        return type_.layout  # type: ignore[no-any-return]

    def threads(self, type_: Any) -> Warps:
        """Who holds what of a tile."""
        found = warps_of(self.layout(type_))
        return Warps(found.flats[:1, :, :1], found.owner[:1, :1]) if self.alone else found

    def requests(self, op: Op) -> Requests:
        """Those of an op that accesses an array."""
        if op not in self._known:
            rule = RULES.of(op)
            assert rule is not None, f"nobody says how {op.opcode} accesses its array"
            self._known[op] = rule(self, op)
        return self._known[op]


def _tile(machine: Machine, op: Load | Store) -> Requests:
    """Loads and stores of tiles. Who holds a copy loads it, too; owners store."""
    type_ = op.tile.type
    widths = TileWidths(op, op.array.type, machine.layout(type_), machine.facts, VECTOR_BYTES)
    threads, ordered = machine.threads(type_), op.memory_order is not MemoryOrder.WEAK
    who = threads if ordered or isinstance(op, Store) else Warps(threads.flats, np.ones_like(threads.owner))
    if ordered:
        return Requests(who.heads(1), who.owners(1), 1, cached=False)
    single = (who.heads(1), who.owners(1)) if widths.cuts_vectors else None
    return Requests(who.heads(widths.vector), who.owners(widths.vector), widths.vector, single, isinstance(op, Load))


def _async_load(machine: Machine, op: AsyncLoad) -> Requests:
    """What is cut off of a copy is not read; its first element says whether anything is."""
    layout, size = machine.layout(op.tile), op.tile.dtype.bytes
    widths = TileWidths(op, op.array.type, layout, machine.facts, VECTOR_BYTES)
    width = min(widths.vector, copy_vector(op.buffer.type.layout, layout, size))
    threads = machine.threads(op.tile)
    through = width * size < CACHED or same_for_all(op.index)
    return Requests(threads.heads(width), threads.owners(width), width, cached=through)


def _async_gather(machine: Machine, op: AsyncGather) -> Requests:
    threads = machine.threads(op.tile)
    through = op.vector * op.tile.dtype.bytes < CACHED
    return Requests(threads.heads(op.vector), threads.owners(op.vector), op.vector, cached=through)


def _elements(machine: Machine, op: Gather | Scatter) -> Requests:
    type_ = op.indices[0].type if op.indices else op.padding.type if isinstance(op, Gather) else op.value.type
    widths = GatherWidths(op, op.array.type, machine.layout(type_), machine.facts, machine.runs, VECTOR_BYTES)
    threads = machine.threads(type_)
    who = threads if isinstance(op, Scatter) else Warps(threads.flats, np.ones_like(threads.owner))
    single = (who.heads(1), who.owners(1)) if widths.cut else None
    return Requests(who.heads(widths.vector), who.owners(widths.vector), widths.vector, single, isinstance(op, Gather),
                    tuple(widths.cut), len(who.flats))


def _atomic(machine: Machine, op: Atomic) -> Requests:
    threads = machine.threads(op.result.type)
    return Requests(threads.heads(1), threads.owners(1), 1, cached=False)


def _bulk_load(machine: Machine, op: TmaLoad) -> Requests:
    """The boxes of all CTAs of the cluster that share the tile."""
    part, copy = part_shape(op), copy_of(op)
    firsts = product(*(range(0, n, p) for n, p in zip(op.shape, part, strict=True)))
    starts = [tuple(a + b for a, b in zip(first, start, strict=True)) for first in firsts for start, _ in copy.pieces]
    return _boxes(op.shape, starts, copy.box, op.ctas)


def _bulk_store(machine: Machine, op: TmaStore) -> Requests:
    copy = copy_of(op)
    firsts = box_starts(op.buffer.type.layout, op.box)
    starts = [tuple(a + b for a, b in zip(first, start, strict=True)) for first in firsts for start, _ in copy.pieces]
    return _boxes(op.shape, starts, copy.box)


def _boxes(shape: tuple[int, ...], starts: list[tuple[int, ...]], box: tuple[int, ...], ctas: int = 1) -> Requests:
    inside: Any = np.ravel_multi_index(tuple(np.indices(box).reshape(len(box), -1)), shape)
    first: Any = np.ravel_multi_index(tuple(np.array(starts, np.int64).T), shape)
    flats = first[:, None] + inside[None, :]
    return Requests(flats, np.ones(flats.shape, np.bool_), 1, cached=False, ctas=ctas)


RULES: RuleTable[Callable[[Machine, Any], Requests]] = RuleTable("requests of warps", {
    Load: _tile, Store: _tile, AsyncLoad: _async_load, AsyncGather: _async_gather, Gather: _elements,
    Scatter: _elements, Atomic: _atomic, TmaLoad: _bulk_load, TmaStore: _bulk_store,
})
