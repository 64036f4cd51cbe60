"""A stretch of a long bit string at a run-time position: the bits of 2/pi that an argument needs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tilewright.backend_ptx.mathlib.vec import Vec, like, where


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
        choices = [
            where(taken, choices[i + step], choice) if i + step < len(choices) else choice
            for i, choice in enumerate(choices[: step - 1 + needed])
        ]
        step //= 2
    return [a.intrinsic("llvm.fshl", c, shift) for a, c in itertools.pairwise(choices)]
