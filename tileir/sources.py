"""The source files of packages of ours, by which caches know the program that filled them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator
from importlib.util import find_spec

Found = tuple[str, "os.DirEntry[str]"]
"""A file: its name, with that of its package, and where it is."""


def files(packages: Collection[str], without: Collection[str] = ()) -> Iterator[Found]:
    """The source files of packages, but those in folders `without`, each once. No package is imported."""
    roots: list[str] = []
    for package in packages:
        spec = find_spec(package)
        for root in (spec.submodule_search_locations if spec is not None else None) or ():
            if not any(root.startswith(f"{other}{os.sep}") for other in roots):
                roots.append(root)
                yield from sorted(_walk(root, package, without), key=lambda found: found[0])


def _walk(folder: str, name: str, without: Collection[str]) -> Iterator[Found]:
    for entry in os.scandir(folder):
        inside = f"{name}/{entry.name}"
        if entry.name.endswith(".py"):
            yield inside, entry
        elif "." not in entry.name and entry.name not in without and entry.is_dir():
            yield from _walk(entry.path, inside, without)


def digest(packages: Collection[str], without: Collection[str] = ()) -> str:
    """A digest of the contents of these files."""
    made = hashlib.sha256()
    for name, entry in files(packages, without):
        with open(entry.path, "rb") as file:
            made.update(name.encode() + file.read())
    return made.hexdigest()
