"""Which gathers of a loop may be started some rounds early: those whose places a round can compute ahead of time.

Indices come from the loop variable, from what the loop does not change, and from tiles of other arrays (`fetched`),
which are loaded one round before the gather starts: these stay in registers, in the layout in which the gather wants
them. A gather that becomes an operand of wgmma goes straight to where tensor cores read it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.backend_ptx.layouts.convert import plan_conversion
from tilewright.backend_ptx.layouts.memory import GatherRun, gather_run
from tilewright.backend_ptx.layouts.queries import is_replicated, vector_along
from tilewright.backend_ptx.layouts.ring import ring_layout, widest_copy
from tilewright.backend_ptx.ops.layout import ConvertLayout
from tilewright.backend_ptx.passes.pipelining.copy_candidates import Candidate, Staged, harmless, staged_place
from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.analysis.runs import Runs
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import MemoryOrder
from tilewright.tileir.ops import arith, shape
from tilewright.tileir.ops import math as functions
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Gather, Load

_SHAPES = (shape.Iota, shape.Broadcast, shape.Reshape, shape.Permute)
_ALSO_HARMLESS = (*_SHAPES, arith.Shl, arith.Shr, functions.Neg, functions.Not)


class Fetched(NamedTuple):
    """A tile that indices need: what a load brings, in the layout of `value`, which is the load's or a conversion's."""

    value: Value
    load: Load


@dataclass(slots=True, eq=False)
class GatherCandidate(Candidate):
    """A gather and its ring: every copy moves `run.length` elements. `slice`: the ops that make indices and mask of
    what is fetched."""

    load: Gather  # type: ignore[assignment]
    run: GatherRun = GatherRun(1, -1)
    fetched: list[Fetched] = field(default_factory=list)
    places: list[Op] = field(default_factory=list)  # scalar ops that say where fetched tiles are

    @property
    def inside(self) -> set[Op]:
        """The ops of the body that a ring makes superfluous, unless others need them."""
        return {*self.slice, *self.places, *(f.load for f in self.fetched),
                *(f.value.op for f in self.fetched if f.value.op is not None)}


class GatherFinder:
    """Looks at the gathers of one loop. `users`: the ops that read each value, bodies included."""

    def __init__(
        self, loop: For, users: dict[Value, list[Op]], dependences: Dependences, known: Facts, runs: Runs,
    ) -> None:
        self.loop = loop
        self.users = users
        self.dependences = dependences
        self.summary = dependences.summary(loop)
        self.known = known
        self.runs = runs
        self.body = {r: op for op in loop.loop.ops for r in op.results}

    def find(self, gather: Gather) -> GatherCandidate | str:
        """The ring that a gather of the loop's body could have, or why it can have none."""
        layout = gather.result.type.layout
        if layout is None:
            return "one element"
        if gather.latency == 1:
            return "latency=1"
        if not _is_zero(gather.padding):
            return "padding"
        if self._changes(gather.array):
            return "its array changes in the loop"
        run = self._run(gather)
        if run.length == 1:
            return "its elements are not known to lie side by side"
        run = self._uncut(gather, run)
        if run.length == 1:
            return "its mask may end between neighbours"
        found = self._ring(gather, run)
        if isinstance(found, str):
            return found
        refused = self._indices(found)
        return refused or found

    def _changes(self, array: Value) -> bool:
        inside = array in self.body or array in self.loop.loop.params
        return inside or self.summary.ordered or self.dependences.alias_class(array) in self.summary.writes

    def _run(self, gather: Gather) -> GatherRun:
        """The most elements that a thread holds side by side in memory, along any axis."""
        indices = tuple(self.runs[i] for i in gather.indices)
        found = [(gather_run(gather.array.type, indices, axis), axis) for axis in range(len(gather.shape))]
        layout = gather.result.type.layout
        return max((GatherRun(min(run.length, vector_along(layout, axis)), run.dense) for run, axis in found),
                   default=GatherRun(1, -1))

    def _uncut(self, gather: Gather, run: GatherRun) -> GatherRun:
        """As many of them as are masked all or none."""
        if gather.mask is None:
            return run
        axis = next(a for a, r in enumerate(self.runs[gather.indices[run.dense]]) if r.rises >= run.length)
        return run._replace(length=min(run.length, self.runs[gather.mask][axis].stays))

    # ---- where it goes -------------------------------------------------------------------------------------------

    def _ring(self, gather: Gather, run: GatherRun) -> GatherCandidate | str:
        type_ = gather.result.type
        copy, size = type_.layout, type_.dtype.bytes
        staged = staged_place(self.loop, gather.result, self.users)
        if isinstance(staged, Staged):
            width = widest_copy(staged.slot, copy, run.length, size)
            if not width:
                return f"only {run.length * size} bytes lie side by side"
            return GatherCandidate(gather, True, copy, staged.slot, width, stages=staged.stages, moves=staged.moves,
                                   run=run._replace(length=width // size))
        users = self.users.get(gather.result, [])
        conversions = [u for u in users if isinstance(u, ConvertLayout)]
        crossing = [u for u in conversions if plan_conversion(copy, u.result.type.layout).kind in ("warp", "block")]
        if not crossing and is_replicated(copy):
            return "several threads need the same elements"
        slot = ring_layout(copy, tuple(u.result.type.layout for u in crossing) or (copy,), size)
        width = widest_copy(slot, copy, run.length, size)
        if not width:
            return f"only {run.length * size} bytes lie side by side"
        return GatherCandidate(gather, bool(crossing), copy, slot, width, conversions=conversions if crossing else [],
                               run=run._replace(length=width // size))

    # ---- what it needs -------------------------------------------------------------------------------------------

    def _indices(self, found: GatherCandidate) -> str:
        """Fill in what computes indices and mask; why that cannot be done early, "" if it can."""
        gather = found.load
        wanted = [*gather.indices, *(() if gather.mask is None else (gather.mask,))]
        chosen: dict[Op, None] = {}
        fetched: dict[Value, Fetched] = {}
        refused = self._walk(wanted, chosen, fetched)
        places: dict[Op, None] = {}
        if not refused:
            refused = self._walk([i for f in fetched.values() for i in f.load.index], places, None)
        if refused:
            return refused
        moves = any(self.loop.loop.params[0] in op.operands for op in (*chosen, *places, *(
            f.load for f in fetched.values())))
        if not moves:
            return "the same elements in every round"
        order = {op: i for i, op in enumerate(self.loop.loop.ops)}
        found.slice = sorted(chosen, key=order.__getitem__)
        found.places = sorted(places, key=order.__getitem__)
        found.fetched = list(fetched.values())
        return ""

    def _walk(self, wanted: list[Value], chosen: dict[Op, None], fetched: dict[Value, Fetched] | None) -> str:
        """Collect the ops of the body that values come from. Loads end the search where `fetched` takes them."""
        carried = self.loop.loop.params[1:]
        work = list(wanted)
        while work:
            value = work.pop()
            if value in carried:
                return "its index is carried from round to round"
            op = self.body.get(value)
            if op is None or op in chosen:
                continue
            source = op.src.op if isinstance(op, ConvertLayout) else op
            if isinstance(source, Load) and source in self.loop.loop.ops and fetched is not None:
                if not self._may_fetch(source):
                    return "its index is not known early enough"
                fetched[value] = Fetched(value, source)
                continue
            if not (harmless(op, self.known) or isinstance(op, _ALSO_HARMLESS) or _stays_in_thread(op)):
                return "its index is not known early enough"
            chosen[op] = None
            work += op.operands
        return ""

    def _may_fetch(self, load: Load) -> bool:
        """Whether a load may be done for a round that never comes."""
        return load.check_bounds and load.memory_order is MemoryOrder.WEAK and not self._changes(load.array)


def _stays_in_thread(op: Op) -> bool:
    if not isinstance(op, ConvertLayout):
        return False
    return plan_conversion(op.src.type.layout, op.result.type.layout).kind in ("none", "registers")


def _is_zero(padding: Value) -> bool:
    op = padding.op
    return isinstance(op, arith.Constant) and op.value == 0 and math.copysign(1, op.value) > 0
