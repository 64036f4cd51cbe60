"""Finds the seeded kernels of this folder, the lines that their defects stand at, and makes their repaired twins.

A defect is marked by comments in the kernel:

    # DEFECT(kinds): text     the next line is wrong; it should be `text`
    # HERE(kinds)             the next line is one that a report may name
    # ALSO: text              the next line has to be `text` in the twin, but no report is expected there
    # MISSING: text           the twin has this line here

`kinds` is a kind of report, or several between bars where more than one is right. A kernel `k` is launched with what
`k_launch()` gives. The twins are the same file with the texts put in.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from support.seeded_blind.launches import Launch

THEMES = ("elementwise", "rows", "products", "attention", "stencils", "indexed", "waiting", "searching", "layouts")
MARK = re.compile(r"^(?P<indent> *)# (?P<word>DEFECT|HERE|ALSO|MISSING)(?:\((?P<kinds>[a-z|]+)\))?(?:: (?P<text>.*))?$")
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Seeded:
    """One kernel with a defect: the lines where a report is right, with the kinds that are right there."""

    theme: str
    name: str
    expected: dict[int, frozenset[str]]

    def launch(self) -> Launch:
        """Fresh arrays, for one launch."""
        return getattr(importlib.import_module(f"support.seeded_blind.{self.theme}"), f"{self.name}_launch")()

    def kernel(self):
        """With the defect."""
        return getattr(importlib.import_module(f"support.seeded_blind.{self.theme}"), self.name)

    def twin(self, folder: Path):
        """Without it; `folder` is where the repaired file is written."""
        return getattr(repaired_module(self.theme, folder), self.name)


def repaired(source: str) -> str:
    """The file with each mark's text in place of the line that follows it."""
    lines, drop = [], False
    for line in source.splitlines():
        mark = MARK.match(line)
        if mark is None:
            if not drop:
                lines.append(line)
            drop = False
            continue
        if mark["word"] == "HERE":
            continue
        lines.append(mark["indent"] + mark["text"])
        drop = mark["word"] != "MISSING"
    return "\n".join(lines) + "\n"


@cache
def repaired_module(theme: str, folder: Path) -> ModuleType:
    """The twins of one file, as a module."""
    path = folder / f"repaired_{theme}.py"
    path.write_text(repaired((FOLDER / f"{theme}.py").read_text()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def expected_lines(lines: list[str], first: int, last: int) -> dict[int, frozenset[str]]:
    """Line numbers, from 1, at which a report is right, of the lines first to last - 1 (from 0)."""
    found = {}
    for number in range(first, last):
        mark = MARK.match(lines[number])
        if mark is not None and mark["kinds"]:
            behind = next(n for n in range(number + 1, last) if MARK.match(lines[n]) is None)
            found[behind + 1] = frozenset(mark["kinds"].split("|"))
    return found


def seeded() -> list[Seeded]:
    """All kernels with a defect, in the order of the files."""
    found = []
    for theme in THEMES:
        lines = (FOLDER / f"{theme}.py").read_text().splitlines()
        first = 0
        for number, line in enumerate(lines):
            launch = re.match(r"def (\w+)_launch\(", line)
            if launch is not None:
                found.append(Seeded(theme, launch[1], expected_lines(lines, first, number)))
                first = number
    return found
