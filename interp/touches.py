"""Which parameters each op of a function accesses: the same in all launches."""

from __future__ import annotations

from functools import lru_cache

from tilewright.tileir.analysis.effects import Dependences
from tilewright.tileir.core import Function, Op


class Touches:
    """`reads` and `writes`: the positions of the parameters that an op may access, for ops that access memory.
    `accesses`: of each parameter the ops that may access it. `written`: the parameters that some op may write."""

    def __init__(self, function: Function) -> None:
        dependences = Dependences(function)
        self.reads: dict[Op, frozenset[int]] = {}
        self.writes: dict[Op, frozenset[int]] = {}
        self.accesses: dict[int, list[Op]] = {}
        for op in function.walk():
            effects = op.effects()
            if not effects.reads and not effects.writes:
                continue
            self.reads[op] = frozenset().union(*(dependences.parameters(handle) for handle in effects.reads))
            self.writes[op] = frozenset().union(*(dependences.parameters(handle) for handle in effects.writes))
            for position in sorted(self.reads[op] | self.writes[op]):
                self.accesses.setdefault(position, []).append(op)
        self.written = frozenset().union(*self.writes.values())


@lru_cache(maxsize=64)
def touches(function: Function) -> Touches:
    """Those of a function that changes no more."""
    return Touches(function)
