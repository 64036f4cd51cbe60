"""Where undefined values come from: a number for each op whose result may be undefined, and for each array that was
declared uninitialised. Shadows of values and of memory hold these numbers, 0 for what is defined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tilewright.tileir.core import Function, Op
from tilewright.tileir.diagnostics import Span

SHADOW = np.dtype(np.uint16)
_MOST = np.iinfo(np.uint16).max


class Origins:
    """The numbers of one function: those of its ops in order, then those of its parameters."""

    def __init__(self, function: Function) -> None:
        self._ops: Sequence[Op] = list(function.walk())
        self._numbers = {op: min(n + 1, _MOST) for n, op in enumerate(self._ops)}

    def of(self, op: Op) -> int:
        return self._numbers[op]

    def of_array(self, position: int) -> int:
        """The number of what a parameter's memory holds before the launch."""
        return min(len(self._ops) + 1 + position, _MOST)

    def span(self, number: int) -> Span | None:
        """The source line of an op; None for an array."""
        return self._ops[number - 1].span if number <= len(self._ops) else None

    def words(self, number: int) -> str:
        """What is undefined."""
        if number > len(self._ops):
            return "memory that nothing has written"
        return _WORDS.get(self._ops[number - 1].opcode, "an undefined result")


_WORDS = {
    "load": "padding that the load leaves undetermined", "extract": "a sub-tile outside of the tile",
    "floordiv": "a division by zero", "cdiv": "a division by zero", "mod": "a division by zero",
    "atomic_rmw": "the old value of an element that is not accessed",
}
