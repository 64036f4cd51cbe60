"""Processes that compile for a search.

Threads of one process wait for each other: one at a time runs Python, one LLVM, and one the driver's assembler, which a
process calls under a lock. Each process has a context of its own on the GPU. What it has assembled lies in the driver's
cache, from which this process loads it. Whatever goes wrong with one, its thread compiles here.
"""

from __future__ import annotations

import os
import pickle
import queue
from collections.abc import Callable
from typing import Any

from tilewright.tune.process import Worker

# A process takes two seconds to start, and some memory of the GPU.
FEWEST, MOST = 8, 8
NEVER_LATE = "a process that compiles has no limit"


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Compilers:
    """As many processes as pay for `count` kernels, none for few; each is started when a kernel comes."""

    def __init__(self, count: int) -> None:
        number = min(cores(), count // FEWEST, MOST)
        self._all = [Worker() for _ in range(number if number > 1 else 0)]
        self._idle: queue.SimpleQueue[Worker | None] = queue.SimpleQueue()
        for worker in self._all:
            self._idle.put(worker)

    def __enter__(self) -> Callable[..., Any] | None:
        """What compiles as `compile_kernel` does for `build_kernel`; None where nothing else shall."""
        return self._compile if self._all else None

    def __exit__(self, *error: object) -> None:
        for worker in self._all:
            worker.end()

    def _compile(
        self, function: Any, target: Any, watch: Any, *, hints: Any, switches: Any, judge: Any, limits: Any
    ) -> Any:
        from tilewright.backend_ptx.compile import compile_kernel
        from tilewright.backend_ptx.runtime.driver import current_ordinal

        given = {"hints": hints, "switches": switches, "limits": limits}
        worker = self._idle.get()
        answer: tuple[Any, ...] = ("",)
        try:
            if worker is not None:
                answer = worker.ask(("compile", (function, target, current_ordinal()), given), None, NEVER_LATE)
        except (OSError, RuntimeError, pickle.PicklingError, TypeError, AttributeError):  # none that works
            worker = None
        finally:
            self._idle.put(worker)
        if answer[0] == "refused":
            raise answer[1]
        if answer[0] != "compiled":
            return compile_kernel(function, target, watch, judge=judge, **given)
        judge.adopt(*answer[1:])
        return answer[1]
