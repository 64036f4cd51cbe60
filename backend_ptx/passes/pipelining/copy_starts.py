"""Start the copies of one round of a loop: tiles of arrays, and gathers with what they need of other arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.ops.async_copy import AsyncCommit, AsyncGather, AsyncLoad
from tilewright.backend_ptx.passes.pipelining.copy_candidates import Candidate
from tilewright.backend_ptx.passes.pipelining.gather_candidates import GatherCandidate
from tilewright.tileir.analysis.facts import Facts
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import Op, Value
from tilewright.tileir.enums import PaddingMode
from tilewright.tileir.ops.control import For
from tilewright.tileir.ops.memory import Load


@dataclass(slots=True, eq=False)
class Ring:
    """The slots of one load or gather."""

    candidate: Candidate
    buffer: Value


class Starter:
    """Emits the copies of a loop's rounds, wherever they start."""

    def __init__(self, loop: For, rings: Sequence[Ring], known: Facts) -> None:
        self.variable = loop.loop.params[0]
        self.rings = rings
        self.gathers = [r.candidate for r in rings if isinstance(r.candidate, GatherCandidate)]
        self.known = known

    def fetch(self, b: Builder, variable: Value) -> dict[Value, Value]:
        """What the gathers of the round with this loop variable need of other arrays."""
        mapping = {self.variable: variable}
        out: dict[Value, Value] = {}
        for candidate in self.gathers:
            _clone(b, candidate.places, mapping)
            for value, load in candidate.fetched:
                if value in out:
                    continue
                copy = load.clone(dict(mapping))
                copy.result.type = value.type
                b.block.ops.append(copy)
                out[value] = copy.result
        return out

    def start(
        self, b: Builder, slot: Value, ahead: int, active: Value, variable: Value, fetched: dict[Value, Value],
    ) -> None:
        """The copies of one round, as a group."""
        mapping = {self.variable: variable, **fetched}
        for ring in self.rings:
            load, candidate = ring.candidate.load, ring.candidate
            _clone(b, candidate.slice, mapping)
            if isinstance(candidate, GatherCandidate):
                self._start_gather(b, ring.buffer, candidate, slot, ahead, active, mapping)
                continue
            # Nothing is padded where nothing lies outside, so that any padding will do.
            padding = load.padding if load.check_bounds else PaddingMode.ZERO
            with b.at(load.span):
                b.emit(AsyncLoad(
                    buffer=ring.buffer, slot=slot, ahead=ahead, array=load.array, active=active,
                    index=tuple(mapping.get(i, i) for i in load.index), steps=load.steps, order=load.order,
                    tile=load.result.type.with_layout(candidate.copy), padding=padding,
                    check_bounds=load.check_bounds and not self._inside(load)))
        b.emit(AsyncCommit())

    def _start_gather(
        self, b: Builder, buffer: Value, candidate: GatherCandidate, slot: Value, ahead: int, active: Value,
        mapping: dict[Value, Value],
    ) -> None:
        gather, run = candidate.load, candidate.run
        with b.at(gather.span):
            b.emit(AsyncGather(
                buffer=buffer, slot=slot, ahead=ahead, array=gather.array, active=active,
                indices=tuple(mapping.get(i, i) for i in gather.indices),
                mask=None if gather.mask is None else mapping.get(gather.mask, gather.mask), padding=gather.padding,
                tile=gather.result.type.with_layout(candidate.copy), vector=run.length, dense=run.dense,
                check_bounds=gather.check_bounds))

    def _inside(self, load: Load) -> bool:
        """Whether every round's tile lies in the array by what is known of its index."""
        array = load.array.type
        for axis, index in enumerate(load.index):
            extent, fact = array.extents[load.order[axis]], self.known[index]
            if extent is None or fact.low < 0 or fact.high * load.steps[axis] + load.shape[axis] > extent:
                return False
        return True


def _clone(b: Builder, ops: list[Op], mapping: dict[Value, Value]) -> None:
    for op in ops:
        if op.result not in mapping:
            b.block.ops.append(op.clone(mapping))
