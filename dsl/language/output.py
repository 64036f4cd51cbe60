"""Printing, assertions, and hints to the launch."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin

__all__ = [
    "print", "printf", "assert_", "grid_dependency_control_wait", "grid_dependency_control_launch_dependents",
]


@builtin("print")
def print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Print `args`, once per block, to the process' standard output (file descriptor 1). Python's `print` is the same.

    Strings appear as they are, constants as Python shows them, integers and bools in decimal (True is 1), floats with
    six digits, tiles in nested brackets, tuples and dataclasses as Python shows them. `sep` and `end` are constant
    strings. An f-string formats every element of a tile: f"{t:8.3f}", with formats of the form
    [<][+][#][0][width][.digits][letter], letter one of d i o u x X for integers, e f g a (and capitals) for floats.
    On a GPU the order of the blocks is open, a print has up to 4096 elements, and what a kernel has printed appears
    when its stream is synchronised.
    Raises TileTypeError where a format does not fit its value.
    """


@builtin("printf")
def printf(fmt: str, /, *tiles: Any) -> None:
    """Print by a constant C format; a tile prints in brackets, each element by its conversion.

    Conversions are %d %i %o %u %x %X for integers and bools, %e %f %g %a and capitals for floats, with flags, width,
    precision and the lengths hh h l ll (hh and h cut an integer to 8 and 16 bits), and %% for a percent sign.
    Raises TileTypeError where number or dtypes of the values do not fit.
    """


@builtin("assert_")
def assert_(cond: Any, /, message: str | None = None) -> None:
    """Abort the program with `message`, a constant string, if any element of a bool tile is False.

    One line with the message appears on the standard output. On a GPU the kernel then traps: the next call that
    synchronises fails, and the process can launch nothing more. In the interpreter TileAssertionError is raised, which
    names the block. Raises TileTypeError unless `cond` is a bool.
    """


@builtin("grid_dependency_control_wait")
def grid_dependency_control_wait() -> None:
    """Wait for the kernels that this launch depends on. Launches here start after them anyway: nothing to do."""


@builtin("grid_dependency_control_launch_dependents")
def grid_dependency_control_launch_dependents() -> None:
    """Let dependent kernels start early: a hint, ignored here."""
