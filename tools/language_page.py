"""The function reference of docs/language.md, made from the stubs' signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from typing import Any

import language_table

import tilewright as ct
from tilewright.language import Array, Tile, TiledView
from tilewright.language.raw import RawArrayMemory

START = "<!-- generated from the stubs: run the tests with --update-golden -->\n"
OWNERS = {c.__name__: c for c in (Tile, Array, TiledView, RawArrayMemory)}
PARTS = ("operators", "functions of one tile", "index space", "memory", "atomics", "factories", "matrix products",
         "shapes and conversions", "reductions and scans", "compile time", "output", "dependent launch", "methods")


def stub(name: str) -> Any:
    owner, _, member = name.rpartition(".")
    return getattr(OWNERS[owner] if owner else ct, member, None)


def signature(name: str, function: Any) -> str:
    """The parameters without their types: `load(array, /, index, shape, *, order='C', ...)`."""
    if not inspect.isfunction(function):
        return name
    parameters = [p.replace(annotation=p.empty) for p in inspect.signature(function).parameters.values()]
    text = str(inspect.Signature(parameters))
    return name + re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)


def entry(name: str) -> str:
    function = stub(name)
    return f"#### `{signature(name, function)}`\n\n{inspect.getdoc(function)}\n"


def reference() -> str:
    parts = []
    for part in PARTS:
        names = [n for n in language_table.CONTRACT[part].split() if stub(n) is not None]
        parts.append(f"### {part.capitalize()}\n\n" + "\n".join(entry(n) for n in names))
    listed = {name for names in language_table.CONTRACT.values() for name in names.split()}
    added = [n for n in ct.language.__all__ if n not in listed and hasattr(stub(n), "__tilewright_builtin__")]
    parts.append("### Additions\n\n" + "\n".join(map(entry, added)))
    return START + "\n" + "\n".join(parts)
