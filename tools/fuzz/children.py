"""Work in child processes: one that dies, hangs or wants too much memory costs its seed, and is told as a find."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any

Outcome = tuple[int, str, str]
Job = Callable[[int], Outcome]
START = 60.0  # seconds more for a child's first seed, before which it imports everything
LOST = "lost"  # the outcome of a seed after which its process can do nothing more: a GPU's context is in error


class Child:
    """A process that answers one seed after the other."""

    def __init__(self, job: Job, memory: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(theirs, job, memory), daemon=True)
        self.process.start()
        theirs.close()
        self.seed, self.since, self.fresh = -1, 0.0, True

    def give(self, seed: int) -> None:
        self.seed, self.since = seed, time.time()
        self.connection.send(seed)

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def run(job: Job, seeds: Iterator[int], count: int, seconds: float, memory: int) -> Iterator[Outcome]:
    """The outcome of each seed as it comes. A seed has `seconds`, a child `memory` bytes (0: no limit)."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    busy: dict[Connection, Child] = {}
    idle: list[Child] = []
    try:
        while True:
            while len(busy) < count and (seed := next(seeds, None)) is not None:
                child = idle.pop() if idle else Child(job, memory)
                child.give(seed)
                busy[child.connection] = child
            if not busy:
                return
            yield from _answers(busy, idle, seconds)
    finally:
        for child in [*busy.values(), *idle]:
            child.end()


def until(deadline: float, seeds: Iterator[int]) -> Iterator[int]:
    """The seeds that are given out before a time; those under way then are still answered."""
    return itertools.takewhile(lambda seed: time.time() < deadline, seeds)


def _answers(busy: dict[Connection, Child], idle: list[Child], seconds: float) -> Iterator[Outcome]:
    for ready in wait(list(busy), timeout=0.5):
        assert isinstance(ready, Connection)
        child = busy.pop(ready)
        try:
            outcome = child.connection.recv()
        except (EOFError, OSError):
            child.process.join()
            yield child.seed, "crash", f"the process ended with {child.process.exitcode}"
            continue
        child.fresh = False
        if outcome[1] == LOST:
            child.end()
        else:
            idle.append(child)
        yield outcome
    for connection, child in list(busy.items()):
        if time.time() - child.since > seconds + START * child.fresh:
            del busy[connection]
            child.end()
            yield child.seed, "hang", f"no answer after {seconds} s"


def _serve(connection: Connection, job: Job, memory: int) -> None:
    if memory:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    gc.set_threshold(50_000, 50, 100)  # what programs leave behind is little: collecting took a sixth of the time
    for answered in itertools.count():
        try:
            seed: Any = connection.recv()
        except EOFError:
            return
        connection.send(job(seed))
        if answered == 0:
            gc.freeze()  # everything is imported
