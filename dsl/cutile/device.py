"""What torch.cuda and cupy.cuda tell of the device: the CPU, described as programs ask for it.

Everything is done when a call returns, so streams and events have nothing to wait for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Self

CAPABILITY = (9, 0)  # programs choose configurations by it; the interpreter runs those of every capability
NAME = "CPU (Tilewright's interpreter)"
MULTIPROCESSORS = 8  # persistent kernels launch so many blocks
MEMORY = 16 << 30


def nothing(*args: Any, **named: Any) -> None:
    """Does nothing, which is all there is to do."""


def properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(name=NAME, major=CAPABILITY[0], minor=CAPABILITY[1], total_memory=MEMORY,
                           multi_processor_count=MULTIPROCESSORS, warp_size=32, L2_cache_size=32 << 20,
                           max_threads_per_multi_processor=2048, regs_per_multiprocessor=1 << 16,
                           shared_memory_per_block=48 << 10, shared_memory_per_block_optin=227 << 10,
                           shared_memory_per_multiprocessor=228 << 10)


class HostStream:
    """The one stream, under the names that torch and CuPy give its handle and methods."""

    cuda_stream = ptr = 0

    def __init__(self, *args: Any, **named: Any) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    done = True

    def use(self) -> Self:
        return self

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: HostEvent | None = None) -> HostEvent:
        event = event or HostEvent()
        event.record()
        return event

    record = record_event

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class HostEvent:
    """A time of the CPU's clock."""

    def __init__(self, *args: Any, **named: Any) -> None:
        self.time: float | None = None

    def record(self, stream: Any = None) -> None:
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def query(self) -> bool:
        return True

    done = True

    def elapsed_time(self, end: HostEvent) -> float:
        """Milliseconds from this event to another."""
        if self.time is None or end.time is None:
            raise RuntimeError("both events must be recorded before the time between them is asked for")
        return (end.time - self.time) * 1e3


def times_of(function: Callable[[], Any], warmups: int, runs: int) -> list[float]:
    """Seconds of each run by the CPU's clock, of at most 10, after at most one more: a GPU's number of them takes
    minutes here."""
    times = []
    for _ in range(min(warmups, 1) + min(runs, 10)):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times[min(warmups, 1):]


class Nvtx:
    """Ranges for NVIDIA's profilers, of which none looks: as torch.cuda.nvtx and cupy.cuda.nvtx name them."""

    range_push = range_pop = range_start = range_end = mark = staticmethod(nothing)
    RangePush = RangePop = RangePushC = Mark = MarkC = staticmethod(nothing)

    @staticmethod
    @contextlib.contextmanager
    def range(*args: Any, **named: Any) -> Iterator[None]:
        yield


class Device:
    """Device 0, as an object and as a context."""

    def __init__(self, device: Any = 0) -> None:
        self.id = 0

    compute_capability = "".join(map(str, CAPABILITY))

    @property
    def attributes(self) -> dict[str, int]:
        return {"MultiProcessorCount": MULTIPROCESSORS}

    @property
    def mem_info(self) -> tuple[int, int]:
        return (MEMORY, MEMORY)

    def __int__(self) -> int:
        return self.id

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device)

    def __hash__(self) -> int:
        return hash(Device)

    def use(self) -> Self:
        return self

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass
