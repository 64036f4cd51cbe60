"""Delta debugging: a small tree of statements that still fails in the same way."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Iterator

from fuzz.program import Node, Program

Fails = Callable[[Program], bool]
Edit = Callable[[list[Node]], None]


def reduce(program: Program, fails: Fails, attempts: int = 1000, seconds: float = 40.0) -> Program:
    """Cut runs of statements from each list, outer lists and long runs first, and unwrap bodies, until nothing goes;
    then helpers and parameters that nothing needs."""
    search = _Search(copy.deepcopy(program), fails, attempts, time.monotonic() + seconds)
    while search.improve():
        pass
    search.drop_unused()
    return search.best


class _Search:
    def __init__(self, best: Program, fails: Fails, attempts: int, deadline: float) -> None:
        self.best, self.fails, self.left, self.deadline = best, fails, attempts, deadline

    def improve(self) -> bool:
        """One look at every list of statements; whether anything went."""
        before = self.best
        if self.best.grid != (1,):
            self.keep_if(lambda smaller: setattr(smaller, "grid", (1,)))
        where = 0
        while where < len(list(_lists(self.best.body))):
            self.cut(where)
            where += 1
        return self.best is not before and self.left > 0

    def drop_unused(self) -> None:
        if self.best.helpers:
            self.keep_if(lambda smaller: setattr(smaller, "helpers", ""))
        for parameter in list(self.best.parameters):
            if len(re.findall(rf"\b{parameter.name}\b", self.best.source())) == 1:
                self.keep_if(lambda smaller, p=parameter: smaller.parameters.remove(p))

    def cut(self, where: int) -> None:
        step = self.length(where)
        while step >= 1:
            start = 0
            while start < self.length(where):
                if not self.edit(where, lambda nodes, s=start, n=step: nodes.__delitem__(slice(s, s + n))):
                    start += step
            step //= 2
        for k in range(self.length(where)):
            if k < self.length(where) and list(_lists(self.best.body))[where][k].body:
                self.edit(where, lambda nodes, k=k: nodes.__setitem__(slice(k, k + 1), nodes[k].body))

    def length(self, where: int) -> int:
        """Of a list, which is gone once it is empty: its number is then that of the next one."""
        lists = list(_lists(self.best.body))
        return len(lists[where]) if where < len(lists) else 0

    def edit(self, where: int, change: Edit) -> bool:
        return self.keep_if(lambda smaller: change(list(_lists(smaller.body))[where]))

    def keep_if(self, change: Callable[[Program], None]) -> bool:
        """Try a change of the best program; whether the result still fails, and is the best from now on."""
        self.left -= 1
        if self.left < 0 or time.monotonic() > self.deadline:
            self.left = 0
            return False
        smaller = copy.deepcopy(self.best)
        change(smaller)
        if not self.fails(smaller):
            return False
        self.best = smaller
        return True


def _lists(body: list[Node]) -> Iterator[list[Node]]:
    """Every list of statements, outer ones first."""
    yield body
    for node in body:
        if node.body:
            yield from _lists(node.body)
