"""What a profile holds: kinds of launches, launches, and their sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from tilewright.estimating.devices import DeviceLimits
from tilewright.launching.signature import shown
from tilewright.launching.specialise import Specialiser
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.events import Event

if TYPE_CHECKING:
    from tilewright.estimating.result import Estimate
    from tilewright.profiling.events import DeviceTimer


@dataclass(eq=False)
class Kind:
    """Launches of one kernel over one grid with arguments of one kind. `executor`: "interpreter", or the GPU's name.
    `args` has specs in the place of arrays; None where the arguments did not fit. `number`: of the kinds of a profile,
    which one."""

    specialiser: Specialiser
    grid: tuple[int, int, int]
    args: tuple[Any, ...] | None
    executor: str
    limits: DeviceLimits
    timer: DeviceTimer | None = None
    stream: Any = None
    number: int = 0

    @property
    def kernel(self) -> str:
        return self.specialiser.name

    @property
    def specialisation(self) -> str:
        """The arguments, as the command line takes them."""
        return ", ".join(map(shown, self.args)) if self.args is not None else "?"

    @cached_property
    def estimate(self) -> Estimate | None:
        """What a launch moves and computes; None where that cannot be told."""
        from tilewright.estimating.entry import estimated
        from tilewright.inspecting.stages import Stages

        if self.args is None:
            return None
        try:
            return estimated(Stages(self.specialiser, self.args, self.limits.target), self.grid, self.limits)
        except (TileError, TypeError, ValueError, OverflowError):
            return None


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch. `start` and `end` are the host's, in nanoseconds of `time.perf_counter_ns`: what the call took.
    `device` are those of the GPU, None for the interpreter and where they could not be read."""

    kind: Kind
    start: int
    end: int
    thread: int
    stream: int = 0
    device: tuple[int, int] | None = None
    failed: bool = False


@dataclass
class Row:
    """The launches of one kind: how many, and nanoseconds in all on the host and on the GPU (None: it ran on none);
    `hosts` and `devices` are those of each launch."""

    kind: Kind
    launches: int = 0
    failed: int = 0
    host: int = 0
    device: int | None = None
    hosts: list[int] = field(default_factory=list)
    devices: list[int] = field(default_factory=list)
    estimate: Estimate | None = field(default=None)

    @property
    def seconds(self) -> float | None:
        """The median time of a launch on the GPU."""
        return 1e-9 * median(self.devices) if self.devices else None

    @property
    def host_seconds(self) -> float:
        """The median time of a launch on the host: one that compiles does not count for more than another."""
        return 1e-9 * median(self.hosts)

    @property
    def order(self) -> tuple[bool, int]:
        return self.device is not None, self.device or self.host


def rows_of(launches: list[Launched]) -> list[Row]:
    """Launches by kind, those that take most of the GPU first, then those of the host."""
    found: dict[Kind, Row] = {}
    for launch in launches:
        row = found.setdefault(launch.kind, Row(launch.kind))
        row.launches += 1
        row.failed += launch.failed
        row.hosts.append(launch.end - launch.start)
        row.host += row.hosts[-1]
        if launch.device is not None:
            lasted = launch.device[1] - launch.device[0]
            row.device = (row.device or 0) + lasted
            row.devices.append(lasted)
    for row in found.values():
        row.estimate = row.kind.estimate
    return sorted(found.values(), key=lambda row: row.order, reverse=True)


class Recording:
    """What was recorded; `Profile` says what the attributes are. `broken`: a kernel failed on the GPU, so that no time
    of it could be read."""

    def __init__(self) -> None:
        self.launches: list[Launched] = []
        self.events: list[Event] = []
        self.start = self.end = 0
        self.broken = False

    @property
    def seconds(self) -> float:
        """How long the profile was open."""
        return 1e-9 * (self.end - self.start)

    @cached_property
    def rows(self) -> list[Row]:
        """The launches by kernel, grid and arguments: those that take most time of the GPU first, then of the host."""
        return rows_of(self.launches)
