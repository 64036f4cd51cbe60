"""A plugin for pytest that records which blocks each test enters: `PYTEST_PLUGINS=mutants.recorder`.

Of a test function with many parameters only some run, drawn evenly. What stands in the folder of records already is
left out, so that recording goes on where it stopped, also with a larger sample.
"""

from __future__ import annotations

import base64
import builtins
import collections
import functools
import importlib
import importlib.machinery
import json
import os
import sys
import time
import types
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from mutants import probes, tree

FOLDER, SAMPLE, DEADLINE = "MUTANTS_RECORDS", "MUTANTS_SAMPLE", "MUTANTS_DEADLINE"  # variables of the environment
# Tests that hold no code to account for its results: of words, layout, wheels, types, and those that need a browser.
IMPORT = "import"  # in place of a test: what runs when all modules are imported
LEFT_OUT = ("tests/test_english.py", "tests/test_layout.py", "tests/test_docs.py", "tests/test_wheel.py",
            "tests/typing/", "tests/benchmarks/", "tests/dsl/test_explorer_in_browser.py", "tests/test_mutants.py",
            "tests/test_fuzz.py")
FIRST = 20


class Loader:
    """Gives the modules that mutants are drawn from their probes, whatever compiled form of them is on disk."""

    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        count = 0
        for path in tree.sources():
            real = os.path.realpath(tree.ROOT / path)
            self.first[real] = count
            count = probes.with_probes(Path(real), count)[1].next
        setattr(builtins, probes.NAME, bytearray(count))
        self._compiled = importlib.machinery.SourceFileLoader.get_code

    def install(self) -> None:
        first, compiled = self.first, self._compiled

        def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> types.CodeType | None:
            real = os.path.realpath(loader.path)
            if real not in first:
                return compiled(loader, name)
            return compile(probes.with_probes(Path(real), first[real])[0], loader.path, "exec", dont_inherit=True)

        importlib.machinery.SourceFileLoader.get_code = get_code


class Recorder:
    def __init__(self, folder: Path, sample: int, deadline: float) -> None:
        self._seen = {record["test"] for file in folder.glob("*.jsonl") for record in map(json.loads, file.open())}
        name = os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._file = (folder / f"{name}-{os.getpid()}.jsonl").open("a")
        self._sample, self._deadline = sample, deadline
        self._outcome = ""

        self._modules = [tree.module(path) for path in tree.sources()]
        for module in self._modules:  # so that no test seems to enter what runs when a module is imported
            importlib.import_module(module)
        if IMPORT not in self._seen:
            self._write(IMPORT, "imported", 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in sampled(items, self._sample) if item.nodeid not in self._seen]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        hits: bytearray = getattr(builtins, probes.NAME)
        forget(self._modules)
        hits[:] = bytes(len(hits))
        self._outcome, start = "passed", seconds()
        yield
        self._write(item.nodeid, self._outcome, seconds() - start)

    def _write(self, test: str, outcome: str, took: float) -> None:
        record = {"test": test, "outcome": outcome, "seconds": round(took, 3),
                  "hits": packed(getattr(builtins, probes.NAME))}
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if time.time() > self._deadline:
            item.session.shouldstop = "the time for recording is over"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._outcome = report.outcome


def forget(names: Iterable[str]) -> None:
    """Clear what functions of modules have cached, so that each test enters all that it depends on."""
    for name in names:
        for value in vars(sys.modules[name]).values():
            if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == name:
                value.cache_clear()


def sampled(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """At most `count` tests of each function, evenly from all its parameters; `FIRST` of each before the others, so
    that a run that is cut off has seen something of everything."""
    families = collections.defaultdict[str, list[pytest.Item]](list)
    for item in items:
        if not item.get_closest_marker("gpu") and not item.nodeid.startswith(LEFT_OUT):
            families[item.nodeid.partition("[")[0]].append(item)
    kept = {item.nodeid for family in families.values() for item in evenly(family, count)}
    early = {item.nodeid for family in families.values() for item in evenly(evenly(family, count), FIRST)}
    return [item for wanted in (early, kept - early) for item in items if item.nodeid in wanted]


def evenly(items: list[pytest.Item], count: int) -> list[pytest.Item]:
    """At most so many of them."""
    return items if len(items) <= count else [items[i * len(items) // count] for i in range(count)]


def seconds() -> float:
    """CPU seconds of this process and of those that it started and that have ended."""
    return sum(os.times()[:4])


def packed(hits: bytearray) -> str:
    """The numbers of the probes that were set, as bits."""
    bits = sum(1 << i for i, hit in enumerate(hits) if hit)
    return base64.b85encode(bits.to_bytes(-(-len(hits) // 8), "little")).decode()


def unpacked(text: str) -> int:
    """The bits of `packed`, as one integer."""
    return int.from_bytes(base64.b85decode(text), "little")


def pytest_addoption() -> None:
    """Before any test, its conftest.py and its plugins can import what gets probes."""
    early = sorted({tree.module(path) for path in tree.sources()}.intersection(sys.modules))
    assert not early, f"imported before their probes: {early}"
    Loader().install()


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ:
        return  # the workers record
    environment = os.environ
    for name in ("PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD"):  # for this process alone
        environment.pop(name, None)
    config.pluginmanager.register(Recorder(Path(environment[FOLDER]), int(environment[SAMPLE]),
                                           float(environment.get(DEADLINE, "inf"))), "mutants-recorder")
