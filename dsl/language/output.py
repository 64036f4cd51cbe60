"""Printing, assertions, and hints to the launch."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin

__all__ = [
    "print", "printf", "assert_", "grid_dependency_control_wait", "grid_dependency_control_launch_dependents",
]


@builtin("print")
def print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Print numbers, tiles (in brackets), strings and f-strings, once per block."""


@builtin("printf")
def printf(fmt: str, /, *tiles: Any) -> None:
    """Print by a C format; a tile prints in brackets with the format per element."""


@builtin("assert_")
def assert_(cond: Any, /, message: str | None = None) -> None:
    """Abort the program with `message` if any element of a bool tile is False."""


@builtin("grid_dependency_control_wait")
def grid_dependency_control_wait() -> None:
    """Wait for the kernels that this launch depends on. Launches here start after them anyway: nothing to do."""


@builtin("grid_dependency_control_launch_dependents")
def grid_dependency_control_launch_dependents() -> None:
    """Let dependent kernels start early: a hint, ignored here."""
