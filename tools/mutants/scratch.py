"""Copies of the tree, in which tests are recorded and mutants run: never the tree itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from mutants import tree
from mutants.sites import Mutant

IGNORED = shutil.ignore_patterns(
    ".git", "build", "dist", ".venv", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")


PLACES = ("build/typing", "", "tests", "tests/support", "tools")  # of the tree, on PYTHONPATH


class Scratch:
    """A copy of the tree; `environment` is that of processes which run its code."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._clock = folder.absolute(), int(time.time())
        # One thread each: others run beside it.
        self.environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([*(str(self.folder / p) for p in PLACES), *others_on_the_path()]),
            "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "CI": "true"}

    def make(self, source: Path = tree.ROOT) -> Scratch:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(source, self.folder, ignore=IGNORED, symlinks=True)
        subprocess.run([sys.executable, "tools/link_tree.py"], cwd=self.folder, check=True)
        return self

    def put(self, mutant: Mutant) -> None:
        self._write(mutant.path, mutant.applied((self.folder / mutant.path).read_text()))

    def take_out(self, mutant: Mutant, source: Path = tree.ROOT) -> None:
        self._write(mutant.path, (source / mutant.path).read_text())

    def _write(self, path: str, text: str) -> None:
        """Each version of a file has a time of its own, by which Python knows whether compiled code is of it."""
        self._clock += 2
        (self.folder / path).write_text(text)
        os.utime(self.folder / path, (self._clock, self._clock))


def others_on_the_path() -> list[str]:
    """What PYTHONPATH holds beside the tree itself: on machines without an installation, the dependencies."""
    given = [os.path.abspath(part) for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return [part for part in given if part not in {str((tree.ROOT / p).absolute()) for p in PLACES}]
