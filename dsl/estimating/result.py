"""What an estimate says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.estimating.devices import DeviceLimits
from tilewright.estimating.flops import INTEGER
from tilewright.estimating.names import ATOMIC, READ, SECTOR, USABLE, WRITTEN

if TYPE_CHECKING:
    from tilewright.estimating.machine import MachineCode


@dataclass(frozen=True, slots=True)
class Bytes:
    """The bytes of one array that a kernel reads, or writes.

    `requested`: as often as it asks for them. `unique`: each one once; `most` is above it where accesses are too
    irregular to tell how far they overlap. Memory moves at least `unique` and, where no cache helps, `requested`.
    """

    unique: int = 0
    most: int = 0
    requested: int = 0

    @property
    def once(self) -> bool:
        """Whether no byte is accessed twice: memory then moves just these."""
        return self.requested <= self.unique


@dataclass(frozen=True, slots=True)
class ArrayTraffic:
    """One array of a launch: the parameter's name, the element type's name, the extents, its `size` in bytes, and the
    bytes `read` and `written`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    read: Bytes
    written: Bytes
    # Different sectors of 32 bytes: at least, and at most.
    read_sectors: tuple[int, int] = (0, 0)
    written_sectors: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a launch moves and computes, and how long a GPU takes at least.

    `kernel`: its name. `grid`: blocks along x, y, z. `device`: the GPU, with its limits. `arrays`: the traffic of each
    array, in the order of the parameters. `operations`: how many of each kind, such as "f32", "tensor bf16",
    "special" (exp, sqrt) and "integer". `notes`: sentences on what the numbers depend on. `machine`: what the machine
    code for the GPU asks for, where it was compiled.
    """

    kernel: str
    grid: tuple[int, int, int]
    device: DeviceLimits
    arrays: tuple[ArrayTraffic, ...]
    operations: dict[str, int]
    notes: tuple[str, ...] = field(default=())
    machine: MachineCode | None = field(default=None)

    @property
    def flops(self) -> int:
        """Floating-point operations: a multiply-add is two, and exp and its like are one each."""
        return sum(n for kind, n in self.operations.items() if kind != INTEGER and kind != "tensor i8")

    @property
    def work(self) -> int:
        """The FLOPs, and the operations of tensor cores on integers."""
        return sum(n for kind, n in self.operations.items() if kind != INTEGER)

    @property
    def bytes_read(self) -> dict[str, int]:
        """By array: the different bytes that are read, which memory has to deliver at least."""
        return {a.name: a.read.unique for a in self.arrays}

    @property
    def bytes_written(self) -> dict[str, int]:
        """By array: the different bytes that are written."""
        return {a.name: a.written.unique for a in self.arrays}

    @property
    def bytes_requested(self) -> int:
        """All bytes that are read and written, as often as they are."""
        return sum(a.read.requested + a.written.requested for a in self.arrays)

    @property
    def dram_read(self) -> dict[str, tuple[int, int]]:
        """By array: the bytes that memory delivers, in whole sectors. At least each one once; at most as often as it is
        asked for, or as the model of L2 says (`estimating/waves.py`) where there is machine code. Equal where nothing
        is read twice."""
        return {a.name: self._interval(a, READ) for a in self.arrays}

    @property
    def dram_written(self) -> dict[str, tuple[int, int]]:
        """The same of what it takes. What is written last is in L2 when the launch ends, and moves later."""
        return {a.name: self._interval(a, WRITTEN) for a in self.arrays}

    @property
    def dram_bytes(self) -> tuple[int, int]:
        """What memory moves in all: the sums of `dram_read` and `dram_written`."""
        both = [*self.dram_read.values(), *self.dram_written.values()]
        return sum(least for least, _ in both), sum(most for _, most in both)

    def _interval(self, array: ArrayTraffic, how: str) -> tuple[int, int]:
        part, unique = (array.read, array.read_sectors) if how == READ else (array.written, array.written_sectors)
        least, most = (n * SECTOR for n in unique)
        if part.once or self._in_l2:
            return least, max(least, most, self._in_parts(array) if how == WRITTEN else 0)
        if self.machine is None:
            return least, max(most, part.requested)
        code = self.machine
        fetched = code.of(array.name, how).fetched + code.of(array.name, ATOMIC).fetched
        return least, max(least, min(fetched * SECTOR, code.again.get((array.name, how), fetched * SECTOR)))

    def _in_parts(self, array: ArrayTraffic) -> int:
        """The bytes that memory takes at most of an array where several writes fill a sector: L2 may hand on what it
        has of one before the rest comes."""
        return 0 if self.machine is None or self._in_l2 else self.machine.of(array.name, WRITTEN).fetched * SECTOR

    @property
    def _in_l2(self) -> bool:
        """Whether L2 keeps all that the launch accesses, by the model."""
        total = sum(a.read_sectors[1] + a.written_sectors[1] for a in self.arrays) * SECTOR
        return self.machine is not None and total <= USABLE * self.device.l2_bytes

    @property
    def exact(self) -> bool:
        """Whether memory moves just as much as is said, as no sector is accessed twice."""
        least, most = self.dram_bytes
        return least == most and all(part.once for a in self.arrays for part in (a.read, a.written))

    @property
    def intensity(self) -> float:
        """Operations for each byte that memory moves at least; those of tensor cores on integers included."""
        return self.work / self.dram_bytes[0] if self.dram_bytes[0] else 0.0

    @property
    def seconds_memory(self) -> float:
        """What memory takes at its limit for the least bytes."""
        return self.dram_bytes[0] / self.device.memory_limit

    @property
    def seconds_by_kind(self) -> dict[str, float]:
        """What the units take at their limits, by kind of operation. They work side by side."""
        limits = {kind: self.device.rate_limit(kind) for kind in self.operations}
        return {kind: n / limit for kind, n in self.operations.items() if (limit := limits[kind])}

    @property
    def seconds_compute(self) -> float:
        """What the busiest units take."""
        return max(self.seconds_by_kind.values(), default=0.0)

    @property
    def seconds(self) -> float:
        """The least time of the launch: nothing is faster than its limit."""
        return max(self.seconds_memory, self.seconds_compute)

    @property
    def limit(self) -> str:
        """"bandwidth" or "compute": what bounds the least time."""
        return "compute" if self.seconds_compute > self.seconds_memory else "bandwidth"

    @property
    def shares(self) -> dict[str, float]:
        """How busy memory ("bandwidth") and each kind of unit are if the launch takes the least time: 1.0 for the one
        that bounds it."""
        busy = {"bandwidth": self.seconds_memory, **self.seconds_by_kind}
        return {name: seconds / self.seconds if self.seconds else 0.0 for name, seconds in busy.items()}

    def reached(self, seconds: float) -> float:
        """The share of the limit that a launch of this duration reaches."""
        return self.seconds / seconds
