"""A kernel's GPU code on the CPU: the simulator's reports, at the user's lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from tilewright.arguments.checks import check_outputs
from tilewright.inspecting.places import Places
from tilewright.launching.grid import Grid
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import NO_SPAN, TileSimulationError

if TYPE_CHECKING:
    from tilewright.backend_ptx.abi import Lowered
    from tilewright.backend_ptx.simulator import SimError
    from tilewright.backend_ptx.targets import Target
    from tilewright.inspecting.stages import Stages

Schedule = Literal["inorder", "random"]


def simulate(stages: Stages, grid: Grid, schedule: Schedule, seed: int) -> None:
    """Run the code for the whole grid; arrays are written in place. TileSimulationError for what is wrong."""
    from tilewright.backend_ptx.simulator import SimError, simulate_lowered
    from tilewright.tileir.analysis.effects import written_arrays

    if schedule not in ("inorder", "random"):
        raise ValueError(f"schedule must be 'inorder' or 'random', not {schedule!r}")
    check_outputs(stages.arguments, written_arrays(stages.tile_ir()))
    if grid.empty:
        return
    lowered = stages.lowered
    try:
        simulate_lowered(lowered, grid.size, stages.values, schedule=schedule, seed=seed)
    except SimError as error:
        raise _in_source(error, lowered, _names(stages)) from None


def simulate_function(function: Function, target: Target, grid: Grid, values: Sequence[Any]) -> None:
    """The same for a Tile IR function, whose passes are still to come; it gets line numbers."""
    from tilewright.backend_ptx.compile import lower_kernel
    from tilewright.backend_ptx.simulator import SimError, simulate_lowered

    function.switches = replace(function.switches, line_info=True)
    lowered = lower_kernel(function, target)
    try:
        simulate_lowered(lowered, grid.size, values)
    except SimError as error:
        raise _in_source(error, lowered, [value.hint for value in function.params]) from None


def _in_source(error: SimError, lowered: Lowered, names: Sequence[str]) -> TileSimulationError:
    """The error at the line of the source that its instruction comes from, in the user's names."""
    def named(match: re.Match[str]) -> str:
        number = int(match.group(1))
        params = lowered.abi.params
        return names[params[number].argument] if number < len(params) else match.group()

    what = type(error).__name__
    message = re.sub(r"\bp(\d+)\b", named, error.message)
    place = Places(lowered.llvm_text).at(error.line) if error.line else NO_SPAN
    return TileSimulationError(
        f"{what}: {message}", place, kind=what, threads=error.threads,
        notes=[f"threads {', '.join(map(str, error.threads))}..."] * bool(error.threads)
        + [" ".join(error.where.split())] * bool(error.where))


def _names(stages: Stages) -> list[str]:
    """The names of the parameters of the Tile IR function."""
    return [value.hint for value in stages.tile_ir().params]
