"""Kernels as notebooks show them: the source, what was decided, and the Tile IR, as HTML without scripts.

The page of `tilewright explore` has more. Nothing here sets a colour, so that it can be read in light and dark
notebooks alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path

from tilewright.tileir.diagnostics import NO_SPAN, TileError
from tilewright.tileir.plan import Decision

# What scrolls must be reached by the keyboard, and then says what it is.
_PRE = ('tabindex="0" role="group" aria-label="{}" '
        'style="margin: 4px 0; white-space: pre; overflow-x: auto; text-align: left"')


def of_kernel(name: str, hints: object, function: object) -> str:
    """A kernel without arguments: its source and options, and how to see more. `function`: None where it has none."""
    name = escape(name)
    options = [f"{key}={value!r}" for key, value in _chosen(hints)]
    head = f"<strong>tile_kernel {name}</strong>" + (f" ({escape(', '.join(options))})" if options else "")
    more = f"{name}.lower(*arguments) shows what becomes of it for arguments, {name}[grid](*arguments) runs it."
    return _box(head, _source(function, ()), f"<div><small>{more}</small></div>")


def of_stages(
    name: str, target: str, function: object, decide: Callable[[], Sequence[Decision]], text: Callable[[], str]
) -> str:
    """A kernel for arguments and a target: source with decisions at their lines, other decisions, Tile IR; or the
    error of what does not compile."""
    head = f"<strong>{escape(name)}</strong> for {escape(target)}"
    try:
        made, ir = decide(), text()
    except TileError as error:
        return _box(head, _source(function, ()), _text("Error", escape(str(error))))
    items = "".join(f"<li>{escape(str(one))}</li>" for one in made if one.span is NO_SPAN)
    return _box(head, _source(function, made), _folded("Decisions", f"<ul>{items}</ul>", opened=True),
                _folded(f"Tile IR, {len(ir.splitlines())} lines", _text("Tile IR", escape(ir))))


def _chosen(record: object) -> Iterable[tuple[str, object]]:
    """The fields of a record that differ from their defaults."""
    for field in fields(record):  # type: ignore[arg-type]
        value = getattr(record, field.name)
        if value != field.default:
            yield field.name, value


def _source(function: object, made: Sequence[Decision]) -> str:
    """The source, with the decisions about a line below it; nothing where it cannot be had."""
    try:
        lines, first = inspect.getsourcelines(function)  # type: ignore[arg-type]
        file = inspect.getsourcefile(function) or ""  # type: ignore[arg-type]
    except (OSError, TypeError):
        return ""
    out = []
    for number, line in enumerate(lines, first):
        out.append(f'<span style="opacity: 0.75">{number:4}</span>  {escape(line.rstrip())}\n')
        indent = " " * (len(line) - len(line.lstrip()) + 6)
        out += [f"<em>{indent}{escape(str(one))}</em>\n" for one in made
                if one.span.line == number and Path(one.span.file) == Path(file)]
    return _text("Source", "".join(out))


def _text(name: str, lines: str) -> str:
    return f"<pre {_PRE.format(name)}>{lines}</pre>"


def _folded(title: str, inside: str, opened: bool = False) -> str:
    return f"<details{' open' * opened}><summary>{escape(title)}</summary>{inside}</details>"


def _box(*parts: str) -> str:
    return f'<div style="text-align: left; font-size: 90%">{"".join(parts)}</div>'
