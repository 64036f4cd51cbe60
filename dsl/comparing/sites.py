"""Where in a function values are made: the loops around them, and the order in which a block comes to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from tilewright.tileir.core import Block, Function, Op, Value
from tilewright.tileir.ops.control import For, If, While

Loop = For | While
ITERATION = -1  # in a path: here the number of the iteration stands
FIRST, LAST = -2, 1 << 30  # in a path: before and behind all ops of a block


@dataclass(frozen=True)
class Site:
    """A place in the structure of a function: `path` leads to it, by positions in blocks and ITERATION for each loop;
    `loops` are those around it, the outermost first, with how often each may run."""

    path: tuple[int, ...]
    loops: tuple[Loop, ...]
    trips: tuple[int, ...]
    conditional: bool = False  # in a branch: perhaps a block never comes here

    @cached_property
    def slots(self) -> int:
        """How often a block may come here."""
        return prod(self.trips)

    def iterations(self, slot: int) -> tuple[int, ...]:
        """The iteration of each loop at a visit of a block."""
        out: list[int] = []
        for trips in reversed(self.trips):
            slot, at = divmod(slot, trips)
            out.append(at)
        return tuple(out[::-1])

    def moment(self, slot: int) -> tuple[int, ...]:
        """What orders visits in time."""
        iterations = iter(self.iterations(slot))
        return tuple(next(iterations) if step == ITERATION else step for step in self.path)

    def outer(self, slot: int, site: Site) -> int:
        """The visit to a site around this one during which a visit to this one happens."""
        return slot // prod(self.trips[len(site.trips):])


class Sites:
    """The sites of all ops and loop parameters of a function, in the order of its text."""

    def __init__(self, function: Function, trips: Mapping[Op, int]) -> None:
        self._trips = trips
        self.of_op: dict[Op, Site] = {}
        self.of_value: dict[Value, Site] = {}
        self.blocks: dict[Block, Op] = {}
        self._walk(function.body, Site((), (), ()))

    def _walk(self, block: Block, around: Site) -> None:
        for position, op in enumerate(block.ops):
            site = replace(around, path=(*around.path, position))
            self.of_op[op] = site
            for value in op.results:
                # The results of a loop come behind what is in it.
                self.of_value[value] = replace(site, path=(*site.path, LAST) if op.blocks else site.path)
            if isinstance(op, For | While | If):
                for number, body in enumerate(op.blocks):
                    self._body(op, number, body, site)

    def _body(self, op: For | While | If, number: int, body: Block, site: Site) -> None:
        inner = replace(site, path=(*site.path, number), conditional=True)
        if isinstance(op, For | While):
            # The condition of a `while` may run once more than its body.
            most = max(1, self._trips[op] + (op.opcode == While.opcode))
            inner = Site((*site.path, ITERATION, number), (*site.loops, op), (*site.trips, most), site.conditional)
        self.blocks[body] = op
        for value in body.params:
            self.of_value[value] = replace(inner, path=(*inner.path, FIRST))
        self._walk(body, inner)
