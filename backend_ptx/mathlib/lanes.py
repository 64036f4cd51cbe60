"""Rare work: code that runs only in threads that own a lane in need of it, one lane at a time."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.backend_ptx.llvm.builder import Builder, Val
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
    b = x.b
    before, rare, after = b.block, b.label("rare"), b.label("common")
    b.cbr(needed(x).val, rare, after)
    b.start(rare)
    new = slow(x).val
    end = b.block
    b.br(after)
    b.start(after)
    return _join(b, (fast, before), (new, end))


def _loop(needed: Callable[[Vec], Vec], slow: Callable[[Vec], Vec], x: Vec, fast: Val) -> Val:
    """N turns; each one does lane 0 and rotates the vectors: an index would need a copy in local memory."""
    b, n = x.b, x.val.n
    any_lane = any_of(b, needed(x).val)
    before, body, after = b.block, b.label("rare"), b.label("common")
    b.cbr(any_lane, body, after)
    b.start(body)
    turn, source, target = b.phi("i32"), b.phi(x.elem, n), b.phi(fast.elem, n)
    lane = Vec(b, b.extract(source.value, 0))
    old = Vec(b, b.extract(target.value, 0))
    new = where(needed(lane), slow(lane), old)
    rotated = [*range(1, n), 0]
    next_turn = b.add(turn.value, 1)
    next_source = b.shuffle(source.value, rotated)
    next_target = b.shuffle(b.insert(target.value, new.val, 0), rotated)
    end = b.block
    b.cbr(b.icmp("ult", next_turn, n), body, after)
    for phi, first, following in (
        (turn, b.const("i32", 0), next_turn), (source, x.val, next_source), (target, fast, next_target),
    ):
        phi.add(first, before)
        phi.add(following, end)
    b.start(after)
    return _join(b, (fast, before), (next_target, end))


def _join(b: Builder, *arrivals: tuple[Val, str]) -> Val:
    """The value that arrives from one of several blocks."""
    phi = b.phi(arrivals[0][0].elem, arrivals[0][0].n)
    for value, block in arrivals:
        phi.add(value, block)
    return phi.value


def any_of(b: Builder, condition: Val) -> Val:
    """Whether a lane of <N x i1> is set, as a scalar i1."""
    while condition.n > 1 and condition.n % 2 == 0:
        half = condition.n // 2
        condition = b.or_(b.shuffle(condition, range(half)), b.shuffle(condition, range(half, 2 * half)))
    found = b.extract(condition, 0)
    for i in range(1, condition.n):
        found = b.or_(found, b.extract(condition, i))
    return found
