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
from tilewright.launching.held import hold
from tilewright.launching.launcher import Launcher

Launch = Callable[[Launcher, Any, tuple[Any, ...], Any], Any]
Watcher = Callable[[Launch, Launcher, Any, tuple[Any, ...], Any], Any]
"""Called as watcher(launch, launcher, grid, args, stream) in the place of a launch, which it makes by
`launch(launcher, grid, args, stream)`; it gives back what that gives."""

PLAIN = Launcher.launch.__code__
"""The code of a launch that nobody watches."""

_lock = threading.Lock()
_watchers: list[Watcher] = []


def _plain() -> Any:
    """A launch that nobody sees."""
    launch: Any = Launcher.launch
    return types.FunctionType(PLAIN, launch.__globals__, launch.__name__, launch.__defaults__, launch.__closure__)


def watch(watcher: Watcher) -> None:
    """From now on every launch, of any thread, goes through `watcher`; the one that came last sees it first."""
    with _lock:
        _watchers.append(watcher)
        _install()


def unwatch(watcher: Watcher) -> None:
    """No longer. With the last one the launch has its own code back."""
    with _lock:
        _watchers.remove(watcher)
        _install()


def _install() -> None:
    launch: Launch = _plain()
    for watcher in _watchers:
        launch = functools.partial(watcher, launch)
    function: Any = Launcher.launch
    if _watchers:
        launcher.watched_launch = launch
        hold(watched=True)
        function.__code__ = launcher.WATCHED
    else:
        function.__code__ = PLAIN
        hold(watched=False)
