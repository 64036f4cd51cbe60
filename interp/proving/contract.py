"""What a proof may take for granted of a launch: given by the kernel or its arguments, or found and named.

A kernel without dimension names does not say that two arrays are equally long, nor which grid it is for. So where an
access is not provably in bounds, these are tried, and what helps stands in the verdict:

    grid[0] <= cdiv(x.shape[0], 256)                                    tiles of x are numbered by blocks
    grid[0] <= cdiv(c.shape[0], 64) * cdiv(c.shape[1], 64)              block numbers that the kernel divides
    out.shape[1] >= 4                                                   a tile lies at a constant place
    y.shape[0] == x.shape[0]                                            extents of different arrays

What does not hold for the launch at hand, if there is one, is not tried. An axis of the grid that the kernel never asks
for has one block: more would do the same work twice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

from tilewright.interp.proving.accesses import MemoryUse
from tilewright.interp.proving.solver import Formula, possible
from tilewright.interp.proving.world import AXES, World
from tilewright.tileir.core import Value
from tilewright.tileir.ops import arith, arrays, convert
from tilewright.tileir.ops.memory import TileAccess
from tilewright.tileir.types import ArrayType


@dataclass(frozen=True)
class Known:
    """The launch at hand, an example of those that are meant: its grid, and the extents of its arguments by (position,
    axis). None and empty: there is none."""

    grid: tuple[int, ...] | None = None
    sizes: Mapping[tuple[int, int], int] = field(default_factory=dict)

    def blocks(self, axis: int) -> int:
        return self.grid[axis] if self.grid is not None and axis < len(self.grid) else 1


class Assumption(NamedTuple):
    text: str
    formula: Formula


def of_grid(world: World, known: Known) -> list[Assumption]:
    """One block along each axis that the kernel does not ask for."""
    return [Assumption(f"grid[{axis}] == 1", world.grid[axis] == 1) for axis in range(AXES)
            if axis not in world.asked_axes and known.blocks(axis) == 1]


def candidates(world: World, found: Iterable[MemoryUse], known: Known) -> list[Assumption]:
    """What may be assumed, the most natural first."""
    tiles = [a for a in found if isinstance(a.op, TileAccess) and world.is_chosen(a.array)]
    out = [*_numbered(world, tiles, known), *_divided(world, tiles, known), *_longer(world, tiles, known),
           *_equalities(world, known)]
    return list({a.text: a for a in out}.values())


def _numbered(world: World, tiles: Iterable[MemoryUse], known: Known) -> Iterator[Assumption]:
    """As many blocks as tiles along an axis of an array, where the block's number is the tile's."""
    for access in tiles:
        for k, axis in enumerate(access.op.order):
            number = _block_number(access.op.index[k])
            if number is not None:
                yield from _at_most(world, number, [_Count(world, access, k, axis)], known)


def _divided(world: World, tiles: Iterable[MemoryUse], known: Known) -> Iterator[Assumption]:
    """As many blocks as tiles in all of an array, where the block's number is taken apart."""
    for access in tiles:
        apart = [_Count(world, access, k, axis) for k, axis in enumerate(access.op.order)
                 if _block_number(access.op.index[k]) is None and not isinstance(access.op.index[k].op, arith.Constant)]
        if access.writes and len(apart) > 1:
            yield from _at_most(world, 0, apart, known)


def _longer(world: World, tiles: Iterable[MemoryUse], known: Known) -> Iterator[Assumption]:
    """Axes on which a tile lies at a constant place reach that far."""
    for access in tiles:
        for k, axis in enumerate(access.op.order):
            number = access.op.index[k].op
            if not isinstance(number, arith.Constant) or int(number.value) < 1:
                continue
            count, least = _Count(world, access, k, axis), int(number.value) * access.op.steps[k] + 1
            if known.sizes.get(count.place, least) >= least:
                yield Assumption(f"{count.name} >= {least}", count.extent >= least)


class _Count:
    """The number of tiles along one axis of an array."""

    def __init__(self, world: World, access: MemoryUse, k: int, axis: int) -> None:
        self.step = access.op.steps[k]
        params = world.function.params
        self.place = params.index(access.array) if access.array in params else -1, axis
        self.extent = world.extent(access.array, axis)
        given = access.array.type.extents[axis]
        self.name = f"{world.name(access.array)}.shape[{axis}]" if given is None else str(given)
        self.text = f"cdiv({self.name}, {self.step})" if self.step > 1 else self.name

    @property
    def formula(self) -> Formula:
        return (self.extent + self.step - 1) / self.step

    def now(self, known: Known) -> int | None:
        size = known.sizes.get(self.place)
        return None if size is None else -(-size // self.step)


def _at_most(world: World, number: int, counts: Sequence[_Count], known: Known) -> Iterator[Assumption]:
    now = [count.now(known) for count in counts]
    if known.grid is not None and None not in now and known.blocks(number) > math.prod(n for n in now if n is not None):
        return
    most = reduce(lambda a, b: a * b, (count.formula for count in counts))
    yield Assumption(f"grid[{number}] <= {' * '.join(c.text for c in counts)}", world.grid[number] <= most)


def _equalities(world: World, known: Known) -> Iterator[Assumption]:
    """Extents of different axes that are equal in the launch at hand."""
    params = world.function.params
    places = [(position, axis) for position, param in enumerate(params)
              if isinstance(param.type, ArrayType) for axis in range(param.type.rank)]
    for one, other in itertools.combinations(places, 2):
        (a, i), (b, j) = (params[one[0]], one[1]), (params[other[0]], other[1])
        if a.type.extents[i] is not None and b.type.extents[j] is not None:
            continue
        if known.sizes.get(one) != known.sizes.get(other):
            continue
        yield Assumption(f"{world.name(b)}.shape[{j}] == {world.name(a)}.shape[{i}]",
                         world.extent(b, j) == world.extent(a, i))


def _block_number(value: Value) -> int | None:
    """The axis of the grid whose block number a value is."""
    op = value.op
    if isinstance(op, convert.Cast | arrays.AssumeDivisible):
        return _block_number(op.src)
    return op.axis if isinstance(op, arrays.BlockId) else None


def can_hold(world: World, assumed: Iterable[Assumption]) -> bool:
    """Whether there is a launch as assumed, with more than one block and extents above one."""
    return possible([*world.limits, *(a.formula for a in assumed)]).possible is not False
