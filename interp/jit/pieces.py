"""What a loop is in doubt of: the loop again over halves, and the closures for the small pieces that hold the elements.

A doubt is rare (one of some million elements), and a chunk is large: so it costs little more than the loop itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.interp.jit.loops import FastLoop

Array = Any

PIECE = 1 << 15
"""Elements from which on the closures cost less than looking for the one in doubt."""


def settle(
    loop: FastLoop, shape: tuple[int, ...], operands: Sequence[Array], cut: Sequence[bool], results: Sequence[Array],
    exact: Callable[[Sequence[Array]], Sequence[Array]],
) -> None:
    """Fill `results`, arrays of a shape of which the loop is in doubt somewhere.

    `cut`: which operands have the first axis. `exact` gives the results for parts of operands along that axis.
    """
    row = max(math.prod(shape[1:]), 1)
    todo = [(0, shape[0], True)]  # parts, and whether the loop is known to be in doubt there
    while todo:
        low, high, doubtful = todo.pop()
        own = [x[low:high] if c else x for x, c in zip(operands, cut, strict=True)]
        goals = [x[low:high] for x in results]
        if not doubtful and loop((high - low, *shape[1:]), own, (), goals) is not None:
            continue
        if high - low == 1 or (high - low) * row <= PIECE:
            for goal, value in zip(goals, exact(own), strict=True):
                goal[...] = value
            continue
        middle = (low + high) // 2
        todo += [(low, middle, False), (middle, high, False)]
