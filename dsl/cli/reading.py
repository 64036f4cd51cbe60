"""What stands on the command line: kernels in files, argument lists, grids."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from tilewright.arguments.spec import spec
from tilewright.kernel import tile_kernel

MAX_DEPTH = 20  # of brackets: lists of arrays in tuples of tuples; Python's parser fails at some hundred


class UsageError(Exception):
    """The command line is wrong; the message says how."""


def load_kernel(where: str) -> tile_kernel:
    """The kernel at FILE.py:name; the file is imported as a module of its own."""
    file, _, name = where.rpartition(":") if ".py:" in where else (where, "", "")
    path = Path(file)
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    sys.path.insert(0, str(path.parent.resolve()))
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if module_spec is None or module_spec.loader is None:
        raise UsageError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[path.stem] = module
    try:
        with contextlib.redirect_stdout(sys.stderr):  # ours is what was asked for, alone
            module_spec.loader.exec_module(module)
    except (SyntaxError, ImportError, SystemExit) as error:
        place = f" (line {error.lineno})" if isinstance(error, SyntaxError) else ""
        raise UsageError(f"{file} cannot be imported{place}: {type(error).__name__}: {error}") from None
    kernels = {key: value for key, value in vars(module).items() if isinstance(value, tile_kernel)}
    if name in kernels:
        return kernels[name]
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    known = ", ".join(kernels) or "none"
    raise UsageError(f"{file} has no kernel {name!r}; its kernels are: {known}" if name else
                     f"write {file}:name with one of its kernels: {known}")


def parse_grid(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        raise UsageError(f"--grid takes up to three numbers, such as 16 or 4,4; not {text!r}") from None


def parse_args(text: str) -> tuple[Any, ...]:
    """Specs and Python values from the text of --args."""
    return tuple(_value(part) for part in split_args(text))


def _value(text: str) -> Any:
    found = literal(text)
    if found is not None:
        return found[0]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part) for part in split_args(text[1:-1])]
    if text.startswith("(") and text.endswith(")"):
        return tuple(_value(part) for part in split_args(text[1:-1]))
    return spec(text)


def literal(text: str) -> tuple[Any] | None:
    """The Python literal that a text is, None for any other text."""
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):  # the last two: Python's own limits
        return (ast.literal_eval(text),)
    return None


def split_args(text: str) -> list[str]:
    """The parts between the commas that are in no bracket."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "[(") - (char in "])")
        if depth > MAX_DEPTH:
            raise UsageError(f"--args is nested more than {MAX_DEPTH} deep")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    if current.strip():
        parts.append(current.strip())
    if depth:
        raise UsageError(f"the brackets in {text!r} do not match")
    return parts
