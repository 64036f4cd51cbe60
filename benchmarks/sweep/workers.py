"""Processes that work through combinations side by side; one that never comes to an end is stopped and said so."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from benchmarks.sweep.cases import Case
from benchmarks.sweep.compile import SLOW, Result, attempt

Task = Callable[[Case], Any]  # its results have the fields of `Result` that all have


def run(cases: Iterable[Case], jobs: int, limit: float, task: Task = attempt) -> Iterator[Any]:
    """Results in the order in which they come. `limit`: seconds for one combination. `task` is
    given each, in a process of its own."""
    waiting = iter(cases)
    workers = [_Worker(task) for _ in range(jobs)]
    try:
        for worker in workers:
            worker.give(next(waiting, None))
        while busy := [w for w in workers if w.case is not None]:
            ready = wait([w.pipe for w in busy], timeout=1.0)
            for worker in busy:
                if worker.pipe in ready:
                    yield worker.take()
                elif time.monotonic() - worker.since > limit:
                    yield worker.give_up(limit)
                else:
                    continue
                worker.give(next(waiting, None))
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process with at most one combination in hand."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.case: Case | None = None
        self.since = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self._task), daemon=True)
        self._process.start()
        other.close()

    def give(self, case: Case | None) -> None:
        self.case, self.since = case, time.monotonic()
        if case is not None:
            self.pipe.send(case)

    def take(self) -> Result:
        case = self.case
        assert case is not None
        try:
            found = self.pipe.recv()
        except EOFError:  # the process has died: LLVM leaves it where it can go no further
            self.stop()
            self._start()
            found = Result(case.number, case.name, case.family, case.target, "failed", "the compiler's process died")
        return found

    def give_up(self, limit: float) -> Result:
        case = self.case
        assert case is not None
        self.stop()
        self._start()
        return Result(case.number, case.name, case.family, case.target, SLOW, f"more than {limit:g} s")

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection[Any, Any], task: Task) -> None:
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        pipe.send(task(case))
