"""What one process leaves for the next beside compiled kernels: small entries in a cache of their own."""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tilewright.tileir.cache import DiskCache, Entry, open_cache
from tilewright.tileir.sources import digest, files

FOLDER, SUFFIX, LIMIT = "notes", ".twn", 16 << 20
# What turns a kernel's source into code; the others run it.
PACKAGES = "tilewright", "tilewright.frontend", "tilewright.tileir", "tilewright.backend_ptx"
WITHOUT = "simulator", "interp", "__pycache__"
# Others whose functions fold constants, or whose dtypes are known by name.
FOREIGN = "numpy", "ml_dtypes"
SETTLED = 10.0  # seconds: a file that changed within them may change again without its time of change doing so

_MACHINE = ("uname",), ("confstr", "CS_GNU_LIBC_VERSION")

_open: dict[Path, DiskCache] = {}


def open_notes() -> DiskCache | None:
    """The notes beside the cache of kernels that the environment names; None where there is none."""
    cache = open_cache()
    if cache is None:
        return None
    return _open.setdefault(cache.folder, DiskCache(cache.folder / FOLDER, LIMIT, SUFFIX))


def key_of(*parts: Any) -> str:
    """The key of a note; every part must have a repr that says what it is, in every process."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def load(key: str) -> dict[str, Any]:
    """What a note says; {} where there is none."""
    notes = open_notes()
    entry = notes.load(key) if notes is not None else None
    return dict(entry.meta) if entry is not None else {}


def store(key: str, meta: dict[str, Any]) -> None:
    notes = open_notes()
    if notes is not None:
        notes.store(key, Entry(meta, ""))


@functools.cache
def program() -> str:
    """A digest of all that makes code of kernels, but LLVM, assembler and driver: our sources, the packages that they
    use, Python and the machine whose arithmetic folds constants.

    The sources are read where they have changed: their digest is in a note, under their sizes, times and inodes.
    """
    machine = [str(getattr(os, name)(*given)) for name, *given in _MACHINE if hasattr(os, name)]
    return key_of(_sources(), [_version(name) for name in FOREIGN], sys.version, sys.platform, machine)


def _sources() -> str:
    stats = [(name, entry.stat()) for name, entry in files(PACKAGES, WITHOUT)]
    found = [(name, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev) for name, s in stats]
    key = key_of("sources", found)
    known = load(key).get("digest")
    if isinstance(known, str):
        return known
    made = digest(PACKAGES, WITHOUT)
    if all(max(s.st_mtime, s.st_ctime) < time.time() - SETTLED for _, s in stats):
        store(key, {"digest": made})
    return made


def _version(package: str) -> str:
    """Which version of a package is installed, told by its files, without importing it."""
    spec = find_spec(package)
    folder = os.path.dirname(spec.origin or "") if spec is not None else ""
    said = []
    for name in ("__init__.py", "version.py"):
        try:
            with open(os.path.join(folder, name), "rb") as file:
                said.append(hashlib.sha256(file.read()).hexdigest())
        except OSError:
            said.append("")
    return f"{package} {said}"
