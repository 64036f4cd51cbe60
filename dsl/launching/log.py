"""TILEWRIGHT_LOG=launch: a line on the standard error for each launch."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

KINDS = ("launch",)


def wanted() -> frozenset[str]:
    """What TILEWRIGHT_LOG lists, separated by commas. Raises RuntimeError for what there is not."""
    names = [name.strip().lower() for name in os.environ.get("TILEWRIGHT_LOG", "").split(",")]
    found = frozenset(name for name in names if name not in ("", "0", "off"))
    for name in sorted(found - set(KINDS)):
        raise RuntimeError(f"TILEWRIGHT_LOG lists {name}; there is only {', '.join(KINDS)} "
                           "(TILEWRIGHT_LOGS prints stages of compilations)")
    return found


@functools.cache
def start_if_wanted() -> None:
    """Log all launches from now on, where the environment asks for it. Decided once, when the first kernel is made."""
    if "launch" in wanted():
        from tilewright.launching.watching import watch

        watch(_log)


def _log(launch: Any, launcher: Any, grid: Any, args: tuple[Any, ...], stream: Any) -> Any:
    from tilewright.tileir.events import LISTENERS, Event

    compiled: list[Event] = []
    LISTENERS.append(compiled.append)
    try:
        known = launch(launcher, grid, args, stream)
    except BaseException as error:
        _say(launcher, grid, args, compiled, f"failed: {type(error).__name__}")
        raise
    finally:
        LISTENERS.remove(compiled.append)
    _say(launcher, grid, args, compiled, "")
    return known


def _say(launcher: Any, grid: Any, args: tuple[Any, ...], events: list[Any], end: str) -> None:
    from tilewright.launching.signature import described

    name, size = launcher._specialiser.name, "x".join(map(str, grid.size))
    made = [event for event in events if event.kind == "compile" and event.name == name]
    how = ", ".join(map(_made, made)) or "compiled before"
    what, where = described(launcher, args)
    print(f"tilewright: launch {name}[{size}]({what}) on {where}: {end or how}", file=sys.stderr)


def _made(event: Any) -> str:
    from tilewright.tileir.words import duration

    seconds = duration(1e-9 * (event.end - event.start))
    return f"from the disk cache in {seconds}" if event.facts.get("cache") == "hit" else f"compiled in {seconds}"
