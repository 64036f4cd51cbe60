"""Run the tests on every Python from 3.11 up that is on this machine, each with an environment of its own.

An interpreter counts as found when a program `python3.N` runs, or pyenv has a version 3.N. A version that the package
declares and that is not found is named at the end: it was not run. The exit code is 0 if all that ran passed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROBE = "import sys; print(sys.version_info[1])"
NEWEST = 20  # of the minor versions that are looked for


def declared() -> list[int]:
    """The minor versions that the classifiers in pyproject.toml name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = (re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", line) for line in project["classifiers"])
    return [int(match[1]) for match in found if match]


def interpreter(minor: int) -> str | None:
    """A program that runs Python 3.minor."""
    candidates = [shutil.which(f"python3.{minor}")]
    pyenv = Path.home() / ".pyenv" / "versions"
    candidates += [str(path) for path in sorted(pyenv.glob(f"3.{minor}.*/bin/python"))]
    for program in filter(None, candidates):
        # A shim of pyenv is there for versions that it does not run.
        answer = subprocess.run([program, "-c", PROBE], capture_output=True, text=True)
        if answer.returncode == 0 and answer.stdout.strip() == str(minor):
            return program
    return None


def passes(minor: int, program: str, arguments: list[str]) -> bool:
    """Whether the tests pass on this interpreter."""
    home = ROOT / "build" / f"venv-3.{minor}"
    python = str(home / "bin" / "python")
    steps = [[program, "-m", "venv", str(home)], [python, "-m", "pip", "install", "--quiet", "-e", ".[test]"],
             [python, "-m", "pytest", "-q", *(arguments or ["-n", "2"])]]
    return all(subprocess.run(step, cwd=ROOT).returncode == 0 for step in steps)


def main(arguments: list[str]) -> int:
    outcomes: dict[int, str] = {}
    wanted = declared()
    for minor in range(min(wanted), NEWEST):
        program = interpreter(minor)
        if program is not None:
            print(f"== Python 3.{minor}: {program}", flush=True)
            outcomes[minor] = "passed" if passes(minor, program, arguments) else "FAILED"
        elif minor in wanted:
            outcomes[minor] = "not run: there is no such Python on this machine"
    print("\n".join(f"Python 3.{minor}: {outcome}" for minor, outcome in outcomes.items()))
    return int("FAILED" in outcomes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
