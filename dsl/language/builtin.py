"""`@builtin`: what marks a stub as a function of the kernel language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def builtin(name: str, *, host: bool = False) -> Callable[[F], F]:
    """Make a documented stub the language's function `name`; the frontend knows it by this mark.

    On the host a stub raises RuntimeError, unless `host` says that its body works there too.
    """

    def mark(stub: F) -> F:
        if host:
            stub.__tilewright_builtin__ = name  # type: ignore[attr-defined]
            return stub

        @functools.wraps(stub)
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise RuntimeError(
                f"{stub.__qualname__} works on tiles inside a kernel; it cannot be called on the host. "
                "Write a function decorated with @tile_kernel and launch it over a grid: kernel[grid](...)"
            )

        refuse.__tilewright_builtin__ = name  # type: ignore[attr-defined]
        return refuse  # type: ignore[return-value]

    return mark
