"""The examples of the documentation as programs: code, the output that it states, the errors that it states.

An example is a whole script, or the body of a kernel that runs over one block. Behind a line that prints stands, as a
comment, what it prints (more lines follow as comment lines); behind a line that is refused stands the error's class.
"""

from __future__ import annotations

import importlib.util
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

IMPORTS = "import numpy as np\n\nimport tilewright as ct\n\n"
_SCRIPT = re.compile(r"^(@ct\.|import |from )", re.MULTILINE)
_ERROR = re.compile(r"(\w*(?:Error|Exception))")
_PRINTS = re.compile(r"\bprintf?\(")


@dataclass(frozen=True)
class Program:
    """Something to run: `expected` is what it prints, `error` the class of what it raises ("" if it ends well)."""

    source: str
    expected: tuple[str, ...]
    error: str = ""


def is_script(code: str) -> bool:
    """Whether code is meant for the host; otherwise it is the body of a kernel."""
    return _SCRIPT.search(code) is not None


def programs(code: str, *, script: bool) -> Iterator[Program]:
    """The example without its refused lines, then one program for each refused line, which must raise."""
    lines = code.splitlines()
    comments = _comments(code)
    refused = {i: error for i, text in comments.items() if (error := _error(text)) and lines[i].split("#")[0].strip()}
    kept = [_nothing(line) if i in refused else line for i, line in enumerate(lines)]
    yield Program(_whole(kept, script), tuple(_expected(lines, comments, refused)))
    for i, error in refused.items():
        yield Program(_whole([*kept[:i], lines[i], *kept[i + 1:]], script), (), error)


def run(program: Program, path: Path) -> None:
    """Write a program to a file, from which kernels read their source, and run it as a module.

    AssertionError where it does not raise what it states; what it prints is the caller's to compare.
    """
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except Exception as error:
        assert type(error).__name__ == program.error, f"{program.source}\n{error}"
        return
    assert not program.error, f"{program.error} was not raised by\n{program.source}"


def _nothing(line: str) -> str:
    """In place of a refused line: a block may have no other."""
    return line[: len(line) - len(line.lstrip())] + "pass"


def _whole(lines: list[str], script: bool) -> str:
    code = "\n".join(lines) + "\n"
    if script:
        return code if "import tilewright" in code else IMPORTS + code
    return f"{IMPORTS}\n@ct.tile_kernel\ndef example():\n{indent(code, '    ')}\n\nexample[(1,)]()\n"


def _comments(code: str) -> dict[int, str]:
    """Text of the comment in each line that has one."""
    tokens = tokenize.generate_tokens(io.StringIO(code + "\n").readline)
    return {t.start[0] - 1: t.string.removeprefix("#").removeprefix(" ") for t in tokens if t.type == tokenize.COMMENT}


def _error(comment: str) -> str:
    found = _ERROR.match(comment)
    return found[1] if found else ""


def _expected(lines: list[str], comments: dict[int, str], refused: dict[int, str]) -> Iterator[str]:
    printing = False
    for i, line in enumerate(lines):
        alone = line.lstrip().startswith("#")
        if not alone:
            printing = _PRINTS.search(line) is not None and i not in refused
        if printing and i in comments:
            yield comments[i].rstrip()
