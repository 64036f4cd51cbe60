"""Two sides of one kernel: what both run, how far their outputs are apart, and how the difference is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tilewright.comparing.copies import copies
from tilewright.comparing.describe import difference, failing
from tilewright.comparing.outputs import carried, described, equal, slight
from tilewright.comparing.passes import LOWERING, making
from tilewright.comparing.records import Records
from tilewright.comparing.result import Comparison
from tilewright.comparing.search import Search
from tilewright.comparing.sides import Runner, Side, interpret
from tilewright.comparing.sites import Sites
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.diagnostics import TileError, TileInternalError, TileSimulationError
from tilewright.tileir.plan import Hints


@dataclass(frozen=True)
class Pair:
    """A kernel on two sides. `functions`: what each starts from; probes go in there."""

    name: str
    functions: tuple[Function, Function]
    runners: tuple[Runner, Runner]

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.runners[0].side, self.runners[1].side

    @property
    def paired(self) -> bool:
        """Whether both sides start from the same IR, so that the values of ops can be compared."""
        one, other = map(_without_hints, self.functions)
        return one == other and self.runners[0].grid == self.runners[1].grid

    def compare(self) -> Comparison:
        """Run both, and find what is wrong where they differ."""
        found = Comparison(self.name, self.sides[0].on, self.sides[1].on, True, True)
        results = [self._result(n) for n in (0, 1)]
        failed = next((r for r in results if isinstance(r, TileError)), None)
        if failed is not None:
            number = results.index(failed)
            first = failing(self.functions[number], failed, number)
            notes = f"{'ab'[number]} stopped",
            found = replace(found, equal=False, exact=False, error=failed, first=first, notes=notes)
            return self._bisected(found, results)
        one, other = results
        if equal(one, other):
            return found
        names = [value.hint for value in self.functions[0].params]
        found = replace(found, equal=False, exact=False, outputs=tuple(described(names, one, other)))
        return self._explained(found, results)

    def _result(self, number: int) -> Any:
        """The arguments after a run, or how it failed: by what the code does, not by what the user asks for."""
        try:
            return self.runners[number].run(self.functions[number])
        except (TileSimulationError, TileInternalError) as error:
            return error

    def _apart(self, found: Comparison, results: list[Any]) -> Comparison:
        """Where the two sides start from different IR, each is held to the interpreter on its own."""
        if slight(*results):
            return replace(found, equal=True)
        for number, runner in enumerate(self.runners):
            plain = replace(runner, side=Side("interpreter"), early=False)
            functions = (self.functions[number],) * 2
            alone = Pair(self.name, functions, (runner, plain)).compare() if runner.side.compiles else None
            if alone is not None and not alone.equal:
                told = f"the sides compile different IR; this is {'ab'[number]} against the interpreter, called b"
                return replace(alone, a=found.a, b=found.b, notes=(told, *alone.notes))
        return replace(found, notes=(
            "the sides compile different IR, and each gives what the interpreter does with its own: it is the kernel "
            "that depends on the constants or the grid",))

    def _explained(self, found: Comparison, results: list[Any]) -> Comparison:
        if not self.paired:
            return self._apart(found, results)
        one, other = results
        names = [value.hint for value in self.functions[0].params]
        differing = [i for i, (x, y) in enumerate(zip(one, other, strict=True)) if not equal([x], [y])]
        search = self._search(differing)
        first = search.find()
        near = slight(one, other)
        if first is not None and first.sure:
            found = replace(found, first=difference(search.records, search, first))
            return self._bisected(found, results)
        if near or search.complete:
            return replace(found, equal=True, notes=(carried(names, one, other),))
        notes = ("with debug stores both sides agree; so the IR was executed after each pass",) * search.vanished
        if first is not None:
            found = replace(found, first=difference(search.records, search, first))
        return self._bisected(replace(found, notes=notes), results)

    def _bisected(self, found: Comparison, results: list[Any]) -> Comparison:
        """With the pass that makes the wrong side wrong."""
        wrong = self._wrong(found, results)
        if wrong is None:
            return found
        runner, function = self.runners[wrong], self.functions[wrong]
        right = results[1 - wrong]
        if isinstance(right, TileError) or self.sides[1 - wrong].compiles:
            right = copies(runner.values)
            interpret(function, runner.grid, right)
        bad = results[wrong]
        name = making(runner, function, right, None if isinstance(bad, TileError) else bad)
        if name == LOWERING and isinstance(bad, TileError):
            return found
        told = f"the IR computes what {'ab'[wrong]} does from the pass {name} on"
        if name == LOWERING:
            told = f"the IR computes what {'ab'[1 - wrong]} does after every pass: the lowering is what is wrong"
            if found.first is None:
                told += ", or no op is: roundings that ops may have, carried along, differ as well"
        return replace(found, made_by=name, notes=(*found.notes, told))

    def _wrong(self, found: Comparison, results: list[Any]) -> int | None:
        """The side to be bisected: that of the op that was found, or that failed, or the only one that has passes."""
        if found.first is not None and found.first.sure:
            number = "ab".index(found.first.side)
            return number if self._has_passes(number) else None
        failed = [n for n, result in enumerate(results) if isinstance(result, TileError)]
        return next((n for n in [*failed, 0, 1] if self._has_passes(n)), None)

    def _has_passes(self, number: int) -> bool:
        return self.sides[number].compiles or self.runners[number].early

    def _search(self, differing: Sequence[int]) -> Search:
        from tilewright.interp.debugging.trips import most_trips

        function, grid, initial = self.functions[0], self.runners[0].grid, self.runners[0].values
        sites = Sites(function, most_trips(function, grid.size, copies(initial)))
        blocks = grid.size[0] * grid.size[1] * grid.size[2]
        judged = [n for n in (0, 1) if self._has_passes(n)] or [0, 1]
        records = Records(function, sites, blocks, grid.size, initial, judged)
        runs = (self.runners[0].run, self.runners[1].run)
        return Search(function, sites, grid, runs, initial, records, differing)


def _without_hints(function: Function) -> str:
    copy = clone_function(function)
    copy.hints = Hints()
    return str(copy)
