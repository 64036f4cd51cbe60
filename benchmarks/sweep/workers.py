"""Processes that work through combinations side by side; one that never comes to an end is stopped and said so."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from benchmarks.sweep.cases import Case
from benchmarks.sweep.compile import SLOW, Result, attempt

Task = Callable[[Case], Any]  # its results have the fields of `Result` that all have
VISIBLE = "CUDA_VISIBLE_DEVICES"


def run(cases: Iterable[Case], jobs: int, limit: float) -> Iterator[Any]:
    """What `attempt` makes of each case, in the order in which results come. `limit`: seconds for one combination."""
    with Workers(jobs, limit) as workers:
        yield from workers.run(cases, attempt)


class Workers:
    """Processes that end with the context. `devices`: GPUs as CUDA_VISIBLE_DEVICES names them, of which each process
    sees one."""

    def __init__(self, jobs: int, limit: float, devices: Sequence[str] = ("",)) -> None:
        self._limit = limit
        self._workers = [_Worker(devices[i % len(devices)]) for i in range(jobs)]
        self._had: dict[int, _Worker] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self._workers:
            worker.stop()

    def run(self, cases: Iterable[Case], task: Task) -> Iterator[Any]:
        """What the task makes of each case, in the order in which results come."""
        waiting = iter(cases)
        return self._run(task, [zip(itertools.repeat(worker), waiting, strict=False) for worker in self._workers])

    def again(self, cases: Iterable[Case], task: Task) -> Iterator[Any]:
        """The same of cases that `run` was given: each in the process that had it, on each device one at a time."""
        lanes: dict[str, list[tuple[_Worker, Case]]] = {}
        for case in cases:
            worker = self._had[case.number]
            lanes.setdefault(worker.device, []).append((worker, case))
        return self._run(task, [iter(lane) for lane in lanes.values()])

    def _run(self, task: Task, lanes: Sequence[Iterator[tuple[_Worker, Case]]]) -> Iterator[Any]:
        """One case of each lane at a time."""
        busy: dict[_Worker, Iterator[tuple[_Worker, Case]]] = {}

        def go_on(lane: Iterator[tuple[_Worker, Case]]) -> None:
            for worker, case in lane:
                worker.give(task, case)
                busy[worker] = lane
                self._had[case.number] = worker
                return

        for lane in lanes:
            go_on(lane)
        while busy:
            ready = wait([w.pipe for w in busy], timeout=1.0)
            for worker, lane in list(busy.items()):
                if worker.pipe in ready:
                    result = worker.take()
                elif time.monotonic() - worker.since > self._limit:
                    result = worker.give_up(self._limit)
                else:
                    continue
                del busy[worker]
                yield result
                go_on(lane)


class _Worker:
    """A process with at most one combination in hand."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.case: Case | None = None
        self.since = 0.0
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, self.device), daemon=True)
        self._process.start()
        other.close()

    def give(self, task: Task, case: Case) -> None:
        self.case, self.since = case, time.monotonic()
        self.pipe.send((task, case))

    def take(self) -> Any:
        case = self.case
        assert case is not None
        try:
            return self.pipe.recv()
        except EOFError:  # the process has died: LLVM leaves it where it can go no further
            self._again()
            return Result(case.number, case.name, case.family, case.target, "failed", "the compiler's process died")

    def give_up(self, limit: float) -> Result:
        case = self.case
        assert case is not None
        self._again()
        return Result(case.number, case.name, case.family, case.target, SLOW, f"more than {limit:g} s")

    def _again(self) -> None:
        self.stop()
        self._start()

    def stop(self) -> None:
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection[Any, Any], device: str) -> None:
    if device:
        os.environ[VISIBLE] = device
    while True:
        try:
            task, case = pipe.recv()
        except EOFError:
            return
        pipe.send(task(case))
