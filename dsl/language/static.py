"""Python that runs while a kernel is compiled."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin

__all__ = [
    "static_eval", "static_assert", "static_iter", "ensure_constant",
]


@builtin("static_eval")
def static_eval(expression: Any, /) -> Any:
    """The expression, run once as ordinary Python while the kernel is compiled, with its constants."""


@builtin("static_assert")
def static_assert(condition: Any, message: Any = None, /) -> None:
    """Refuse to compile (TileStaticAssertionError) unless a constant condition holds."""


@builtin("static_iter")
def static_iter(iterable: Any, /) -> Any:
    """In `for x in static_iter(...)`: repeat the body for every item of a Python iterable, at most 1000."""


@builtin("ensure_constant")
def ensure_constant(x: Any, /) -> Any:
    """x, or TileStaticAssertionError where its value is not known while compiling."""
