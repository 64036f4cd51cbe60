"""The source files of packages of ours, by which caches know the program that filled them."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from pathlib import Path
from types import ModuleType


def digest(packages: Iterable[ModuleType], without: Collection[str] = ()) -> str:
    """A digest of all source files of these packages, but those in their folders `without`."""
    made = hashlib.sha256()
    for package in packages:
        for root in package.__path__:
            for path in sorted(Path(root).rglob("*.py")):
                name = path.relative_to(root)
                if name.parts[0] not in without:
                    made.update(f"{package.__name__}/{name.as_posix()}".encode() + path.read_bytes())
    return made.hexdigest()
