"""Launches on host arrays that were made before with arguments of the same kinds: what was checked is not again.

A launch's key has all that checks and specialisations depend on: dtypes, shapes, strides and writability of arrays,
types of numbers, values of constants. What remains is to see that no two arrays have come to share memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.arguments.bind import Argument, ArrayArgument, Const, Scalar
from tilewright.interp.arrays import byte_range, ref_of
from tilewright.interp.formats import constant, format_of
from tilewright.interp.program import Program
from tilewright.launching.host import interpreter_value
from tilewright.tileir.dtypes import DType

_MAX_PLANS = 4096
_NUMBERS = (int, float, bool)
_INT_LOW, _INT_HIGH = -(1 << 31), (1 << 31) - 1
Binder = Callable[[Any], Any]


class HostPlans:
    """The programs of one kernel that ran before, by the kinds of their arguments. `constants`: which are constants."""

    def __init__(self, constants: Sequence[bool]) -> None:
        self._constants = constants
        self._plans: dict[Any, tuple[Program, list[Binder | None]]] = {}

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> bool:
        """Run, if arguments of these kinds ran before; False if not."""
        key = self._key(args)
        plan = None if key is None else self._plans.get(key)
        if plan is None:
            return False
        program, binders = plan
        bound = [bind(arg) for bind, arg in zip(binders, args, strict=True) if bind is not None]
        if _meet([byte_range(ref) for ref in bound if not isinstance(ref, np.generic)]):
            return False
        program.run_apart(grid, bound)
        return True

    def remember(self, args: Sequence[Any], arguments: Sequence[Argument], program: Any) -> None:
        """These arguments ran, and no two arrays of them share memory."""
        key = self._key(args)
        if key is None or type(program) is not Program or len(arguments) != len(args):
            return
        binders = [_binder(argument) for argument in arguments]
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[key] = program, binders

    def _key(self, args: Sequence[Any]) -> Any:
        """What tells launches apart; None for arguments of other kinds."""
        key: list[Any] = []
        for arg, is_constant in zip(args, self._constants, strict=True):
            kind = type(arg)
            if kind is np.ndarray and not is_constant:
                key += (arg.dtype, arg.shape, arg.strides, arg.flags.writeable)
            elif kind not in _NUMBERS:
                if kind is not DType and not (is_constant and arg is None):
                    return None
                key.append(arg)
            elif is_constant:
                key += (kind, arg.hex() if kind is float else arg)
            elif kind is int and not _INT_LOW <= arg <= _INT_HIGH:
                return None
            else:
                key.append(kind)
        return tuple(key)


def _binder(argument: Argument) -> Binder | None:
    """From an argument to what a register of the program holds; None for a constant, which has none."""
    if isinstance(argument, Const):
        return None
    if isinstance(argument, ArrayArgument):
        name, memory = argument.name, format_of(argument.info.dtype).memory
        return lambda array: ref_of(array, memory, name)
    assert isinstance(argument, Scalar)
    dtype, name = argument.dtype, argument.name
    return lambda value: constant(interpreter_value(Scalar(name, dtype, value)), dtype)


def _meet(ranges: list[tuple[int, int]]) -> bool:
    """Do the bytes of two arrays meet?"""
    end = 0
    for low, high in sorted(ranges):
        if low < high:
            if low < end:
                return True
            end = high
    return False
