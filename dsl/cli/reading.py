"""What stands on the command line: kernels in files, argument lists, grids."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.arguments.spec import spec
from tilewright.cli.answers import UsageError
from tilewright.deriving.from_ir import kernel_from_ir
from tilewright.kernel import tile_kernel
from tilewright.tileir.diagnostics import TileError

MAX_DEPTH = 20  # of brackets: lists of arrays in tuples of tuples; Python's parser fails at some hundred


def load_kernel(where: str) -> tile_kernel:
    """The kernel at FILE.py:name; the file is imported as a module of its own. FILE.tile holds one as Tile IR."""
    file, _, name = where.rpartition(":") if ".py:" in where else (where, "", "")
    if Path(file).suffix == ".tile" and Path(file).is_file():
        return kernel_from_ir(Path(file))
    module = load_module(file)
    kernels = {key: value for key, value in vars(module).items() if isinstance(value, tile_kernel)}
    if name in kernels:
        return kernels[name]
    if not name and len(kernels) == 1:
        return next(iter(kernels.values()))
    known = ", ".join(kernels) or "none"
    raise UsageError(f"{file} has no kernel {name!r}; its kernels are: {known}" if name else
                     f"write {file}:name with one of its kernels: {known}")


def load_module(file: str) -> ModuleType:
    """A file as a module of its own; UsageError, with the line, where it cannot be imported."""
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
    except TileError:
        raise  # it says where by itself
    except (Exception, SystemExit) as error:
        at, line = _failing_line(error, path)
        why = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().partition("\n")[0]
        raise UsageError(f"{at}:{line}: {file} cannot be imported: {type(error).__name__}{': ' * bool(why)}{why}",
                         at, line) from None
    return module


def _failing_line(error: BaseException, path: Path) -> tuple[str, int]:
    """The file and line of the user's code that an import fails at: the innermost one beside the file, or below."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno or 1
    folder = path.parent.resolve()
    lines = [(frame.filename, frame.lineno or 1) for frame in traceback.extract_tb(error.__traceback__)
             if _is_below(Path(frame.filename), folder)]
    return lines[-1] if lines else (str(path), 1)


def _is_below(file: Path, folder: Path) -> bool:
    """Whether a file of a traceback is the user's: in the folder of the command line's file, or below."""
    return file.is_file() and folder in file.resolve().parents and "site-packages" not in file.parts


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
