"""The pair of sides of a kernel with the arguments of a launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.comparing.pairs import Pair
from tilewright.comparing.sides import Runner, Side
from tilewright.inspecting.stages import Stages
from tilewright.launching.grid import make_grid
from tilewright.launching.host import on_host
from tilewright.tileir.core import Function

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel


def pair_of(
    kernel: tile_kernel, grid: Any, args: Sequence[Any], named: Mapping[str, Any], a: Side, b: Side
) -> Pair:
    """Both sides; they start from the IR before any pass where one of them has none."""
    early = "frontend" in (a.kind, b.kind)
    complete = kernel.specialiser.call.complete(args, dict(named))
    functions, runners = zip(*(_side(kernel, grid, complete, side, early) for side in (a, b)), strict=True)
    return Pair(kernel.__name__, functions, runners)


def _side(
    kernel: tile_kernel, grid: Any, args: Sequence[Any], side: Side, early: bool
) -> tuple[Function, Runner]:
    kernel = kernel.replace_hints(**side.hints) if side.hints else kernel
    names = [param.name for param in kernel.specialiser.params]
    unknown = set(side.args) - set(names)
    if unknown:
        raise TypeError(f"compare: kernel {kernel.__name__} has no parameter {min(unknown)!r}")
    values = [side.args.get(name, value) for name, value in zip(names, args, strict=True)]
    stages = Stages(kernel.specialiser, values, side.target)
    given = grid if side.grid is None else side.grid
    made = make_grid(given if isinstance(given, tuple) else (given,))
    arrays, _ = on_host(stages.arguments)
    runs_passes = early and side.kind != "frontend"
    return stages.tile_ir(passes=not early), Runner(side, made, arrays, stages.target, stages.hints, runs_passes)
