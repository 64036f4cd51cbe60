"""sin, cos and tan of a format, from what differs between the formats; the bits of 2/pi that an argument needs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.mathlib.lanes import rare_lanes
from tilewright.backend_ptx.mathlib.vec import Vec, fma, like, where

Quadrant = Callable[[Vec, Vec], Vec]


@dataclass(frozen=True)
class Trigonometry:
    """The formulas for every finite argument x = q * pi/2 + r with |r| <= pi/4; of q the two low bits mean something.

    `pio2` is pi/2 as three numbers, all positive, so that the remainder of -0 is -0; with fma the first difference is
    exact up to `limit`, beyond which the quotient needs more bits: there `reduce_large` gives q and r of one scalar.
    `magic`: a number of small magnitude added to it is rounded to an integer, which stands in the low bits. `sin` and
    `tan` are functions of q and r.
    """

    magic: float
    pio2: tuple[float, float, float]
    limit: float
    reduce_large: Callable[[Vec], tuple[Vec, Vec]]
    sin: Quadrant
    tan: Quadrant

    def functions(self, small: bool = False) -> dict[str, Callable[[Vec], Vec]]:
        """The formulas by name; `small`: for arguments up to `limit` alone."""
        quadrants: dict[str, Quadrant] = {"sin": self.sin, "cos": lambda q, r: self.sin(q + 1, r), "tan": self.tan}
        return {name: self._formula(function, small) for name, function in quadrants.items()}

    def _formula(self, function: Quadrant, small: bool) -> Callable[[Vec], Vec]:
        def formula(x: Vec) -> Vec:
            fast = function(*self._reduce(x))
            if small:
                return fast
            return rare_lanes(lambda v: abs(v).gt(self.limit), lambda v: function(*self.reduce_large(v)), x, fast)

        return formula

    def _reduce(self, x: Vec) -> tuple[Vec, Vec]:
        shifted = fma(x, 2.0 / math.pi, self.magic)
        whole = shifted - self.magic
        r = x
        for part in self.pio2:
            r = fma(whole, -part, r)
        return shifted.bits().cast("trunc", "i32"), r


def bit_window(position: Vec, table: Sequence[int], words: int, last: int) -> list[Vec]:
    """`words` words of the table's bits (most significant first) from bit `position` on, at most that of word `last`.

    The words are found by choices, one per bit of the word's number: a table in memory would cost every thread of the
    common path a stack frame or the module a constant bank. `position` has the width of a word.
    """
    width = int(position.elem[1:])
    shift_bits = width.bit_length() - 1
    word, shift = position.lshr(shift_bits), position & (width - 1)
    needed = words + 1
    choices: list[Vec] = [like(position, value) for value in table]
    step = 1 << last.bit_length() - 1
    while step:
        # After this step the number is below `step`, so the words up to `step - 1 + needed` matter.
        taken = (word & step).ne(0)
        choices = [where(taken, choices[i + step], choice) if i + step < len(choices) else choice
                   for i, choice in enumerate(choices[: step - 1 + needed])]
        step //= 2
    return [a.intrinsic("llvm.fshl", c, shift) for a, c in itertools.pairwise(choices)]
