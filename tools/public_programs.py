"""Run programs that were written for cuTile, as they are, by `python -m tilewright.cutile`: one process each.

    python tools/public_programs.py FOLDER [--seconds 120] [--cpu]

The folder is yours: programs as their authors published them, none of which are in this repository. A file
`programs.txt` in it names what to run, one program a line: words as after `python -m tilewright.cutile`, where need be
with a folder of FOLDER to run in before them (`attention: -m pytest -q tests/test_kernels.py`). Without that file every
Python file below FOLDER that imports cuda.tile is run, by pytest if its name begins with `test_`.

A table tells of each program how it ended, after how many seconds, and its first line of an error, or else the last
line that it printed: whether that claims a right result is for you to read. The exit code is the number of programs
that failed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

IMPORT = re.compile(r"^\s*(import cuda\.tile\b|from cuda\.tile\b|from cuda import tile\b)", re.MULTILINE)
ERROR = re.compile(r"E\s.*|[\w.]*(?:Error|Exception|Interrupt)\b.*")  # pytest's E, or Python's last line
OURS = "tilewright.cutile: "  # what was substituted


@dataclass(frozen=True)
class Program:
    folder: Path
    words: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    program: Program
    ended: str
    seconds: float
    line: str


def programs(root: Path) -> list[Program]:
    """What to run: the lines of programs.txt, or each file that imports cuda.tile."""
    listed = root / "programs.txt"
    if listed.is_file():
        lines = (line.strip() for line in listed.read_text().splitlines())
        return [_of_line(root, line) for line in lines if line and not line.startswith("#")]
    found = (path for path in sorted(root.rglob("*.py")) if IMPORT.search(path.read_text(errors="replace")))
    return [Program(path.parent, ("-m", "pytest", "-q", path.name) if path.name.startswith("test_") else (path.name,))
            for path in found]


def _of_line(root: Path, line: str) -> Program:
    before, colon, after = line.partition(": ")
    return Program(root / before, tuple(shlex.split(after))) if colon else Program(root, tuple(shlex.split(line)))


def run(program: Program, seconds: float, options: tuple[str, ...] = ()) -> Outcome:
    """One program in a process of its own, ended after so many seconds."""
    command = [sys.executable, "-m", "tilewright.cutile", *options, *program.words]
    start = time.monotonic()
    try:
        done = subprocess.run(command, cwd=program.folder, capture_output=True, text=True, timeout=seconds,
                              stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONIOENCODING": "utf-8"})
    except subprocess.TimeoutExpired:
        return Outcome(program, "time limit", time.monotonic() - start, "")
    ended = "passed" if done.returncode == 0 else f"exit code {done.returncode}"
    return Outcome(program, ended, time.monotonic() - start, _telling(done))


def _telling(done: subprocess.CompletedProcess[str]) -> str:
    printed = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    if done.returncode == 0:
        return printed[-1] if printed else ""
    said = [line.strip() for line in done.stderr.splitlines() if line.strip() and not line.startswith(OURS)]
    errors = [line for line in said + printed if ERROR.fullmatch(line)]
    return next(iter(errors or said[-1:] or printed[-1:]), "")


def table(outcomes: list[Outcome], root: Path) -> str:
    rows = [("program", "ended", "seconds", "its error, or last line")]
    for outcome in outcomes:
        folder = outcome.program.folder.relative_to(root).as_posix()
        name = ("" if folder == "." else f"{folder}: ") + shlex.join(outcome.program.words)
        rows.append((name, outcome.ended, f"{outcome.seconds:.0f}", outcome.line[:100]))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = ("  ".join((*map(str.ljust, row[:3], widths), row[3])) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run programs that were written for cuTile, as they are.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=120, help="the time limit of each program (default: 120)")
    parser.add_argument("--cpu", action="store_true", help="on the CPU, even where there is a GPU")
    options = parser.parse_args(argv)
    if not options.folder.is_dir():
        parser.error(f"there is no folder {options.folder}")
    outcomes = [run(program, options.seconds, ("--cpu",) if options.cpu else ())
                for program in programs(options.folder)]
    print(table(outcomes, options.folder))
    failed = sum(outcome.ended != "passed" for outcome in outcomes)
    print(f"{len(outcomes) - failed} of {len(outcomes)} programs passed")
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
