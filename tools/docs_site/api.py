"""The page of the Python API with types: one directive for mkdocstrings for each public name."""

from __future__ import annotations

import inspect
from typing import Any

from language_page import HOST, find, parts, title

NAME = "reference/api.md"
INTRODUCTION = """# The Python API, with types

What programs call on the host, with the types of parameters and results; tile code has [the kernel
language](../language.md). Names are those of the package `tilewright` where no other module is named.
"""
MORE = {"Module tilewright.estimating": {"estimate": "tilewright.estimating.entry.estimate",
                                         "Estimate": "tilewright.estimating.result.Estimate"}}
"""Public, but not of the package itself: how a name is shown, and where it is defined."""


def path_of(name: str) -> str:
    """Where a public name is defined, as Python imports it."""
    thing: Any = find(name)
    owner, _, member = name.rpartition(".")
    if owner and inspect.isclass(find(owner)):
        return f"{path_of(owner)}.{member}"
    return f"{thing.__module__}.{thing.__qualname__}"


def directive(shown: str, path: str) -> str:
    return f'::: {path}\n    options:\n      heading: "{shown}"\n      toc_label: "{shown}"\n'


def api_page() -> str:
    """The page as Markdown, with directives that only mkdocstrings knows."""
    host = {part: {title(name): path_of(name) for name in names} for part, names in parts().items()
            if part in HOST or part.startswith("module ")}
    out = [INTRODUCTION]
    for part, paths in {**host, **MORE}.items():
        out += [f"## {part[0].upper()}{part[1:]}\n", *(directive(*item) for item in paths.items())]
    return "\n".join(out)
