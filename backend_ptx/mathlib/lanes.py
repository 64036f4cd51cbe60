"""Rare work: code that runs only in threads that own a lane in need of it, one lane at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.mathlib.vec import Vec, where


def rare_lanes(needed: Callable[[Vec], Vec], slow: Callable[[Vec], Vec], x: Vec, fast: Vec) -> Vec:
    """`fast`, but slow(x) in the lanes where needed(x) holds.

    A thread without such a lane skips the slow code by one branch. The others run it in a loop over their lanes, so
    that it stands once in the program, however long the vector is.
    """
    b = x.b
    if x.val.n > 1:
        return Vec(b, _loop(needed, slow, x, fast.val))
    lane = Vec(b, b.extract(x.val, 0))
    result = _branch(needed, slow, lane, b.extract(fast.val, 0))
    return Vec(b, b.vector([result]) if x.val.n else result)


def _branch(needed: Callable[[Vec], Vec], slow: Callable[[Vec], Vec], x: Vec, fast: Val) -> Val:
    """The scalar case."""
    before = x.b.block
    with x.b.when(needed(x).val, "rare"):
        new, end = slow(x).val, x.b.block
    return x.b.join([(fast, before), (new, end)])


def _loop(needed: Callable[[Vec], Vec], slow: Callable[[Vec], Vec], x: Vec, fast: Val) -> Val:
    """N turns; each one does lane 0 and rotates the vectors: an index would need a copy in local memory."""
    b, n = x.b, x.val.n
    rotated = [*range(1, n), 0]

    def turn(values: Sequence[Val]) -> tuple[Val, Sequence[Val]]:
        number, source, target = values
        lane, old = Vec(b, b.extract(source, 0)), Vec(b, b.extract(target, 0))
        new = where(needed(lane), slow(lane), old)
        following = b.add(number, 1)
        lanes = b.shuffle(source, rotated), b.shuffle(b.insert(target, new.val, 0), rotated)
        return b.icmp("ult", following, n), [following, *lanes]

    start = [b.const("i32", 0), x.val, fast]
    return b.join(b.repeat(b.reduced(needed(x).val, b.or_), start, turn, ("rare", "common"))[-1])
