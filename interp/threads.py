"""Chunks on several threads: NumPy and loops of machine code let go of Python's lock while they compute.

It is done where blocks provably keep to themselves, so that no order shows in the results, and where the chunks so far
tell that the rest takes long. The chunks are the same for any number of threads, and so are all bits. The first chunks
run on one thread, which also compiles what they need.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from tilewright.interp.affine import Forms, own_axes
from tilewright.interp.chunk import Chunk
from tilewright.interp.touches import touches
from tilewright.tileir.core import Function
from tilewright.tileir.ops.atomics import Atomic
from tilewright.tileir.types import ArrayType, SharedType

Work = Callable[[Chunk], None]

PAYS = 0.02
"""Seconds that the rest of a launch must take: handing a chunk to a thread takes some 0.1 ms."""

LARGE = 64 << 20
CHUNKS = 32
"""Where the tiles of all blocks have so many bytes, chunks are cut for several threads, in at least so many."""


@cache
def wanted() -> int:
    """How many threads a launch may use: TILEWRIGHT_THREADS, else one for each core that this process may run on."""
    given = os.environ.get("TILEWRIGHT_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 16)


def independent(function: Function, grid: tuple[int, int, int], bound: list[Any]) -> bool:
    """Does no block see what another one does? Each writes elements of its own, and reads none of others."""
    for op in function.walk():
        effects = op.effects()
        if effects.ordered or effects.io or isinstance(op, Atomic) or any(
                isinstance(v.type, SharedType) for v in op.results):
            return False
    known = touches(function)
    forms = Forms(function, grid, bound)
    wide = {axis for axis in (0, 1, 2) if grid[axis] > 1}
    return all(
        isinstance(function.params[n].type, ArrayType)
        and wide <= own_axes(forms, function.params[n], known.accesses[n]) for n in known.written)


def spread(chunks: Iterable[Chunk], work: Work, blocks: int, threads: int, may: Callable[[], bool]) -> None:
    """Do the work of the chunks of so many blocks, on several threads from where that pays; `may` says whether it is
    allowed."""
    rest = iter(chunks)
    start, done = time.perf_counter(), 0
    for chunk in rest:
        work(chunk)
        done += chunk.count
        if (time.perf_counter() - start) * (blocks - done) > PAYS * done:
            if may():
                _share(rest, work, threads)
                return
            break
    for chunk in rest:
        work(chunk)


def _share(chunks: Iterator[Chunk], work: Work, threads: int) -> None:
    """Each thread takes the next chunk when it is done with one. Of errors, that of the earliest chunk is raised."""
    lock = threading.Lock()
    failed: list[tuple[int, BaseException]] = []
    numbered = enumerate(chunks)

    def serve() -> None:
        with np.errstate(all="ignore"):  # each thread has its own
            while not failed:
                with lock:
                    number, chunk = next(numbered, (-1, None))
                if chunk is None:
                    return
                try:
                    work(chunk)
                except BaseException as error:
                    failed.append((number, error))

    others = [_pool(threads - 1).submit(serve) for _ in range(threads - 1)]
    try:
        serve()
    finally:
        for other in others:
            other.result()
    if failed:
        raise min(failed, key=lambda found: found[0])[1]


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="tilewright")
