"""Transfers through slots of shared memory, and their engines: the data that legality, depth and emission share.

A transfer brings one tile of each iteration of a loop into a slot. Three engines can carry one: TMA, issued by a
producer warp; cp.async, issued by all threads some iterations ahead; and the threads' own stores, of what they have
computed for wgmma. Transfers of a loop that advance together form a channel; its ring has a buffer for each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from tilewright.backend_ptx import decisions
from tilewright.backend_ptx.ops.warpgroup import Stage
from tilewright.backend_ptx.passes.barriers.hazards import SPARE_SLOTS
from tilewright.tileir.analysis.neighbours import GatherRun
from tilewright.tileir.analysis.recurrences import Recurrence
from tilewright.tileir.carried import Loop, Region
from tilewright.tileir.core import Function, Op, Value
from tilewright.tileir.dtypes import DType
from tilewright.tileir.engines import Engine
from tilewright.tileir.layout import Layout
from tilewright.tileir.machine_ops.layout import ConvertLayout
from tilewright.tileir.ops.memory import Gather, Load
from tilewright.tileir.types import SharedType

Source = Load | Gather | Stage


class RefusalError(Exception):
    """Why an engine may not carry a tile, in the words of the decision."""


class Fetched(NamedTuple):
    """A loaded tile that indices need, in the layout of `value`, the result of the load or of a conversion."""

    value: Value
    load: Load


class Address(NamedTuple):
    """What an iteration computes for the address of its tile: `ops` of the body, from the loop variable, from `params`
    (carried by the loop), and from `fetched`. `fetched` is loaded one iteration earlier, at the indices that `places`
    compute."""

    ops: tuple[Op, ...] = ()
    places: tuple[Op, ...] = ()
    fetched: tuple[Fetched, ...] = ()
    params: tuple[Value, ...] = ()


NO_RUN, NO_ADDRESS = GatherRun(), Address()


@dataclass(slots=True, eq=False)
class Transfer:
    """The tile of `source` in slots of layout `slot`. `stages`: the operands of wgmma that a slot serves as; `moves`:
    the ops that only lead to them; `conversions`: those that reads from a slot replace. `ctas`: the CTAs of a cluster
    that each load a part of the tile and multicast it.

    Of copies by cp.async: `threads` says which thread copies which elements, `width` bytes at a time; `run`: of a
    gather. `exchanged`: whether threads read what others have copied, after a barrier.
    """

    source: Source
    slot: Layout
    dtype: DType
    stages: list[Stage] = field(default_factory=list)
    moves: list[Op] = field(default_factory=list)
    conversions: list[ConvertLayout] = field(default_factory=list)
    ctas: int = 1
    exchanged: bool = True
    threads: Layout | None = None
    width: int = 0
    run: GatherRun = NO_RUN
    address: Address = NO_ADDRESS

    @property
    def type(self) -> SharedType:
        """Of one slot."""
        return SharedType(self.dtype, self.source.result.type.shape, layout=self.slot)

    @property
    def latency(self) -> int | None:
        """The user's hint."""
        return None if isinstance(self.source, Stage) else self.source.latency

    @property
    def load(self) -> Load:
        """The source, where only loads are carried."""
        assert isinstance(self.source, Load)
        return self.source

    @property
    def name(self) -> str:
        return name_of(self.source)

    @property
    def replaced(self) -> set[Op]:
        """The ops that are dead once slots hold the tile."""
        return {self.source, *self.stages, *self.moves, *self.conversions}


@dataclass(slots=True, eq=False)
class Channel:
    """Transfers of a loop that advance through their slots together. `release`: the op after which an iteration's slots
    are free, None if outstanding MMAs still read them when it ends. Where the region is the function, the one slot is
    filled once, and not released.
    """

    engine: Engine
    region: Region
    transfers: list[Transfer]
    release: Op | None = None
    ring: Ring = field(default_factory=lambda: Ring())
    recurrence: Recurrence | None = None  # of what the addresses of its copies need

    def __post_init__(self) -> None:
        self.ring.channels.append(self)

    @property
    def loop(self) -> Loop:
        assert not isinstance(self.region, Function)
        return self.region

    @property
    def once(self) -> bool:
        """Whether the slot keeps its tile as long as the kernel runs."""
        return isinstance(self.region, Function)

    @property
    def late(self) -> bool:
        """Whether MMAs that are outstanding in the next iteration read the slots."""
        return self.release is None and any(t.stages for t in self.transfers)

    @property
    def least(self) -> int:
        """The fewest slots that allow prefetching."""
        return SPARE_SLOTS + 1 if self.engine.counted and self.late else 2

    @property
    def ahead(self) -> int:
        """Iterations between the start of a copy and its use."""
        return self.ring.slots - self.least + 1

    def buffer(self, transfer: Transfer) -> Value:
        return self.ring.buffers[self.transfers.index(transfer)]


@dataclass(slots=True, eq=False)
class Ring:
    """Slots that channels use one after another: a buffer for each transfer of a channel. For TMA two sets of
    mbarriers: copies complete on `full`, and readers release slots on `empty`."""

    channels: list[Channel] = field(default_factory=list)
    slots: int = 0  # none unless they fit
    ctas: int = 1  # CTAs of a cluster that fill its slots together
    buffers: list[Value] = field(default_factory=list)
    full: Value = field(init=False)
    empty: Value = field(init=False)

    @property
    def types(self) -> tuple[SharedType, ...]:
        """Of one slot of each buffer."""
        return tuple(t.type for t in self.channels[0].transfers)

    @property
    def bytes(self) -> int:
        """Of one slot of each buffer."""
        return sum(t.bytes for t in self.types)

    @property
    def read_early(self) -> bool:
        """Whether its slots are free before an iteration ends: threads alone read them."""
        return all(c.release is not None and not any(t.stages for t in c.transfers) for c in self.channels)

    @property
    def latencies(self) -> list[int]:
        """The hints of its loads."""
        return [t.latency for c in self.channels for t in c.transfers if t.latency is not None]


def name_of(source: Source) -> str:
    """The user's name for it."""
    if isinstance(source, Stage):
        return source.src.hint or decisions.AN_OPERAND
    return source.result.hint or source.array.hint or decisions.A_LOAD
