"""What the machine code of a launch asks for, counted from the function after the backend's passes: sectors, CTAs per
SM, waves, and how much of what is accessed again reaches memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilewright.backend_ptx.targets import Target
from tilewright.estimating.banks import SharedUse, shared_uses
from tilewright.estimating.counting import Accessing, CountingProgram
from tilewright.estimating.devices import DeviceLimits
from tilewright.estimating.names import READ, SECTOR
from tilewright.estimating.occupancy import Occupancy, occupancy_of
from tilewright.estimating.requests import Machine
from tilewright.estimating.sectors import SectorCount, Sectors
from tilewright.estimating.values import counting_values
from tilewright.estimating.waves import Waves
from tilewright.tileir.core import Function, Op
from tilewright.tileir.passes.project import project

if TYPE_CHECKING:
    from tilewright.estimating.counting import Observer
    from tilewright.inspecting.stages import Stages

NONE = Sectors()


@dataclass(frozen=True, slots=True)
class MachineCode:
    """What the machine code of a launch asks for.

    `sectors`: by array, then by "read", "written" and "atomic". `again`: by array and by "read" and "written", the
    bytes that reach memory by the model of L2 (`estimating/waves.py`). `in_step`: likewise, the bytes that L2 is asked
    for if SMs that ask for the same at the same time share requests, as neighbours on Hopper do. `occupancy`: CTAs that
    fit an SM; `ctas`: those of the grid; `waves`: how often they fill the GPU. `shared`: requests of shared memory, by
    line. `scaled`: arrays with so many gathered elements that a part was looked at, and stands for the rest.
    """

    sectors: dict[str, dict[str, Sectors]]
    again: dict[tuple[str, str], int]
    in_step: dict[tuple[str, str], int]
    occupancy: Occupancy
    ctas: int
    waves: float
    shared: tuple[SharedUse, ...]
    scaled: tuple[str, ...] = field(default=())

    @property
    def last_wave(self) -> float:
        """The share of the GPU that the last wave fills."""
        return self.waves - math.ceil(self.waves) + 1 if self.waves else 0.0

    def of(self, name: str, how: str) -> Sectors:
        """The sectors of one array that are asked for."""
        return self.sectors.get(name, {}).get(how, NONE)

    def l2(self, how: str) -> int:
        """Sectors that reach L2 to be "read", "written" or updated ("atomic"), of all arrays."""
        return sum(parts[how].fetched for parts in self.sectors.values() if how in parts)

    def l2_shared(self, how: str) -> int:
        """The same where all SMs share the requests that they can."""
        asked = self.l2(how)
        together = sum(bytes_ for (_, way), bytes_ in self.in_step.items() if way == how)
        return min(asked, together // SECTOR) if self.in_step else asked


def machines(function: Function) -> list[Machine]:
    """The roles of a machine function, the one that computes tiles first."""
    plan = function.plan
    if not plan.roles:
        return [Machine(function, plan.warps, alone=False)]
    return [Machine(project(function, role.name), plan.warps, alone=number > 0)
            for number, role in enumerate(plan.roles)]


class Both:
    """Two who watch the same run."""

    def __init__(self, *watching: Observer) -> None:
        self.watching = watching

    def bound(self, values: Any) -> None:
        for one in self.watching:
            one.bound(values)

    def tile(self, op: Op, ref: Any, starts: list[Any], blocks: Accessing) -> None:
        for one in self.watching:
            one.tile(op, ref, starts, blocks)

    def elements(self, op: Op, ref: Any, indices: list[Any], mask: Any, blocks: Accessing) -> None:
        for one in self.watching:
            one.elements(op, ref, indices, mask, blocks)


def machine_code(stages: Stages, grid: tuple[int, int, int], device: DeviceLimits) -> MachineCode:
    """Compile for the GPU's target, and count over the grid."""
    function = stages.machine_ir()
    occupancy = occupancy_of(stages, function)
    packed = function.plan.packed
    ctas = -(-grid[0] // packed) * grid[1] * grid[2] * function.plan.cluster
    size = max(occupancy.resident, 1) * device.sms
    waves = Waves(size * packed, ctas * packed)
    counted = Counted(stages.target)
    counted.count(stages, function, grid, waves)
    sectors = counted.sectors
    share = _share(sectors, occupancy, ctas, device.sms)
    sectors = {name: {how: found.shared(share) for how, found in parts.items()} for name, parts in sectors.items()}
    return MachineCode(sectors, waves.bytes(device.l2_bytes), waves.in_step(), occupancy, ctas, ctas / size,
                       counted.uses(), tuple(sorted(counted.scaled)))


def _share(sectors: dict[str, dict[str, Sectors]], occupancy: Occupancy, ctas: int, sms: int) -> float:
    """Of the loads of tiles that all CTAs load, how many reach L2: one for each SM where L1 has room for these tiles
    and for what its CTAs load besides, else one for each SM and wave."""
    reads = [parts[READ] for parts in sectors.values() if READ in parts]
    common = sum(found.common for found in reads)
    besides = sum(found.fetched for found in reads) - common
    fits = (common + besides * occupancy.resident) / ctas * SECTOR <= occupancy.l1_bytes
    waves = 1 if fits else -(-ctas // (sms * max(occupancy.resident, 1)))
    return min(1.0, sms * waves / ctas)


class Counted:
    """What a counting run of all roles of a machine function finds."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.sectors: dict[str, dict[str, Sectors]] = {}
        self.scaled: set[str] = set()
        self._uses: dict[tuple[str, int], SharedUse] = {}

    def count(self, stages: Stages, function: Function, grid: tuple[int, int, int], *others: Observer) -> None:
        """Run over the whole grid; `others` watch, too."""
        for machine in machines(function):
            watching = SectorCount(machine)
            program = CountingProgram(machine.function, Both(watching, *others))
            program.count(grid, counting_values(stages.arguments, bool(program.slice.contents)))
            for name, how, found in watching.totals():
                parts = self.sectors.setdefault(name, {})
                parts[how] = parts.get(how, NONE) + found
            self.scaled |= watching.scaled
            for use in shared_uses(machine, self.target, program.runs):
                known = self._uses.get((use.what, use.line), SharedUse(use.what, use.line, 0, 0))
                self._uses[use.what, use.line] = replace(
                    known, wavefronts=known.wavefronts + use.wavefronts, least=known.least + use.least)

    def uses(self) -> tuple[SharedUse, ...]:
        """Those of shared memory, by line."""
        return tuple(self._uses[key] for key in sorted(self._uses, key=lambda key: (key[1], key[0])))
