"""What a recording runs: kernels in the place of its launches, made once for launches of one kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arguments.arrays import HOST, numpy_dtype
from tilewright.arguments.bind import ArrayArgument
from tilewright.arguments.device_array import DeviceArray
from tilewright.arguments.sharing import near
from tilewright.combining.fused import FusedSource, One, Size, finished, own_temporaries
from tilewright.combining.graph import Graph, Part, Temporary
from tilewright.combining.planning import Group, plan
from tilewright.estimating.devices import limits_of
from tilewright.kernel import kernel_around, kernel_of, tile_kernel
from tilewright.launching import launcher
from tilewright.launching.grid import make_grid
from tilewright.options import KernelOptions, LaunchRules
from tilewright.tileir.combining.relaxing import relax


@dataclass(frozen=True, slots=True)
class Ran:
    """A launch that was made: `kernel`, over `grid`, with `args`, in the place of launches of the kernels `names`."""

    names: tuple[str, ...]
    kernel: tile_kernel
    grid: Size
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A launch to make: a kernel for several recorded ones with its `slots`, or the recorded one at a position."""

    names: tuple[str, ...]
    grid: Size
    position: int
    kernel: tile_kernel | None = None
    slots: tuple[int, ...] = ()
    vanished: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Program:
    """What runs in the place of recorded launches, and the sentences that explain it."""

    steps: tuple[Step, ...]
    decisions: tuple[str, ...]
    recorded: int

    def run(self, graph: Graph) -> tuple[Ran, ...]:
        """Make the launches with the arrays of a recording."""
        memory = _Memory(graph)
        out: list[Ran] = []
        for step in self.steps:
            part = graph.parts[step.position]
            kernel = _as_kernel(part) if step.kernel is None else step.kernel
            given = (tuple(memory.given(arg) for arg in part.args) if step.kernel is None
                     else tuple(memory.given(graph.slots[slot].value) for slot in step.slots))
            kernel.launcher.launch(make_grid(step.grid), given, part.stream)
            out.append(Ran(step.names, kernel, step.grid, given))
        graph.parts.clear()
        graph.slots.clear()
        return tuple(out)

    def explain(self) -> str:
        lines = [f"{self.recorded} launches became {len(self.steps)}:"]
        for step in self.steps:
            gone = f"; without {', '.join(step.vanished)}" if step.vanished else ""
            lines.append(f"  {' + '.join(step.names)} over ({', '.join(map(str, step.grid))}){gone}")
        return "\n".join([*lines, *self.decisions])


def program_of(graph: Graph, device: str, known: dict[Any, Program]) -> Program:
    """What to run for a recording; from `known` where launches of this kind were planned before."""
    on = _device(graph)
    facts = on != HOST and not launcher.FORCE_INTERPRETER
    for slot in graph.slots:
        if isinstance(slot.value, Temporary) and isinstance(slot.argument, ArrayArgument):
            slot.argument = replace(slot.argument, info=replace(slot.info, device=on))
    key = _key(graph, facts)
    if key not in known or key is None:
        made = _planned(graph, device, facts)
        if key is None:
            return made
        known[key] = made
    return known[key]


def _planned(graph: Graph, device: str, facts: bool) -> Program:
    slots = [replace(slot, value=None) for slot in graph.slots]
    kept = Graph(reassociate=graph.reassociate, slots=slots, parts=list(graph.parts))
    found = plan(graph, limits_of(device), facts)
    streams = [group.parts[0].stream for group in found.groups]
    steps = tuple(_step(graph, kept, group, streams[k] in streams[:k]) for k, group in enumerate(found.groups))
    for slot in kept.slots:
        slot.value = None
    gone = {name for step in steps for name in step.vanished}
    relaxed = [f"{group.name}: {said}" for group in found.groups for said in _relaxed(graph, group)]
    stay = [f"{slot.name} stays in memory: blocks read it where they did not store the same tile just before, or "
            "several launches use it" for slot in graph.slots if slot.temporary and slot.name not in gone]
    return Program(steps, (*found.decisions, *relaxed, *found.refusals, *stay), len(graph.parts))


def _relaxed(graph: Graph, group: Group) -> list[str]:
    """What `reassociate` changes of a launch."""
    if not graph.reassociate or isinstance(group.recipe, One) or group.piece is None:
        return []
    return relax(finished(graph, group.piece, own_temporaries(graph, group.parts)).function)


def _step(graph: Graph, kept: Graph, group: Group, follows: bool) -> Step:
    """`follows`: another launch of the recording is before it on its stream."""
    names = tuple(part.name for part in group.parts)
    position = group.parts[0].number
    if isinstance(group.recipe, One) and not group.passing:
        return Step(names, group.grid, position, reads=_named(graph, group.touched.reads),
                    writes=_named(graph, group.touched.writes))
    assert group.piece is not None
    vanishing = own_temporaries(graph, group.parts)
    piece = finished(graph, group.piece, vanishing)
    gone = tuple(graph.slots[slot].name for slot in vanishing if slot not in piece.slots)
    source = FusedSource(kept, group.recipe, group.grid, vanishing, piece.slots, group.passing)
    rules = LaunchRules(", ".join(map(str, group.grid)), any(p.specialiser.rules.deterministic for p in group.parts))
    kernel = kernel_of(source, _hints(group.parts, follows), rules, tile_kernel)
    left = set(piece.slots)
    return Step(names, group.grid, position, kernel, tuple(piece.slots), gone,
                _named(graph, group.touched.reads & left), _named(graph, group.touched.writes & left))


def _named(graph: Graph, slots: set[int]) -> tuple[str, ...]:
    return tuple(graph.slots[slot].name for slot in sorted(slots))


def _hints(parts: Sequence[Part], follows: bool) -> KernelOptions:
    """The hints in which all kernels agree. What follows a launch may start while that one ends."""
    first, *others = [part.specialiser.hints for part in parts]
    agreed = first if all(other == first for other in others) else KernelOptions()
    return replace(agreed, programmatic_dependent_launch=True) if follows else agreed


class _Memory:
    """Memory for the intermediates of a recording that need some."""

    def __init__(self, graph: Graph) -> None:
        self._devices = {slot.value: slot.info.device for slot in graph.slots if isinstance(slot.value, Temporary)}
        self._made: dict[Temporary, Any] = {}

    def given(self, arg: Any) -> Any:
        """An argument as a launch takes it."""
        if isinstance(arg, Temporary):
            if arg not in self._made:
                self._made[arg] = _allocated(arg, self._devices[arg])
            return self._made[arg]
        if isinstance(arg, list) or type(arg) is tuple:
            return type(arg)(self.given(item) for item in arg)
        return arg


def _allocated(array: Temporary, device: int) -> Any:
    if device != HOST:
        return DeviceArray(array.shape, array.info.strides, array.dtype, device, 0)
    import numpy

    return numpy.empty(array.shape, numpy_dtype(array.dtype))


def _as_kernel(part: Part) -> tile_kernel:
    """The kernel of a launch that runs as it was recorded."""
    return kernel_around(part.specialiser, part.launcher, tile_kernel)


def _device(graph: Graph) -> int:
    """Where the launches run: where their arrays are."""
    found = [slot.info.device for slot in graph.slots if slot.is_array and not isinstance(slot.value, Temporary)]
    return found[0] if found else HOST


def _key(graph: Graph, facts: bool) -> Any:
    """What launches of one kind have in common; None where arrays share memory, so that it is more than their kinds."""
    if near([slot.argument for slot in graph.slots if slot.is_array]):
        return None
    slots = tuple((slot.argument.key(facts), slot.temporary, isinstance(slot.value, Temporary),
                   (slot.info.shape, slot.info.strides) if slot.is_array else None) for slot in graph.slots)
    parts = tuple((part.specialiser, part.grid.size, tuple(part.slots), part.stream, part.aliases,
                   tuple(argument.key(facts) for argument in part.arguments)) for part in graph.parts)
    return facts, slots, parts
