"""From Python to machine code: a callable that has launched often enough gets a function that knows its launches."""

from __future__ import annotations

import sys
import weakref
from array import array
from collections.abc import Callable
from functools import partial
from typing import Any

from tilewright.launching.held import HELD

_AT_FIRST = 16  # launches by Python before the first look for machine code; twice as many before the next one
_PATIENCE = 2  # looks, before LLVM is loaded for it
_BETWEEN = 8
_RARELY = 4096
_MOST = 32  # launches known to one function: a model's products differ in shape more than eight times
_FREE = array("i", [0] * len(HELD))


class Learner:
    """Counts the launches that Python makes for a callable, and teaches it those that it can know.

    `callable` is a functools.partial, whose function is exchanged; `fallback` is the one that it has at first, which
    the new one calls for all that it does not know. `also` gets a function that makes known launches while others are
    held, and answers with the KnownLaunch, and False to the rest.
    """

    __slots__ = ("_callable", "_fallback", "_name", "_also", "_left", "_wait", "_looks", "_known")

    def __init__(
        self, function: partial[None], fallback: Callable[..., None], name: str,
        also: Callable[[Any], None] | None = None,
    ) -> None:
        self._callable = weakref.ref(function)
        self._fallback = fallback
        self._name = name
        self._also = also
        self._left = _AT_FIRST
        self._wait = _BETWEEN
        self._looks = 0
        self._known: list[Any] = []

    @property
    def latest(self) -> Any:
        """The launch that was learnt last, None before the first."""
        return self._known[0] if self._known else None

    def is_time(self) -> bool:
        """To be asked at each launch by Python: whether to look now at what it was."""
        self._left -= 1
        return not self._left

    def learn(self, describe: Callable[[], Any]) -> None:
        """Take in a launch that Python has made; `describe` gives it as a KnownLaunch, None for none, and raises
        Unknown where there can be none."""
        from tilewright.launching import native
        from tilewright.launching.words import Unknown, chained

        if not native.possible():
            return  # and never again: the count goes below 0
        try:
            known = describe()
        except Unknown:
            return
        self._left = _AT_FIRST
        if known is None:
            return
        if not native.ready() and not native.find():
            self._looks += 1
            self._left = _AT_FIRST << min(self._looks, 8)
            if self._looks >= _PATIENCE or "llvmlite" in sys.modules:
                native.build_soon()
            return
        if len(self._known) >= _MOST:
            self._wait = min(2 * self._wait, _RARELY)  # new ones in every launch
        self._left = self._wait
        function: Any = self._callable()
        if function is None:
            return
        self._known = [known, *self._known[: _MOST - 1]]
        address, kept = chained(self._known, self._fallback, HELD)
        # The new function is made of new words, so that one that runs now, in any thread, keeps its own.
        function.__setstate__((native.builtin(self._name, address, kept), (), {}, vars(function)))
        if self._also is not None:
            address, kept = chained(self._known, _refuse, _FREE, tell=True)
            self._also(native.builtin(self._name, address, kept))


def _refuse(*args: Any, stream: Any = None, **named: Any) -> bool:
    return False
