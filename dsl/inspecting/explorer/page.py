"""The page of the explorer: what is shown, as JSON, inside a template with its style and script."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.inspecting.deciding import decisions_of
from tilewright.inspecting.explorer.places import Numbering
from tilewright.inspecting.explorer.runs import launched
from tilewright.inspecting.explorer.stages import Text, texts
from tilewright.inspecting.explorer.views import views
from tilewright.launching.grid import make_grid
from tilewright.tileir.diagnostics import NO_SPAN

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel
    from tilewright.tileir.plan import Decision

SCRIPTS = ("base.js", "code.js", "pictures.js", "layouts.js", "accesses.js", "resources.js",
           "pipeline.js", "roofline.js", "run.js", "fused.js", "start.js")


def page(
    kernel: tile_kernel, args: tuple[Any, ...], target: str | None, told: str = "",
    grid: Sequence[int] | None = None, run: bool = False, beside: dict[str, Any] | None = None,
) -> str:
    """The page of a kernel for these arguments, as HTML. `told`: the arguments in the user's words. `grid`: for the map
    of what each block accesses and the roofline. `run`: launch it over that grid too, on the GPU if there is one.
    `beside`: views that whoever made the kernel adds, by name."""
    size = None if grid is None else make_grid(tuple(grid)).size
    stages = kernel.lower(*args, target=target, lineinfo=True)
    name, decisions = stages.target.name, decisions_of(stages)
    number = Numbering()
    shown = views(stages, number, size) | (beside or {})
    if run:
        shown["run"] = launched(kernel, args, size)
    return render(kernel.__name__, name, told, list(texts(stages)), decisions, shown, number)


def render(
    kernel: str, target: str, told: str, stages: Sequence[Text], decisions: Sequence[Decision],
    shown: dict[str, Any] | None = None, number: Numbering | None = None,
) -> str:
    """The page of these texts and of what `views` gave, with the places that it numbered. Nothing in it asks the
    network for anything."""
    data = as_data(stages, decisions, number or Numbering()) | {"views": shown or {}}
    pieces = {
        "title": html.escape(f"{kernel} for {target}"),
        "arguments": html.escape(told),
        "style": piece("style.css"),
        "script": "\n".join(map(piece, SCRIPTS)),
        # Inside a script element only its end tag and comments have a meaning.
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
    }
    text = piece("page.html")
    for key, value in pieces.items():
        text = text.replace(f"<!--{key}-->", value)
    return text


def piece(name: str) -> str:
    """A part of the template."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def as_data(stages: Sequence[Text], decisions: Sequence[Decision], number: Numbering) -> dict[str, Any]:
    """What the script reads. A place is a list of [file, line], both numbers, the innermost first; the lines of stages
    refer to places by number, -1 where they have none."""
    shown = [{"kind": text.kind, "name": text.name, "lines": text.lines, "at": [number(c) for c in text.chains],
              "changes": text.changes, "missing": text.missing} for text in stages]
    made = [{"name": d.name, "value": str(d.value), "reason": d.reason,
             "at": -1 if d.span is NO_SPAN else number(((d.span.file, d.span.line),))} for d in decisions]
    return {
        "files": [{"name": Path(path).name, "lines": _source(path)} for path in number.files],
        "places": [[[number.files[path], line] for path, line in chain] for chain in number.chains],
        "stages": shown, "decisions": made,
    }


def _source(path: str) -> list[str]:
    """The lines of a file; none where it is no file, as for code typed into an interpreter."""
    import linecache

    return [line.rstrip("\n") for line in linecache.getlines(path)]
