"""Whether launches may be one: what each block reads and writes decides, never what the kernels are called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tilewright.arguments.facts import is_disjoint
from tilewright.combining.graph import Graph, Part
from tilewright.combining.pieces import Piece
from tilewright.combining.regions import Regions
from tilewright.interp.affine import own_axes
from tilewright.tileir.core import Function
from tilewright.tileir.ops.debug import Breakpoint


@dataclass
class Touched:
    """The arrays that launches read and write, by slots."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)

    @property
    def all(self) -> set[int]:
        return self.reads | self.writes

    def add(self, other: Touched) -> Touched:
        return Touched(self.reads | other.reads, self.writes | other.writes)


def touched(piece: Piece, grid: tuple[int, int, int]) -> Touched:
    """What a launch reads and writes."""
    found, regions = Touched(), Regions(piece.function, grid, {}, {})
    for position, slot in enumerate(piece.slots):
        for access in regions.of(position):
            if access.reads:
                found.reads.add(slot)
            if access.writes:
                found.writes.add(slot)
    return found


def conflicts(graph: Graph, first: Touched, second: Touched) -> set[tuple[int, int]]:
    """The pairs of arrays in which two launches meet, one of them writing."""
    pairs = {(a, b) for b in second.all for a in graph.overlapping(b, first.writes)}
    return pairs | {(a, b) for b in second.writes for a in graph.overlapping(b, first.all)}


def lone(part: Part, function: Function) -> str | None:
    """Why a launch stays on its own; None if it need not."""
    if part.lists:
        return f"{part.name} takes a list of arrays"
    if part.aliases.groups:
        return f"arguments of {part.name} overlap in memory"
    if part.grid.empty:
        return f"the grid of {part.name} is empty"
    for op in function.walk():
        effects = op.effects()
        if effects.ordered:
            return f"{part.name} has an access with a memory order"
        if effects.io:
            return f"{part.name} prints or asserts"
        if isinstance(op, Breakpoint):
            return f"{part.name} has a breakpoint"
    return None


def apart(graph: Graph, both: Piece, grid: tuple[int, int, int], shared: Iterable[tuple[int, int]]) -> str | None:
    """Why blocks of a function that does what two launches do may meet in memory; None if they do not."""
    shapes = {k: graph.slots[slot].info.shape for k, slot in enumerate(both.slots) if graph.slots[slot].is_array}
    regions = Regions(both.function, grid, shapes, {})
    axes = {axis for axis, size in enumerate(grid) if size > 1}
    for one, other in sorted(shared):
        name = graph.slots[other].name
        if one != other:
            return f"{graph.slots[one].name} and {name} overlap in memory"
        info = graph.slots[one].info
        if not is_disjoint(info.shape, info.strides):
            return f"{name} holds elements that share memory"
        position = both.slots.index(one)
        ops = [access.op for access in regions.of(position)]
        missing = axes - own_axes(regions.forms, both.param(one), ops)
        if missing:
            where = " and ".join(f"axis {axis}" for axis in sorted(missing))
            return (f"blocks along {where} of the grid may access elements of {name} that another block writes, or "
                    "where they do is not known")
    return None
