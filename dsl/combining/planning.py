"""Which recorded launches become one, launch by launch in their order, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

from tilewright.combining.beside import beside
from tilewright.combining.costs import cost, recomputing
from tilewright.combining.fused import (
    Behind,
    Beside,
    Kitchen,
    One,
    Recipe,
    Size,
    Within,
    finished,
    own_temporaries,
    parts_of,
)
from tilewright.combining.graph import Graph, Part
from tilewright.combining.inlining import refusal
from tilewright.combining.legality import Touched, apart, conflicts, lone, touched
from tilewright.combining.pieces import Piece, concatenated
from tilewright.combining.residence import Use, passing, size_of, use_of, use_of_parts
from tilewright.combining.retiling import retiled, tile_of
from tilewright.estimating.devices import DeviceLimits
from tilewright.estimating.result import Estimate
from tilewright.launching.grid import MAX_ENTRY
from tilewright.tileir.passes import run_pipeline

# Seconds; independent launches that take longer are left apart. A launch costs the host 7.2 us (beside an H200,
# docs/performance.md), and within one kernel they would share registers.
SMALL = 10e-6


@dataclass(eq=False)
class Group:
    """Launches that are one. `lone`: why nothing joins them; `piece`: their function, where one was made; `passing`:
    the arrays that shall leave L2 first."""

    recipe: Recipe
    grid: Size
    touched: Touched
    piece: Piece | None = None
    lone: str | None = None
    estimate: Estimate | None = None
    passing: frozenset[int] = frozenset()

    @property
    def parts(self) -> list[Part]:
        return parts_of(self.recipe)

    @property
    def name(self) -> str:
        return " + ".join(part.name for part in self.parts)


@dataclass
class Grouping:
    """The groups in the order of their launches, and the sentences that explain them."""

    groups: list[Group] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def plan(graph: Graph, device: DeviceLimits, facts: bool) -> Grouping:
    """Group the launches of a graph."""
    planner = _Planner(graph, device, facts)
    for part in graph.parts:
        planner.add(part)
    planner.put_side_by_side()
    planner.spare_l2()
    return planner.plan


class _Planner:
    def __init__(self, graph: Graph, device: DeviceLimits, facts: bool) -> None:
        self.graph = graph
        self.device = device
        self.facts = facts
        self.plan = Grouping()

    def add(self, part: Part) -> None:
        """Let a launch join a group that is there, or found one."""
        new, groups = self.alone(part), self.plan.groups
        meeting = [k for k, group in enumerate(groups) if self.meets(group, new)]
        first = meeting[-1] if meeting else 0
        order = [first, *range(len(groups) - 1, first, -1)] if meeting else range(len(groups) - 1, -1, -1)
        reasons: list[str] = []
        for k in order:
            joined = self.joined(groups[k], new)
            if isinstance(joined, Group):
                groups[k] = joined
                return
            reasons.append(f"{part.name} is not fused with {groups[k].name}: {joined}")
        self.plan.refusals += reasons[:1]
        groups.append(new)

    def put_side_by_side(self) -> None:
        """Short launches that do not depend on each other share one, whatever their grids."""
        groups: list[Group] = []
        for new in self.plan.groups:
            meeting = [k for k, group in enumerate(groups) if self.meets(group, new)]
            others = range(meeting[-1] + 1 if meeting else 0, len(groups))
            for k in others:
                both = self.beside(groups[k], new)
                if both is not None:
                    groups[k] = both
                    break
            else:
                groups.append(new)
        self.plan.groups = groups

    def spare_l2(self) -> None:
        """What one launch leaves in L2 for a later one stays there, if it fits."""
        groups, slots = self.plan.groups, self.graph.slots
        if sum(size_of(slot) for slot in slots if slot.is_array) <= self.device.l2_bytes:
            return
        found = passing([self.use(group) for group in groups], self.device.l2_bytes)
        for group, first in zip(groups, found, strict=True):
            group.passing = first
            if first:
                names = ", ".join(slots[slot].name for slot in sorted(first))
                self.plan.decisions.append(f"{group.name}: {names} shall leave L2 first, so that what a launch reads "
                                           "of another is still there")

    def use(self, group: Group) -> Use:
        """What a launch does in memory. One that stays as it is gives none of its arrays up."""
        estimate = None if group.lone else self.estimated(group)
        if estimate is None or group.piece is None:
            return use_of_parts(self.graph, group.parts)
        return use_of(self.graph, self.finished(group.piece, group.parts).slots, estimate)

    def beside(self, group: Group, new: Group) -> Group | None:
        """Two groups as one over the blocks of both; None where that does not pay."""
        if group.lone or new.lone or group.parts[-1].stream != new.parts[-1].stream:
            return None
        estimates = [self.estimated(one) for one in (group, new)]
        known = [e.seconds for e in estimates if e is not None]
        blocks = prod(group.grid) + prod(new.grid)
        if len(known) < 2 or sum(known) > SMALL or blocks > MAX_ENTRY or group.piece is None or new.piece is None:
            return None
        recipe = Beside(group.recipe, group.grid, new.recipe, new.grid)
        piece = beside(group.piece, group.grid, new.piece, new.grid)
        self.plan.decisions.append(f"{new.name} is put beside {group.name}: one launch for both, of {_us(sum(known))} "
                                   "at least")
        return Group(recipe, (blocks, 1, 1), group.touched.add(new.touched), piece)

    def alone(self, part: Part) -> Group:
        kitchen = Kitchen(self.graph, part.grid.size, self.facts)
        if part.lists:
            return Group(One(part), part.grid.size, Touched(), None, f"{part.name} takes a list of arrays")
        piece = kitchen.launch(part)
        return Group(One(part), part.grid.size, touched(piece, part.grid.size), piece, lone(part, piece.function))

    def meets(self, group: Group, new: Group) -> bool:
        """Whether the new launch must come behind a group."""
        if group.piece is None or new.piece is None:
            return True  # what it touches is not followed
        return bool(conflicts(self.graph, group.touched, new.touched))

    def joined(self, group: Group, new: Group) -> Group | str:
        """The group with the launch, or why there is none."""
        if group.lone or new.lone:
            return group.lone or new.lone or ""
        if group.parts[-1].stream != new.parts[-1].stream:
            return "they are launched on different streams"
        pairs = [(group, new, ""), *self.other_tiles(group, new)]
        reasons: dict[str, None] = {}
        for how in (self.behind, self.within):
            for one, other, words in pairs:
                found = how(one, other) if one is not None and other is not None else words
                if isinstance(found, Group):
                    self.plan.decisions += [words] if words else []
                    return found
                # What other tiles do not mend is said once, of the launches as they are.
                if found and (not words or one is None):
                    reasons[found] = None
        return "; ".join(reasons)

    def other_tiles(self, group: Group, new: Group) -> Iterator[tuple[Group | None, Group | None, str]]:
        """Both, one of them with the tiles that the other has of an array that goes from one to the other; None and the
        reason where that cannot be."""
        assert group.piece is not None and new.piece is not None
        passed = sorted(group.touched.writes & new.touched.reads)
        for slot, (one, other) in product(passed, ((new, group), (group, new))):
            if not isinstance(one.recipe, One) or other.piece is None or one.piece is None:
                continue
            tile = tile_of(other.piece, slot)
            made = retiled(self.graph, one.recipe.part, one.piece, slot, tile, self.facts) if tile else None
            if isinstance(made, str):
                yield None, None, made
            elif made is not None:
                again = self.alone(made)
                words = f"{made.name} takes tiles of {' x '.join(map(str, tile or ()))}, those of {other.name}"
                yield (group, again, words) if one is new else (again, new, words)

    def behind(self, group: Group, new: Group) -> Group | str:
        assert group.piece is not None and new.piece is not None
        if group.grid != new.grid:
            return f"their grids are {_grid(group.grid)} and {_grid(new.grid)}"
        recipe = Behind(group.recipe, new.recipe)
        shared = conflicts(self.graph, group.touched, new.touched)
        both = Kitchen(self.graph, group.grid, self.facts).join(recipe, group.piece, new.piece)
        reason = apart(self.graph, concatenated(group.piece, new.piece), group.grid, shared)
        if reason is not None:
            return reason
        return self.profitable(group, new, Group(recipe, group.grid, group.touched.add(new.touched), both))

    def within(self, group: Group, new: Group) -> Group | str | None:
        """The launch with the group computed where it loads what the group makes."""
        assert group.piece is not None and new.piece is not None
        shared = conflicts(self.graph, group.touched, new.touched)
        made = [one for one, other in shared if one == other and self.graph.slots[one].temporary]
        if len(shared) != 1 or len(made) != 1 or made[0] not in group.touched.writes or made[0] in new.touched.writes:
            return None
        [slot] = made
        ours = {part.number for part in (*group.parts, *new.parts)}
        if any(slot in part.slots for part in self.graph.parts if part.number not in ours):
            return f"{self.graph.slots[slot].name} is used elsewhere, too"
        first = self.finished(group.piece, group.parts)
        if slot not in first.slots:
            return None
        reason = refusal(first, group.grid, new.piece, slot, new.grid, self.graph)
        if reason is not None:
            return reason
        recipe = Within(group.recipe, group.grid, new.recipe, slot)
        both = Kitchen(self.graph, new.grid, self.facts).join(recipe, first, new.piece)
        return self.profitable(group, new, Group(recipe, new.grid, group.touched.add(new.touched), both))

    def profitable(self, group: Group, new: Group, joined: Group) -> Group | str:
        """The joined group if a GPU needs no more time for it than for both, by the cost model."""
        before = [self.estimated(one) for one in (group, new)]
        after = self.estimated(joined)
        if after is None or None in before:
            if not isinstance(joined.recipe, Behind):
                return "what it costs depends on data"
            self.plan.decisions.append(f"{new.name} is fused with {group.name}: in one launch, block by block; what "
                                       "both cost depends on data, and nothing is computed twice")
            return joined
        apart_ = sum(e.seconds for e in before if e is not None)
        if not set(group.piece.slots if group.piece else ()) & set(new.piece.slots if new.piece else ()) and (
                apart_ > SMALL):
            return "they share no array, and are not so short that one launch would be felt"
        again = self.again(joined.recipe, group, before[1]) if apart_ > SMALL else 0.0
        if after.seconds + again > apart_ * 1.001:
            return (f"on {self.device.title} it would take at least {_us(after.seconds + again)}, but {_us(apart_)} in "
                    f"two launches ({'recomputing bounds it' if again else _why(after)})")
        saved = sum(e.dram_bytes[0] for e in before if e is not None) - after.dram_bytes[0]
        how = "computed where it is loaded" if isinstance(joined.recipe, Within) else "in one launch, block by block"
        self.plan.decisions.append(f"{new.name} is fused with {group.name}: {how}; {saved} bytes less to move, at "
                                   f"least {_us(after.seconds)} in the place of {_us(apart_)} on {self.device.title}")
        return joined

    def again(self, recipe: Recipe, group: Group, consumer: Estimate | None) -> float:
        """Seconds for what is rematerialised wherever it is loaded."""
        if not isinstance(recipe, Within) or group.piece is None or consumer is None:
            return 0.0
        return recomputing(group.piece, recipe.slot, consumer, self.graph, self.device)

    def estimated(self, group: Group) -> Estimate | None:
        if group.estimate is None and group.piece is not None:
            piece = self.finished(group.piece, group.parts)
            run_pipeline(piece.function)  # what loops need not compute again is moved out of them
            group.estimate = cost(self.graph, piece, group.name, group.grid, self.device)
        return group.estimate

    def finished(self, piece: Piece, parts: list[Part]) -> Piece:
        return finished(self.graph, piece, own_temporaries(self.graph, parts))


def _grid(size: Size) -> str:
    return f"({', '.join(map(str, size))})"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us"


def _why(estimate: Estimate) -> str:
    return "recomputing bounds it" if estimate.limit == "compute" else "memory bounds it"
