"""`estimate`: what a launch moves and computes, without running it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewright.arguments.bind import ArrayArgument, ArrayList, leaves
from tilewright.estimating.devices import DeviceLimits, limits_of
from tilewright.estimating.result import ArrayTraffic, Bytes, Estimate
from tilewright.launching.grid import make_grid

if TYPE_CHECKING:
    from tilewright.estimating.machine import MachineCode
    from tilewright.estimating.traffic import Accesses
    from tilewright.inspecting.stages import Stages
    from tilewright.kernel import tile_kernel


def estimate(kernel: tile_kernel, grid: Any, *args: Any, device: str | DeviceLimits = "h200", machine: bool = True,
             **named: Any) -> Estimate:
    """What a launch moves and computes, and what bounds its time on a GPU. Nothing runs, and no GPU is needed.

    Arguments: as in a launch; specs may stand for arrays (`ct.spec("bf16[4096,4096]")`), with all extents known.
    Options: `device`, the name of a GPU ("h200", "h100", "a100", "a40", "l40", "b200", "rtx-pro-6000"), or a record
        like those in `estimating.DEVICES`; `machine=False` counts tiles alone, without compiling: then there are no
        sectors, CTAs per SM, waves and bank conflicts, and what is accessed again may be moved again.
    Result: an Estimate.
    Errors: those of a launch; TileValueError for an unknown GPU; TypeError for a spec without extents.
    """
    known = limits_of(device)
    stages = kernel.lower(*args, target=known.target, **named)
    made = make_grid(grid if isinstance(grid, tuple) else (grid,))
    return estimated(stages, made.size, known, machine=machine)


def estimated(
    stages: Stages, grid: tuple[int, int, int], device: DeviceLimits, *, machine: bool = False
) -> Estimate:
    """The same for a kernel with its arguments. `machine`: for its machine code, too."""
    from tilewright.estimating.counting import CountingProgram
    from tilewright.estimating.operations import operations
    from tilewright.estimating.traffic import Traffic
    from tilewright.estimating.values import counting_values

    function, traffic = stages.tile_ir(), Traffic()
    program = CountingProgram(function, traffic)
    contents = program.slice.contents
    program.count(grid, counting_values(stages.arguments, bool(contents)))
    notes = [_depends(stages, program)] if contents else []
    found = Estimate(stages.name, grid, device, _arrays(stages, traffic), operations(program.runs), tuple(notes))
    if not machine:
        return found
    code = _machine(stages, grid, device)
    if code.scaled:
        names = ", ".join(code.scaled)
        notes.append(f"{names}: too many elements are gathered or scattered to look at each; sectors are scaled from a "
                     "part of them")
    return replace(found, machine=code, notes=tuple(notes))


def _machine(stages: Stages, grid: tuple[int, int, int], device: DeviceLimits) -> MachineCode:
    from tilewright.estimating.machine import machine_code

    return machine_code(stages, grid, device)


def _depends(stages: Stages, program: Any) -> str:
    positions = sorted({p for op in program.slice.contents
                        for p in program.dependences.parameters(op.array)})
    names = ", ".join(program.function.params[p].hint for p in positions)
    return f"how often ops run, or where they access memory, depends on the contents of {names}: for these values"


def _arrays(stages: Stages, traffic: Any) -> tuple[ArrayTraffic, ...]:
    found = []
    for leaf in leaves(stages.arguments):
        items = leaf.items if isinstance(leaf, ArrayList) else [leaf] if isinstance(leaf, ArrayArgument) else []
        for item in items:
            root = traffic.arrays[item.name]
            size = item.info.dtype.bytes
            count = 1
            for n in root.extents:
                count *= n
            read, written = traffic.reads.get(item.name), traffic.writes.get(item.name)
            found.append(ArrayTraffic(
                item.name, item.info.dtype.name, tuple(root.extents), count * size, _bytes(read, root, size),
                _bytes(written, root, size), _sectors(read, root), _sectors(written, root)))
    return tuple(found)


def _bytes(accesses: Accesses | None, root: Any, size: int) -> Bytes:
    if accesses is None:
        return Bytes()
    least, most = accesses.unique(root)
    return Bytes(least * size, most * size, accesses.requested * size)


def _sectors(accesses: Accesses | None, root: Any) -> tuple[int, int]:
    return (0, 0) if accesses is None else accesses.sectors(root)
