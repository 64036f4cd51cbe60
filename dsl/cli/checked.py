"""`tilewright check`: the launches of a script, or one kernel on generated arrays, run checked."""

from __future__ import annotations

import contextlib
import runpy
import shlex
import sys
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from tilewright.cli.answers import Answer, UsageError, place_of
from tilewright.cli.inputs import launch_values
from tilewright.cli.reading import load_kernel, parse_grid
from tilewright.launching import launcher
from tilewright.launching.checking import Checking, from_words
from tilewright.launching.collecting import Collector
from tilewright.tileir.diagnostics import TileError


def checked(where: str, args: str, grid: str | None, seed: int, checks: str) -> Answer:
    """Run it; what the command says. Its status is 1 where errors were found, or the script has failed."""
    named = ".py:" in where
    options = {"--grid": grid, "--args": args, "--seed": str(seed) if seed else "", "--checks": checks}
    words = [word for name, value in options.items() if value and value != "1" for word in (name, value)]
    collector = Collector(lambda: shlex.join(["tilewright", "check", where, *words]))
    try:
        wanted = from_words(checks)
    except ValueError as error:
        raise UsageError(f"--checks: {str(error).removeprefix('check: ')}") from None
    if wanted is None:
        raise UsageError("--checks: there is nothing to check")
    stopped: BaseException | None
    with _all_launches(replace(wanted, listener=collector)):
        if named:
            stopped = _run_kernel(where, args, grid, seed, collector)
        elif grid is not None:
            raise UsageError(f"--grid goes with a kernel: {where}:name")
        else:
            stopped = run_script(Path(where), shlex.split(args))
    return _answer(where, collector, stopped)


@contextlib.contextmanager
def _all_launches(wanted: Checking) -> Iterator[None]:
    before = launcher.CHECKED
    launcher.check_launches(wanted)
    try:
        yield
    finally:
        launcher.check_launches(before)


def _run_kernel(where: str, args: str, grid: str | None, seed: int, collector: Collector) -> TileError | None:
    """Launch a kernel once; what stopped the launch (or one that the file makes), if there are reports that say why."""
    try:
        kernel = load_kernel(where)
        values = launch_values(args, seed)
        if grid is not None:
            kernel.interpret(parse_grid(grid), *values)
        elif kernel.launcher.has_grid:
            kernel(*values)
        else:
            raise UsageError(f"{where} needs --grid: the decorator of the kernel gives none")
    except TileError as error:
        if not collector.found():
            raise
        return error
    return None


def run_script(path: Path, words: list[str]) -> BaseException | None:
    """Run a file as Python does; what it ends with, if not well. What it prints is no part of the answer."""
    if not path.is_file():
        raise UsageError(f"there is no file {path}")
    argv, places = sys.argv, list(sys.path)
    sys.argv = [str(path), *words]
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        return end if end.code not in (None, 0) else None
    except Exception as error:
        return error
    finally:
        sys.argv, sys.path[:] = argv, places
    return None


def _answer(where: str, collector: Collector, stopped: BaseException | None) -> Answer:
    found = collector.found()
    counts = {severity: len(collector.found(severity)) for severity in ("error", "warning", "note")}
    data = {"file": where, "launches": collector.launches,
            "reports": [{"kernel": kernel, **report.as_json()} for kernel, report in found],
            "stopped": as_data(stopped, where)}

    def show() -> None:
        for kernel, report in found:
            print(f"{kernel}: {report}\n")
        print(f"{where}: {_many(collector.launches, 'launch', 'es')} checked: "
              + ", ".join(_many(count, severity) for severity, count in counts.items()))
        if stopped is not None:
            print(f"{where} stopped early:\n{told(stopped, where)}", file=sys.stderr)

    return Answer(data, show, status=int(counts["error"] > 0 or stopped is not None))


def _many(count: int, word: str, plural: str = "s") -> str:
    return f"{count} {word}{'' if count == 1 else plural}"


def as_data(stopped: BaseException | None, where: str) -> dict[str, Any] | None:
    if stopped is None:
        return None
    if isinstance(stopped, TileError):
        message, place = stopped.message, place_of(stopped.span)
    else:
        message, frame = str(stopped), _own_frames(stopped, where)
        place = None if frame is None else {"file": where, "line": frame.tb_lineno, "column": 1}
    return {"type": type(stopped).__name__, "message": message, "place": place}


def _own_frames(error: BaseException, where: str) -> TracebackType | None:
    """The traceback from the script's first frame on."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename != where:
        frame = frame.tb_next
    return frame


def told(error: BaseException, where: str) -> str:
    """The traceback from the script's first frame on; of one of our errors, which has its place, the text alone."""
    if isinstance(error, TileError):
        return str(error)
    return "".join(traceback.format_exception(type(error), error, _own_frames(error, where))).rstrip()
