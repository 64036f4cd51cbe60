"""A plugin for pytest: with `--tilewright-check` the launches of each test run checked, and errors fail the test.

pytest loads it wherever Tilewright is installed, and does nothing more than that without the option.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tilewright.launching.collecting import Collector

NAME = "tilewright-checked-launches"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tilewright")
    group.addoption("--tilewright-check", action="store_const", const="1", dest="tilewright_checks",
                    help="run the launches of Tilewright's kernels checked, without a GPU; errors fail the test")
    group.addoption("--tilewright-checks", metavar="CHECKS", dest="tilewright_checks",
                    help='the same, with these checks: "all", or names separated by commas, such as bounds,races')


def pytest_configure(config: pytest.Config) -> None:
    words = config.getoption("tilewright_checks")
    if words is None:
        return
    from dataclasses import replace

    from tilewright.launching.checking import from_words
    from tilewright.launching.collecting import Collector
    from tilewright.launching.launcher import check_launches

    try:
        wanted = from_words(words)
    except ValueError as error:
        raise pytest.UsageError(f"--tilewright-checks={words}: {error}") from None
    if wanted is None:
        return
    option = "--tilewright-check" if words == "1" else f"--tilewright-checks={words}"
    collector = Collector(lambda: f"python -m pytest {option} '{checked.test}'")
    checked = Checked(collector)
    check_launches(replace(wanted, listener=collector))
    config.pluginmanager.register(checked, NAME)


class Checked:
    """Looks at what the launches of a test have shown, after each of its phases."""

    def __init__(self, collector: Collector) -> None:
        self.test = ""
        self._collector = collector

    def _phase(self, item: pytest.Item, name: str) -> Generator[None, Any, Any]:
        self.test = item.nodeid
        self._collector.clear()
        try:
            result = yield
        except Exception:
            if self._errors():
                item.add_report_section(name, "tilewright", self._errors())
            raise
        self._warn()
        if self._errors():
            pytest.fail(self._errors(), pytrace=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        return (yield from self._phase(item, "teardown"))

    def _errors(self) -> str:
        return "\n\n".join(f"{kernel}: {report}" for kernel, report in self._collector.found("error"))

    def _warn(self) -> None:
        import warnings

        from tilewright.tileir.diagnostics import CheckWarning

        for kernel, report in self._collector.found("warning"):
            warnings.warn(f"{kernel}: {report}", CheckWarning, stacklevel=2)
