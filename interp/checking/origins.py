"""Where undefined values come from: a number for each op whose result may be undefined, and for each array that was
declared uninitialised. Shadows of values and of memory hold these numbers, 0 for what is defined. What is read of such
an array has a number of the op that reads it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import Span

SHADOW = np.dtype(np.uint16)
_MOST = np.iinfo(np.uint16).max


class Origins:
    """The numbers of one function: those of its ops, of its ops as readers, then of its parameters.

    What depends on several undefined values has the largest of their numbers. Ops are counted from the last to the
    first, so that it is the one that comes first."""

    def __init__(self, function: Function) -> None:
        self._ops: Sequence[Op] = list(function.walk())[::-1]
        self._numbers = {op: n + 1 for n, op in enumerate(self._ops)}

    def of(self, op: Op) -> int:
        """The number of what an op makes undefined."""
        return min(self._numbers[op], _MOST)

    def of_reading(self, op: Op) -> int:
        """The number of what an op reads of memory that nothing has written."""
        return min(len(self._ops) + self._numbers[op], _MOST)

    def of_array(self, position: int) -> int:
        """The number of what a parameter's memory holds before the launch."""
        return min(2 * len(self._ops) + 1 + position, _MOST)

    def span(self, number: int) -> Span | None:
        """The source line of an op; None for an array."""
        if number > min(2 * len(self._ops), _MOST - 1):
            return None
        return self._ops[(number - 1) % len(self._ops)].span

    def words(self, number: int) -> str:
        """What is undefined."""
        if number > len(self._ops):
            return "memory that nothing has written"
        return _WORDS.get(self._ops[number - 1].opcode, "an undefined result")


_WORDS = {
    "load": "padding that the load leaves undetermined", "extract": "a sub-tile outside of the tile",
    "floordiv": "a division by zero", "cdiv": "a division by zero", "mod": "a division by zero",
    "shl": "a shift by a count outside of 0 to the width - 1",
    "shr": "a shift by a count outside of 0 to the width - 1",
    "gather": "padding that the access leaves undetermined",
    "atomic_rmw": "the old value of an element that is not accessed",
}
