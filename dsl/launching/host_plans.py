"""Launches on host arrays that were made before with arguments of the same kinds: what was checked is not again.

A launch's key has all that checks and specialisations depend on: dtypes, shapes, strides and writability of arrays,
types of numbers, values of constants. What remains is to see that no two arrays have come to share memory, unless they
lie where they lay before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.arguments.bind import Argument, ArrayArgument, Const, Scalar
from tilewright.interp.arrays import ArrayRef, byte_range, ref_of
from tilewright.interp.formats import constant, format_of
from tilewright.interp.program import Program
from tilewright.launching.host import interpreter_value
from tilewright.tileir.dtypes import DType

_MAX_PLANS = 4096
_MAX_PLACES = 16  # of the arrays of one plan
_NUMBERS = (int, float, bool)
_INT_LOW, _INT_HIGH = -(1 << 31), (1 << 31) - 1
Binder = Callable[[Any], Any]


class Plan:
    """A program, and what makes the values of its registers of arguments: of arrays, and of numbers, by position."""

    def __init__(self, program: Program, arguments: Sequence[Argument]) -> None:
        self.program = program
        kept = [(k, a) for k, a in enumerate(arguments) if not isinstance(a, Const)]
        self._arrays = [(k, n, _array_binder(a)) for n, (k, a) in enumerate(kept) if isinstance(a, ArrayArgument)]
        self._numbers = [(k, n, _number_binder(a)) for n, (k, a) in enumerate(kept) if isinstance(a, Scalar)]
        self._count = len(kept)
        self._known: dict[tuple[int, ...], list[ArrayRef]] = {}

    def bound(self, args: Sequence[Any]) -> list[Any] | None:
        """The registers' values; None where two arrays share memory. What is known of arrays is their addresses:
        nothing here keeps one alive."""
        places = tuple([args[k].__array_interface__["data"][0] for k, _, _ in self._arrays])
        refs = self._known.get(places)
        if refs is None:
            refs = [bind(args[k]) for k, _, bind in self._arrays]
            if _meet([byte_range(ref) for ref in refs]):
                return None
            if len(self._known) >= _MAX_PLACES:
                self._known.clear()
            self._known[places] = refs
        out: list[Any] = [None] * self._count
        for (_, n, _), ref in zip(self._arrays, refs, strict=True):
            out[n] = ref
        for k, n, bind in self._numbers:
            out[n] = bind(args[k])
        return out


class HostPlans:
    """The programs of one kernel that ran before, by the kinds of their arguments. `constants`: which are constants."""

    def __init__(self, constants: Sequence[bool]) -> None:
        self._constants = constants
        self._plans: dict[Any, Plan] = {}

    def launch(self, grid: tuple[int, int, int], args: Sequence[Any]) -> bool:
        """Run, if arguments of these kinds ran before; False if not."""
        key = self._key(args)
        plan = None if key is None else self._plans.get(key)
        if plan is None:
            return False
        bound = plan.bound(args)
        if bound is None:
            return False
        plan.program.run_apart(grid, bound)
        return True

    def remember(self, args: Sequence[Any], arguments: Sequence[Argument], program: Any) -> None:
        """These arguments ran, and no two arrays of them share memory."""
        key = self._key(args)
        if key is None or type(program) is not Program or len(arguments) != len(args):
            return
        if len(self._plans) >= _MAX_PLANS:
            self._plans.clear()
        self._plans[key] = Plan(program, arguments)

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


def _array_binder(argument: ArrayArgument) -> Binder:
    name, memory = argument.name, format_of(argument.info.dtype).memory
    return lambda array: ref_of(array, memory, name)


def _number_binder(argument: Scalar) -> Binder:
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
