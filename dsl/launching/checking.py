"""Checked launches: what to check, and what happens with the reports."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tilewright.tileir.diagnostics import CheckError, CheckWarning
from tilewright.tileir.records import record

if TYPE_CHECKING:
    from tilewright.interp.checking.devices import CheckedDevice
    from tilewright.interp.checking.memory import CheckedMemory
    from tilewright.interp.checking.report import Report

A = TypeVar("A")

ON_REPORT = ("raise", "warn", "collect")
OFF = ("", "0", "off", "false")


@record
class Checking:
    """`checks`: names of `CHECKS`. `on_report`: "raise", "warn" or "collect". A `listener` takes the reports of all
    launches in place of that (it is told the kernel's name and what was found); what stops a launch is raised."""

    checks: frozenset[str]
    on_report: str = "raise"
    listener: Callable[[str, list[Report]], None] | None = None

    def memory(self) -> CheckedMemory:
        """The memory of one launch."""
        from tilewright.interp.checking import CheckedMemory

        return CheckedMemory(self.checks)

    def memories(self, programs: Sequence[Any], grid: tuple[int, int, int], arguments: Any) -> Sequence[CheckedDevice]:
        """Those of one launch on each of several devices."""
        from tilewright.interp.checking.devices import checked_together

        return checked_together(self.checks, programs, grid, arguments)

    def finish(self, name: str, reports: list[Report], cause: BaseException | None = None) -> list[Report]:
        """Raise the errors or warn, as was asked for."""
        if self.listener is not None:
            self.listener(name, reports)
            if cause is not None:
                raise cause
            return reports
        errors = [report for report in reports if report.severity == "error"]
        if errors and self.on_report == "raise":
            raise CheckError(headline(name, errors, len(reports)), errors[0].span, reports=reports) from cause
        if self.on_report != "collect":
            for report in reports:
                if report.severity != "note":
                    warnings.warn(f"{name}: {report}", CheckWarning, stacklevel=_depth())
        return reports


def headline(name: str, errors: list[Report], reports: int) -> str:
    """The first line of the error, which is one of so many `reports`."""
    if reports == 1:
        return f"{name}: {errors[0].headline}: {errors[0].message}"
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    return f"{name}: {count}: " + errors[0].message


def _depth() -> int:
    """How far above this call the user's frame is."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("tilewright."):
        frame, depth = frame.f_back, depth + 1
    return depth


def checking(check: bool | str | Collection[str], on_report: str = "raise") -> Checking | None:
    """What the options `check` and `on_report` ask for; None for no check."""
    if on_report not in ON_REPORT:
        raise ValueError(f'on_report must be "raise", "warn" or "collect", not {on_report!r}')
    if check is False or check is None:
        return None
    from tilewright.interp.checking.report import ALL_CHECKS, CHECKS, DEFAULT_CHECKS

    if check is True:
        return Checking(DEFAULT_CHECKS, on_report)
    if check == "all":
        return Checking(ALL_CHECKS, on_report)
    names = [check] if isinstance(check, str) else check
    if not isinstance(names, Iterable):
        raise TypeError(f'check must be True, False, "all" or names of checks, not {type(check).__name__}')
    chosen = frozenset(names)
    if "all" in chosen:
        chosen = chosen - {"all"} | ALL_CHECKS
    if not chosen or not chosen <= CHECKS.keys():
        wrong = ", ".join(repr(name) for name in sorted(map(str, chosen - CHECKS.keys()))) or "nothing"
        raise ValueError(f"check: {wrong} cannot be checked; there are {', '.join(CHECKS)}, and \"all\"")
    return Checking(chosen, on_report)


def from_environment() -> Checking | None:
    """What TILEWRIGHT_CHECK asks for: 1, all, or names of checks separated by commas."""
    return from_words(os.environ.get("TILEWRIGHT_CHECK", ""))


def from_words(words: str) -> Checking | None:
    """The same of text; ValueError for what is no check."""
    given = words.lower()
    if given in OFF:
        return None
    if given in ("1", "on", "true", "all"):
        return checking("all" if given == "all" else True)
    return checking([name.strip() for name in given.split(",")])


def uninitialized(array: A) -> A:
    """Declare that the elements of an array hold nothing yet, for checked launches: what reads one of them before a
    launch has written it, and a launch that writes only some of them, are reported.

    Arguments: `array`, a NumPy array; views of it count as parts of it.
    Result: the same array.
    Errors: TypeError for anything else.

    Example:
        @ct.tile_kernel
        def fill(out):
            ct.store(out, ct.bid(0), ct.zeros((4,), ct.int32))

        out = ct.uninitialized(np.empty(16, np.int32))
        [report] = fill.interpret((3,), out, check=True, on_report="collect")
        print(report.message)  # 4 of 16 elements of out are never written, out[12] first
    """
    import numpy

    from tilewright.interp.checking.declared import declare

    if not isinstance(array, numpy.ndarray):
        raise TypeError(f"uninitialized takes a NumPy array, not {type(array).__name__}")
    declare(array)
    return array
