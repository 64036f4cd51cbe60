"""Printing, assertions, and hints to the launch."""

from __future__ import annotations

from typing import Any

from tilewright.language.builtin import builtin

__all__ = [
    "print", "printf", "assert_", "grid_dependency_control_wait", "grid_dependency_control_launch_dependents",
]


@builtin("print")
def print(*args: Any, sep: str = " ", end: str = "\n") -> None:
    """Print values, once per block. Python's `print` is the same.

    Arguments: any values. Strings appear as they are, constants as Python shows them, integers and bools in decimal
        (True is 1), floats with six digits, tiles in nested brackets, tuples, enums and dataclasses as Python shows
        them, by their own `__str__` or `__repr__` where they have one. An f-string formats every element of a tile:
        `f"{t:8.3f}"`, by a format [<][+][#][0][width][.digits][letter] with letter one of d i o u x X for integers,
        e f g a (and capitals) for floats. `sep` and `end` are constant strings.
    Result: text on `sys.stdout`, from a GPU on the process' standard output (file descriptor 1). The order of blocks is
        unspecified. A GPU prints up to 4096 elements a call, and shows them when the stream is synchronised.
    Errors: TileTypeError for a format that does not fit its value, and another keyword.

    Example:
        t = ct.arange(4, dtype=ct.float32)
        print("block", ct.bid(0), t)              # block 0 [0.000000, 1.000000, 2.000000, 3.000000]
        print(f"{t:.1f} of {t.shape}", end=".")   # [0.0, 1.0, 2.0, 3.0] of (4,).
        print(f"{t:d}")                           # TileTypeError
    """


@builtin("printf")
def printf(fmt: str, /, *tiles: Any) -> None:
    """Print by a C format.

    Arguments: `fmt`, a constant string with %d %i %o %u %x %X for integers and bools, %e %f %g %a (and capitals) for
        floats, each with flags, width, precision and hh h l ll (hh and h cut to 8 and 16 bits), and %% for a percent
        sign; one value per conversion. A tile prints in brackets, each element by its conversion.
    Result: text as that of `print`, without a line end of its own.
    Errors: TileTypeError for a wrong number of values, a conversion that does not fit its value, and %s.

    Example:
        ct.printf("%d: %5.2f\\n", ct.bid(0), ct.exp(ct.arange(2, dtype=ct.float32)))   # 0: [ 1.00,  2.72]
        ct.printf("%d", 0.5)                      # TileTypeError
    """


@builtin("assert_")
def assert_(cond: Any, /, message: str | None = None) -> None:
    """Stop the program unless every element is True.

    Arguments: `cond`, a bool tile or number; `message`, a string, or an f-string. Of tiles in it, which broadcast to
        `cond`, it shows the element at the first place where `cond` is False; it is evaluated only there.
    Result: nothing, or the end: one line with the message on the standard output, and in the interpreter
        TileAssertionError, which names the block. On a GPU the kernel traps: the next call that synchronises fails, and
        the process can launch nothing more.
    Errors: TileTypeError unless `cond` is bool; TileAssertionError while the interpreter runs.

    Example:
        t = ct.arange(4, dtype=ct.int32)
        print("checked")                          # checked
        ct.assert_(t >= 0, "a negative length")
        ct.assert_(t > 0, "an empty row")         # TileAssertionError
        ct.assert_(t != 2, f"length {t} is even") # TileAssertionError
        ct.assert_(t)                             # TileTypeError
    """


@builtin("grid_dependency_control_wait")
def grid_dependency_control_wait() -> None:
    """Wait for the kernels that this launch depends on. Nothing is left to wait for: where a launch starts before they
    have ended (the hint `programmatic_dependent_launch`), the compiler waits before the first access to memory.

    Result: nothing.
    Errors: TileTypeError for any argument.

    Example:
        ct.grid_dependency_control_wait()
        print("after all earlier kernels")        # after all earlier kernels
    """


@builtin("grid_dependency_control_launch_dependents")
def grid_dependency_control_launch_dependents() -> None:
    """Allow the kernels that depend on this one to start early: a hint, which is ignored, as the compiler does so by
    itself in kernels with the hint `programmatic_dependent_launch`.

    Result: nothing.
    Errors: TileTypeError for any argument.

    Example:
        ct.grid_dependency_control_launch_dependents()
        print("the tail of this kernel")          # the tail of this kernel
    """
