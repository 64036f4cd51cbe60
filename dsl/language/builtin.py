"""`@builtin`: what marks a stub as a function of the kernel language."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tilewright.tileir.diagnostics import KernelFunctionError

F = TypeVar("F", bound=Callable[..., Any])


def builtin(name: str, *, host: bool = False, arrays: bool = False) -> Callable[[F], F]:
    """Make a documented stub the language's function `name`; the frontend knows it by this mark.

    On the host a stub raises RuntimeError, unless `host` says that its body works there too, or `arrays` that it makes
    an array there (tilewright.streams.arrays). In the Python code of static_eval, tiles and arrays have stand-ins,
    which answer for the functions that they are given to.
    """

    def mark(stub: F) -> F:
        if host:
            stub.__tilewright_builtin__ = name  # type: ignore[attr-defined]
            return stub

        @functools.wraps(stub)
        def refuse(*args: Any, **kwargs: Any) -> Any:
            for value in (*args, *kwargs.values()):
                stand_in = getattr(value, "__tilewright_call__", None)  # a tile or array in static_eval
                if stand_in is not None:
                    return stand_in(name, args, kwargs)
            if arrays:
                from tilewright.streams import arrays as on_host

                return getattr(on_host, name)(*args, **kwargs)
            raise KernelFunctionError(
                f"{stub.__qualname__} works on tiles inside a kernel; it cannot be called on the host. "
                "Write a function decorated with @tile_kernel and launch it over a grid: kernel[grid](...)", name)

        refuse.__tilewright_builtin__ = name  # type: ignore[attr-defined]
        return refuse  # type: ignore[return-value]

    return mark
