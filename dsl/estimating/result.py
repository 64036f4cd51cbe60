"""What an estimate says."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.estimating.devices import DeviceLimits
from tilewright.estimating.flops import INTEGER


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


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a launch moves and computes, and how long a GPU takes at least.

    `kernel`: its name. `grid`: blocks along x, y, z. `device`: the GPU, with its limits. `arrays`: the traffic of each
    array, in the order of the parameters. `operations`: how many of each kind, such as "f32", "tensor bf16",
    "special" (exp, sqrt) and "integer". `notes`: sentences on what the numbers depend on.
    """

    kernel: str
    grid: tuple[int, int, int]
    device: DeviceLimits
    arrays: tuple[ArrayTraffic, ...]
    operations: dict[str, int]
    notes: tuple[str, ...] = field(default=())

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
    def dram_bytes(self) -> tuple[int, int]:
        """What memory moves: at least the unique bytes, at most the requested ones. Equal where nothing is accessed
        twice."""
        least = sum(a.read.unique + a.written.unique for a in self.arrays)
        return least, max(least, self.bytes_requested)

    @property
    def exact(self) -> bool:
        """Whether memory moves just as much as is said, as nothing is accessed twice."""
        return all(part.once for a in self.arrays for part in (a.read, a.written))

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
