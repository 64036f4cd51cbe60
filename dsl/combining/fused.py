"""The source of a fused kernel: the Tile IR of its launches, put together by a recipe."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.arguments.annotations import Param, ScalarAnnotation
from tilewright.arguments.bind import Argument, ArrayArgument, Const, Scalar, Tuple
from tilewright.arguments.spec import Spec
from tilewright.combining.beside import beside
from tilewright.combining.forwarding import forward
from tilewright.combining.graph import Graph, Part
from tilewright.combining.inlining import computed_in_place
from tilewright.combining.pieces import Piece, concatenated, fixed_shapes, piece_of, without_stores
from tilewright.launching.sources import no_statements
from tilewright.tileir.combining.relaxing import relax
from tilewright.tileir.core import Function
from tilewright.tileir.diagnostics import TileInternalError, TileValueError
from tilewright.tileir.dtypes import int64
from tilewright.tileir.plan import NO_ALIASES, Aliases, Hints

Size = tuple[int, int, int]


@dataclass(frozen=True)
class One:
    """A launch as it is."""

    part: Part


@dataclass(frozen=True)
class Behind:
    """Two launches over one grid, block by block one behind the other."""

    first: Recipe
    second: Recipe


@dataclass(frozen=True)
class Within:
    """A launch that computes the tiles of the array `slot` where it loads them, as `first` would have over `grid`."""

    first: Recipe
    grid: Size
    second: Recipe
    slot: int


@dataclass(frozen=True)
class Beside:
    """Two launches over grids of their own, the blocks of the second behind those of the first."""

    first: Recipe
    first_grid: Size
    second: Recipe
    second_grid: Size


Recipe = One | Behind | Within | Beside


def parts_of(recipe: Recipe) -> list[Part]:
    return [recipe.part] if isinstance(recipe, One) else [*parts_of(recipe.first), *parts_of(recipe.second)]


class Kitchen:
    """Makes functions by recipes. `arguments`: those in the place of the recorded ones, by slot."""

    def __init__(self, graph: Graph, grid: Size, facts: bool, arguments: Mapping[int, Argument] | None = None) -> None:
        self.graph = graph
        self.grid = grid
        self.facts = facts
        self.arguments = arguments or {}

    def make(self, recipe: Recipe) -> Piece:
        if isinstance(recipe, One):
            return self.launch(recipe.part)
        if isinstance(recipe, Behind):
            return self.join(recipe, self.make(recipe.first), self.make(recipe.second))
        if isinstance(recipe, Beside):
            one = Kitchen(self.graph, recipe.first_grid, self.facts, self.arguments).make(recipe.first)
            other = Kitchen(self.graph, recipe.second_grid, self.facts, self.arguments).make(recipe.second)
            return beside(one, recipe.first_grid, other, recipe.second_grid)
        first = Kitchen(self.graph, recipe.grid, self.facts, self.arguments).make(recipe.first)
        own = own_temporaries(self.graph, parts_of(recipe.first))
        return self.join(recipe, finished(self.graph, first, own), self.make(recipe.second))

    def launch(self, part: Part) -> Piece:
        slots = iter(part.slots)
        arguments = [self._argument(argument, slots) for argument in part.arguments]
        function = part.specialiser.tile_ir(arguments, facts=self.facts, aliases=part.aliases)
        return piece_of(function, part.slots)

    def join(self, recipe: Behind | Within, first: Piece, second: Piece) -> Piece:
        """One function of those of a recipe's two halves."""
        if isinstance(recipe, Within):
            return computed_in_place(first, recipe.grid, second, recipe.slot, self.grid, self.graph)
        both = concatenated(first, second)
        forward(both, self.grid, self.shapes(both))
        return both

    def shapes(self, piece: Piece) -> list[tuple[int, ...] | None]:
        slots = [self.graph.slots[slot] for slot in piece.slots]
        return [slot.info.shape if slot.is_array else None for slot in slots]

    def _argument(self, argument: Argument, slots: Any) -> Argument:
        """An argument of a launch, with what it is given for each slot."""
        if isinstance(argument, Const):
            return argument
        if isinstance(argument, Tuple):
            return replace(argument, items=[self._argument(item, slots) for item in argument.items])
        given = self.arguments.get(next(slots))
        return argument if given is None else replace(given, name=argument.name)


def own_temporaries(graph: Graph, parts: Sequence[Part]) -> list[int]:
    """The temporaries that no other launch uses."""
    used = {slot for part in parts for slot in part.slots}
    own = {part.number for part in parts}
    elsewhere = {slot for part in graph.parts if part.number not in own for slot in part.slots}
    arrays = [k for k, slot in enumerate(graph.slots) if slot.is_array]
    return [slot for slot in sorted(used - elsewhere)
            if graph.slots[slot].temporary and set(graph.overlapping(slot, arrays)) == {slot}]


def finished(graph: Graph, piece: Piece, vanishing: Sequence[int]) -> Piece:
    """A copy of a function without the temporaries that nothing reads any longer."""
    out = piece.copy()
    for slot in set(vanishing) & set(piece.slots):
        info = graph.slots[slot].info
        fixed_shapes(out, slot, info.shape, info.strides)
        if not any(op.effects().reads for op in out.accesses(slot)):
            without_stores(out, slot)
    return out


class FusedSource:
    """A kernel that does what several launches do. `slots`: those of the graph that are its parameters; `passing`:
    which of them shall leave L2 first."""

    def __init__(
        self, graph: Graph, recipe: Recipe, grid: Size, vanishing: Sequence[int], slots: Sequence[int],
        passing: frozenset[int] = frozenset(),
    ) -> None:
        self.graph = graph
        self.recipe = recipe
        self.grid = grid
        self.vanishing = tuple(vanishing)
        self.slots = tuple(slots)
        self.passing = passing
        names = dict.fromkeys(part.name for part in parts_of(recipe))
        self.name = "_".join(names) if len(names) < 5 else f"{next(iter(names))}_and_{len(names) - 1}_more"
        self.params: Sequence[Param] = tuple(self._param(slot) for slot in self.slots)
        self.parameters: Sequence[inspect.Parameter] = tuple(
            inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in self.params)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return {}

    def _param(self, number: int) -> Param:
        slot = self.graph.slots[number]
        if isinstance(slot.argument, ArrayArgument):
            return Param(slot.name, array=slot.argument.annotation)
        return Param(slot.name, scalar=ScalarAnnotation(int64) if slot.argument.dtype is int64 else None)

    def check(self, arguments: Sequence[Argument]) -> None:
        """Shapes decide which block accesses what, so that they are those of the recorded launches."""
        for argument, number in zip(arguments, self.slots, strict=True):
            slot = self.graph.slots[number]
            own, name = slot.argument, slot.name
            if isinstance(argument, Scalar) and isinstance(own, Scalar):
                if argument.dtype is not own.dtype:
                    raise TypeError(f"argument {name!r} must be a scalar of {own.dtype}, not of {argument.dtype}")
                continue
            if not isinstance(argument, ArrayArgument) or not slot.is_array:
                raise TypeError(f"argument {name!r} must be {'an array' if slot.is_array else 'a scalar'}, as in the "
                                "launches that were fused")
            info, wanted = argument.info, slot.info
            shape = info.extents if isinstance(info, Spec) else info.shape
            if info.dtype is not wanted.dtype or shape != wanted.shape:
                raise ValueError(f"argument {name!r} must be an array of {wanted.dtype} of shape {wanted.shape}, as in "
                                 f"the launches that were fused, not of {info.dtype} of shape {shape}")

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        if debug:
            raise no_statements(self.name)
        if aliases != NO_ALIASES:
            raise TileValueError("arguments share memory, and the launches that were fused had arrays that do not")
        by_slot = dict(zip(self.slots, arguments, strict=True))
        kitchen = Kitchen(self.graph, self.grid, facts, by_slot)
        piece = finished(self.graph, kitchen.make(self.recipe), self.vanishing)
        if self.graph.reassociate:
            relax(piece.function)
        if set(piece.slots) != set(self.slots):
            raise TileInternalError(f"kernel {self.name} has other parameters for these arguments")
        function = piece.function
        function.body.params = [piece.param(slot) for slot in self.slots]
        for slot, param in zip(self.slots, function.body.params, strict=True):
            param.hint = self.graph.slots[slot].name
            if slot in self.passing:
                param.retype(replace(param.type, passing=True))
        function.name, function.hints = self.name, hints
        return function
