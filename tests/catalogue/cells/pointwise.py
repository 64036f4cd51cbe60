"""The shape of most batches: load tiles of given shapes, store a function of them, for many shapes at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from catalogue.case import Bound
from catalogue.cells.kinds import Kind, sample, specials
from catalogue.cells.model import Array, Batch, Filled, Part

import tilewright as ct

Shape = tuple[int, ...]
BLOCKS = 2


@dataclass(frozen=True)
class Place:
    """Operand tile shapes of one part. Two blocks go along the result's first axis; `ragged` arrays end inside tiles.

    `values`: the operands are boundary values, every one with every other.
    """

    shapes: tuple[Shape, ...]
    boundary: str
    ragged: bool = True

    @property
    def result(self) -> Shape:
        return np.broadcast_shapes(*self.shapes)

    def moves(self, shape: Shape) -> tuple[bool, ...]:
        """For each axis of an operand: whether the block index counts along it."""
        first = len(shape) == len(self.result)
        return tuple(first and axis == 0 and length > 1 for axis, length in enumerate(shape))

    def extents(self, shape: Shape) -> Shape:
        """The array's shape: one operand element per block for rank 0."""
        if not shape:
            return (BLOCKS,) if not self.result else ()
        if not self.ragged:
            return tuple(n * BLOCKS if moves else n for n, moves in zip(shape, self.moves(shape), strict=True))
        return tuple(n * BLOCKS - 1 if moves else n - n // 4 for n, moves in zip(shape, self.moves(shape), strict=True))


def same(shape: Shape, count: int, boundary: str = "ragged", ragged: bool = True) -> Place:
    return Place((shape,) * count, boundary, ragged)


def many(count: int) -> Place:
    """Several elements in each thread's registers, which vectors of small dtypes share."""
    return same((8, 64), count, "many elements")


def unary_places() -> tuple[Place, ...]:
    return (Place(((8,),), "boundary values", False), same((), 1, "whole"), same((8,), 1), same((4, 8), 1),
            same((2, 4, 4), 1), same((2, 2, 2, 4), 1), same((4, 4), 1, "whole", False), many(1))


def binary_places() -> tuple[Place, ...]:
    return (Place(((8, 1), (1, 16)), "boundary values", False), same((), 2, "whole"), same((8,), 2), same((4, 8), 2),
            same((2, 4, 4), 2), same((2, 2, 2, 4), 2), same((4, 4), 2, "whole", False),
            Place(((8,), ()), "broadcast"), Place(((), (4, 8)), "broadcast"), Place(((4, 1), (1, 8)), "broadcast"),
            Place(((8,), (4, 8)), "broadcast"), Place(((2, 1, 4), (4, 1)), "broadcast"),
            Place(((2, 1, 2, 1), (1, 2, 1, 4)), "broadcast"), Place(((2, 2, 2, 4), (4,)), "broadcast"), many(2))


def kernel_of(functions: Sequence[Callable[..., Any]], places: Sequence[Place],
              loads: Sequence[Callable[[Any], Any]], store: Callable[[Any], Any]) -> Any:
    """Part k applies function k."""
    todo = tuple((tuple((shape, place.moves(shape)) for shape in place.shapes), function,
                  place.moves(place.result) or (True,))
                 for place, function in zip(places, functions, strict=True))
    loads = tuple(loads)
    count = len(todo)

    def tile_of(array, shape, moves, scalar, load):
        # An operand of rank 0 is one element: the block's own where the result is of rank 0 too, else the only one.
        b = ct.bid(0)
        if array.ndim == 1 and scalar:
            return load(ct.load(array, (b,), ()))
        return load(ct.load(array, tuple(b if m else 0 for m in ct.static_iter(moves)), shape))

    @ct.tile_kernel
    def kernel(ins, outs):
        b = ct.bid(0)
        for k in ct.static_iter(range(count)):
            operands, function, moves = todo[k]
            tiles = tuple(tile_of(ins[k][j], operands[j][0], operands[j][1], len(operands[j][0]) == 0, loads[j])
                          for j in ct.static_iter(range(len(operands))))
            ct.store(outs[k], tuple(b if m else 0 for m in ct.static_iter(moves)), store(function(*tiles)))

    return kernel


@dataclass(frozen=True)
class Form:
    """One way to write an operation, and the names of the language that it shows."""

    names: tuple[str, ...]
    function: Callable[..., Any]


Fill = Callable[[Place, np.random.Generator], tuple[Array, ...]]


def operands(kinds: Sequence[Kind], adjust: Callable[..., Any] | None = None,
             draw: Callable[..., Array] = sample) -> Fill:
    """Boundary values in pairs, random ones elsewhere; `adjust` keeps them in the operation's domain."""

    def fill(place: Place, rng: np.random.Generator) -> tuple[Array, ...]:
        if place.boundary == "boundary values":
            found = tuple(specials(kind).reshape(place.extents(shape))
                          for kind, shape in zip(kinds, place.shapes, strict=True))
        else:
            found = tuple(np.asarray(draw(kind, place.extents(shape), rng))
                          for kind, shape in zip(kinds, place.shapes, strict=True))
        return tuple(map(np.asarray, adjust(*found))) if adjust else found

    return fill


def taking_turns(forms: Sequence[Form], places: tuple[Place, ...]) -> tuple[list[Form], tuple[Place, ...]]:
    """A form for each place; and places again, so that every form has every rank."""
    chosen = [forms[k % len(forms)] for k in range(len(places))]
    shown = {(form.names, len(place.result)) for form, place in zip(chosen, places, strict=True)}
    more = []
    for form in forms:
        for place in places:
            if (form.names, len(place.result)) not in shown:
                shown.add((form.names, len(place.result)))
                chosen.append(form)
                more.append(place)
    return chosen, (*places, *more)


def pointwise(name: str, forms: Sequence[Form], kinds: Sequence[Kind], result: Kind, fill: Fill,
              reference: Callable[..., Array], bound: Bound | None = None,
              ignore: Callable[..., Any] | None = None, dtype: str = "", places: Sequence[Place] | None = None,
              simulate: bool = True) -> Batch:
    """A batch of `result = form(*operands)`; the forms take turns over the places.

    `reference` maps host arrays to the host array of the result; `ignore` says which elements have no meaning.
    """
    places = tuple(places or (unary_places() if len(kinds) == 1 else binary_places()))
    chosen, places = taking_turns(forms, places)
    dtype = dtype or kinds[0].name
    parts = tuple(Part(form.names, dtype, len(place.result), place.boundary, bound)
                  for form, place in zip(chosen, places, strict=True))
    kernel = kernel_of([form.function for form in chosen], places, [kind.load for kind in kinds], result.store)

    def filled(rng: np.random.Generator) -> Filled:
        ins = tuple(fill(place, rng) for place in places)
        with np.errstate(all="ignore"):
            wants = tuple(np.asarray(reference(*arrays)) for arrays in ins)
            skip = tuple(ignore(*arrays) for arrays in ins) if ignore else ()
        assert all(w.dtype == result.host for w in wants), f"{name}: the reference gives {wants[0].dtype}"
        return Filled(ins, tuple(np.zeros(w.shape, w.dtype) for w in wants), wants, skip)

    return Batch(name, kernel, filled, parts, (BLOCKS,), simulate=simulate)
