"""What was recorded, and by it the tests for a mutant."""

from __future__ import annotations

import ast
import collections
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mutants import probes, tree
from mutants.recorder import IMPORT, unpacked
from mutants.sites import Mutant

FILE = 0.2  # seconds to import and collect a file of tests
FEW = 10  # tests, of so few that a cache may be the reason
CLOSEST, QUICK = 20, 3.0  # tests, and seconds for one of them


@dataclass(frozen=True)
class Test:
    """A test that has passed: the CPU seconds that it took, and the probes that it set, as bits."""

    name: str
    seconds: float
    hits: int

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Coverage:
    """`imported`: the probes that are set when the modules are imported; `importers`: which files import a file."""

    def __init__(
        self, tests: Iterable[Test], imported: int, places: probes.Map, importers: dict[str, list[str]],
    ) -> None:
        self.tests, self._imported, self._places, self._importers = list(tests), imported, places, importers

    def of(self, mutant: Mutant) -> list[Test]:
        """The tests that enter the block of a mutant."""
        probe = self._places.at(mutant.path, (mutant.line, mutant.column))
        return [] if probe is None else self._entering([probe])

    def around(self, mutant: Mutant) -> list[Test]:
        """The tests that enter any function of its file, or, where none does, of the files that import it."""
        files, seen = [mutant.path], {mutant.path}
        while files:
            if found := self._entering([n for path in files for n in self._places.of_file(path)]):
                return found
            files = [f for path in files for f in self._importers.get(path, ()) if f not in seen]
            seen.update(files)
        return []

    def _closest(self, tests: list[Test], path: str) -> list[Test]:
        """Those of which the largest part is this file."""
        bits = sum(1 << number for number in self._places.of_file(path)) & ~self._imported

        def share(test: Test) -> float:
            hits = test.hits & ~self._imported
            return (hits & bits).bit_count() / max(hits.bit_count(), 1)
        quick = [test for test in tests if test.seconds < QUICK]
        return sorted(quick, key=lambda test: (-share(test), test.seconds, test.name))[:CLOSEST]

    def _entering(self, numbers: Iterable[int]) -> list[Test]:
        bits = sum(1 << number for number in numbers) & ~self._imported
        return [test for test in self.tests if test.hits & bits]

    def chosen(self, mutant: Mutant, budget: float) -> list[Test]:
        """Tests of `budget` seconds: of those that enter the block, then, where these are few, of those around it.
        First come the closest, which enter little but its file.

        What runs at import, and what is cached for the rest of the process, no test enters or the first alone,
        though many depend on it.
        """
        own = self.of(mutant)
        ranked = list(dict.fromkeys([*self._closest(own, mutant.path), *_in_turn(own)]))
        if len(own) < FEW:
            ranked += _in_turn([test for test in self.around(mutant) if test not in own])
        out: list[Test] = []
        files = set[str]()
        for test in ranked:
            seconds = test.seconds + FILE * (test.file not in files)
            if seconds <= budget:
                out.append(test)
                files.add(test.file)
                budget -= seconds
        return out


def _in_turn(tests: Iterable[Test]) -> list[Test]:
    """Of each test function the fastest, then its second, and so on: tests of one function see much the same."""
    families = collections.defaultdict[str, list[Test]](list)
    for test in sorted(tests, key=lambda test: (test.seconds, test.name)):
        families[test.function].append(test)
    ranked = [(rank, test) for family in families.values() for rank, test in enumerate(family)]
    return [test for _, test in sorted(ranked, key=lambda pair: (pair[0], pair[1].seconds, pair[1].name))]


def read(folder: Path, root: Path, paths: list[str]) -> Coverage:
    """The records of a folder, made in the tree `root`."""
    tests, imported = [], 0
    for file in sorted(folder.glob("*.jsonl")):
        for record in map(json.loads, file.open()):
            if record["test"] == IMPORT:
                imported |= unpacked(record["hits"])
            elif record["outcome"] == "passed":
                tests.append(Test(record["test"], record["seconds"], unpacked(record["hits"])))
    return Coverage(tests, imported, probes.survey(root, paths), importers(root, paths))


def importers(root: Path, paths: list[str]) -> dict[str, list[str]]:
    modules = {tree.module(path): path for path in paths}
    out = collections.defaultdict[str, list[str]](list)
    for path in paths:
        for node in ast.walk(ast.parse((root / path).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                for found in {modules[name] for name in names if name in modules}:
                    out[found].append(path)
    return out
