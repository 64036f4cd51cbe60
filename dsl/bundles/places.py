"""Where a kernel is, in words that another process can follow: `FILE.py:name` or `package.module:name`."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from tilewright.kernel import tile_kernel


def place_of(function: Any, folder: Path) -> str:
    """The place of a kernel's function. LookupError, with the reason, for one that nobody else can reach."""
    name, module = function.__qualname__, function.__module__
    if "<locals>" in name:
        raise LookupError(f"{name} is made inside a function")
    file = Path(function.__code__.co_filename)
    if module != "__main__" and importlib.util.find_spec(module) is not None:
        return f"{module}:{name}"
    if not file.is_file():
        raise LookupError(f"{name} is in no file")
    return f"{Path(os.path.relpath(file.resolve(), folder)).as_posix()}:{name}"


def kernel_at(where: str, folder: Path) -> tile_kernel:
    """The kernel at a place; files are relative to the folder. ValueError where there is none."""
    module, _, name = where.rpartition(":")
    if not module or not name:
        raise ValueError(f"{where!r} is no place of a kernel; write FILE.py:name or package.module:name")
    found = _in_file(folder / module, name) if module.endswith(".py") else _in_module(module, name)
    found = getattr(found, "kernel", found)  # an autotuned one holds the kernel
    if not isinstance(found, tile_kernel):
        raise ValueError(f"there is no kernel {name} in {module}")
    return found


def _in_module(module: str, name: str) -> Any:
    try:
        return pkgutil.resolve_name(f"{module}:{name}")
    except (ImportError, ValueError) as error:
        raise ValueError(f"the module {module} cannot be imported: {error}") from None
    except AttributeError:
        return None


def _in_file(path: Path, name: str) -> Any:
    found: Any = _module(path)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


_files: dict[Path, ModuleType] = {}


def _module(path: Path) -> ModuleType:
    """The module of a file, which is run once for all places in it."""
    path = path.resolve()
    if path in _files:
        return _files[path]
    name = path.stem if path.stem not in sys.modules else f"{path.stem}_{len(_files)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"there is no Python file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    finally:
        sys.path.remove(str(path.parent))
    _files[path] = module
    return module
