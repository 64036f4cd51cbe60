"""Launches that are recorded in the place of being run, while a function that launches kernels is traced."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class RecordedLaunch(NamedTuple):
    """A launch that was not run: whose it is (a Launcher), its grid as it was given, and one value per parameter."""

    launcher: Any
    grid: Any
    args: tuple[Any, ...]


class _Traced(threading.local):
    launches: list[RecordedLaunch] | None = None


_TRACED = _Traced()


@contextmanager
def collected() -> Iterator[list[RecordedLaunch]]:
    """In this context `record` takes the launches of this thread; the list has them, in their order."""
    before, _TRACED.launches = _TRACED.launches, []
    try:
        yield _TRACED.launches
    finally:
        _TRACED.launches = before


def record(launcher: Any, grid: Any, args: tuple[Any, ...]) -> bool:
    """Record a launch; False where launches run."""
    launches = _TRACED.launches
    if launches is None:
        return False
    launches.append(RecordedLaunch(launcher, grid, args))
    return True


def is_recording() -> bool:
    """Whether launches are recorded now."""
    return _TRACED.launches is not None


class UnboundLaunch:
    """What `kernel[grid]` gives while launches are recorded: the grid may have sizes that are symbols."""

    def __init__(self, launcher: Any, grid: Any) -> None:
        self._launcher = launcher
        self._grid = grid

    def __call__(self, *args: Any, stream: Any = None, **named: Any) -> None:
        record(self._launcher, self._grid, self._launcher.call.complete(args, named))


NOT_TRACED = ("a launch cannot be traced by torch.compile; make the function that launches the kernel an operator, "
              '@tw.torch.op("my::name"), and call that')

_OURS = ("arguments", "backend_ptx", "frontend", "interp", "launching", "tileir")
_kept_apart = False


def keep_apart_from_dynamo() -> None:
    """Let torch.compile leave the frames of a launch alone, which it meets where a launch stands between two graphs."""
    global _kept_apart
    rules = None if _kept_apart else sys.modules.get("torch._dynamo.trace_rules")
    if rules is not None and hasattr(rules, "add"):
        _kept_apart = True
        for package in _OURS:
            rules.add(f"tilewright.{package}")


def not_traced(function: F) -> F:
    """Mark a function that torch.compile does not trace into: it says so with fullgraph=True, else calls it between two
    graphs. The marks are those that torch.compiler.disable sets; torch need not be there."""
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = NOT_TRACED  # type: ignore[attr-defined]
    return function
