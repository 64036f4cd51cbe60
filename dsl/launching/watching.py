"""Watching every launch of the process.

While somebody watches, `Launcher.launch` has other code, which hands launches to the watchers. It stays the same
function object, so that launches already bound to a grid are seen as well, and the short way has no branch for it: with
nobody watching it runs the very code that it always had.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from typing import Any

from tilewright.launching import launcher
from tilewright.launching.held import RECORDED, hold
from tilewright.launching.launcher import Launcher

Launch = Callable[[Launcher, Any, tuple[Any, ...], Any], Any]
Watcher = Callable[[Launch, Launcher, Any, tuple[Any, ...], Any], Any]
"""Called as watcher(launch, launcher, grid, args, stream) in the place of a launch, which it makes by
`launch(launcher, grid, args, stream)`; it gives back what that gives."""

Enroller = Callable[[Any, Launcher, Any, tuple[Any, ...]], None]
"""Called as enroller(known, launcher, grid, args) where machine code can make launches like this one, so that it may
record them for the watcher."""

PLAIN = Launcher.launch.__code__
"""The code of a launch that nobody watches."""

_lock = threading.Lock()
_watchers: list[tuple[Watcher, Enroller | None]] = []


def _plain() -> Any:
    """A launch that nobody sees."""
    launch: Any = Launcher.launch
    return types.FunctionType(PLAIN, launch.__globals__, launch.__name__, launch.__defaults__, launch.__closure__)


def watch(watcher: Watcher, enroller: Enroller | None = None) -> None:
    """From now on every launch, of any thread, goes through `watcher`; the one that came last sees it first. With an
    `enroller`, those that it has let machine code record do not, while nobody else watches."""
    with _lock:
        _watchers.append((watcher, enroller))
        _install()


def unwatch(watcher: Watcher) -> None:
    """No longer. With the last one the launch has its own code back."""
    with _lock:
        del _watchers[[one for one, _ in _watchers].index(watcher)]
        _install()


def enrol(known: Any, launcher: Launcher, grid: Any, args: tuple[Any, ...]) -> None:
    """Offer a launch that machine code knows to the one who watches."""
    with _lock:
        enroller = _watchers[0][1] if len(_watchers) == 1 else None
    if enroller is not None:
        enroller(known, launcher, grid, args)


def _install() -> None:
    launch: Launch = _plain()
    for watcher, _ in _watchers:
        launch = functools.partial(watcher, launch)
    function: Any = Launcher.launch
    if _watchers:
        launcher.watched_launch = launch
        hold(watched=RECORDED if len(_watchers) == 1 and _watchers[0][1] is not None else 1)
        function.__code__ = launcher.WATCHED
    else:
        function.__code__ = PLAIN
        hold(watched=0)
