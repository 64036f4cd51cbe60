"""A function under compilation with what has been found out about it: each analysis runs at the first question."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, Final, TypeVar

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.analysis.facts import Facts, facts
from tilewright.tileir.analysis.runs import Runs, runs
from tilewright.tileir.analysis.scalars import Scalars
from tilewright.tileir.analysis.uses import homes, parents, uses
from tilewright.tileir.core import Block, Function, Op, Value

T = TypeVar("T")


class Analysis(enum.Enum):
    """What a unit remembers of its function."""

    USES = "uses"
    PARENTS = "parents"
    HOMES = "homes"
    FACTS = "facts"
    RUNS = "runs"
    DEPENDENCES = "dependences"
    SCALARS = "scalars"
    KINDS = "kinds"

    __hash__ = object.__hash__  # asked for at every turn; that of enums is Python


Preserved = frozenset[Analysis]
"""The analyses that still hold after a pass, which it may return. Returning nothing means that none does."""

NONE: Final[Preserved] = frozenset()
ALL: Final[Preserved] = frozenset(Analysis)
"""What a pass returns that has changed no op, operand, block or type."""


class Unit:
    """A function and its analyses.

    An answer is that of the last question since the function changed. The pass manager forgets what a pass has not
    preserved; a pass that asks again after it has changed something must `forget` first.
    """

    __slots__ = ("function", "_known")

    def __init__(self, function: Function) -> None:
        self.function = function
        self._known: dict[Analysis, Any] = {}

    @property
    def uses(self) -> dict[Value, list[Op]]:
        """The ops that read each value; a value that none reads has no entry."""
        return self._ask(Analysis.USES, uses)

    @property
    def parents(self) -> dict[Block, Op]:
        """The op that owns each nested block."""
        return self._ask(Analysis.PARENTS, parents)

    @property
    def homes(self) -> dict[Op, Block]:
        """The block in which each op stands."""
        return self._ask(Analysis.HOMES, homes)

    def around(self, op: Op) -> list[Op]:
        """The structured ops around an op, innermost first."""
        out: list[Op] = []
        while (block := self.homes[out[-1] if out else op]) in self.parents:
            out.append(self.parents[block])
        return out

    @property
    def facts(self) -> Facts:
        """Range and divisor of every integer."""
        return self._ask(Analysis.FACTS, facts)

    @property
    def runs(self) -> Runs:
        """Contiguity of index tiles, which gathers and scatters ask for."""
        return self._ask(Analysis.RUNS, lambda function: runs(function, self.facts))

    @property
    def dependences(self) -> Dependences:
        """Which accesses may meet in memory."""
        return self._ask(Analysis.DEPENDENCES, Dependences)

    @property
    def scalars(self) -> Scalars:
        """What a thread that holds no tiles can compute."""
        return self._ask(Analysis.SCALARS, lambda function: Scalars(self.dependences, self.parents))

    @property
    def kinds(self) -> frozenset[type[Op]]:
        """The classes of the function's ops, with their base classes."""
        return self._ask(Analysis.KINDS, _kinds)

    def has(self, *classes: type[Op]) -> bool:
        """Whether the function has an op of one of these classes."""
        return not self.kinds.isdisjoint(classes)

    def _ask(self, analysis: Analysis, find: Callable[[Function], T]) -> T:
        found: T | None = self._known.get(analysis)
        if found is None:
            found = self._known[analysis] = find(self.function)
        return found

    def forget(self, preserved: Preserved = NONE) -> None:
        """The function has changed: only what is preserved is still known."""
        if self._known:
            self._known = {analysis: found for analysis, found in self._known.items() if analysis in preserved}

    def take_facts(self, other: Unit, copies: Mapping[Value, Value]) -> None:
        """What is known of another function's integers holds of their copies in this one, which lacks some of its
        ops."""
        self._known[Analysis.FACTS] = Facts({copies[v]: fact for v, fact in other.facts.items() if v in copies})

    def stale(self, preserved: Preserved) -> list[str]:
        """The analyses that are said to be preserved but would find something else now."""
        now = Unit(self.function)
        return [a.value for a in self._known if a in preserved and self._comparable(a) != now._comparable(a)]

    def _comparable(self, analysis: Analysis) -> object:
        if analysis is Analysis.DEPENDENCES:
            return self.dependences.classes(self.function)
        if analysis is Analysis.SCALARS:
            results = [result for op in self.function.walk() for result in op.results]
            return [result for result in results if self.scalars.known([result])]
        return getattr(self, analysis.value)


def _kinds(function: Function) -> frozenset[type[Op]]:
    return frozenset(chain.from_iterable(cls.__mro__ for cls in {type(op) for op in function.walk()}))
