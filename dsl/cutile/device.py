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

# What CUDA tells of a device, by the names that CuPy gives its attributes: number in CUDA's list, and value. Beside the
# constants above they are an H100's, but for the clock, by which programs compute rates.
ATTRIBUTES = {
    "MaxThreadsPerBlock": (1, 1024), "MaxSharedMemoryPerBlock": (8, 48 << 10), "TotalConstantMemory": (9, 64 << 10),
    "WarpSize": (10, 32), "MaxRegistersPerBlock": (12, 1 << 16), "ClockRate": (13, 1_000_000),
    "MultiProcessorCount": (16, MULTIPROCESSORS), "L2CacheSize": (38, 32 << 20),
    "MaxThreadsPerMultiProcessor": (39, 2048), "ComputeCapabilityMajor": (75, CAPABILITY[0]),
    "ComputeCapabilityMinor": (76, CAPABILITY[1]), "MaxSharedMemoryPerMultiprocessor": (81, 228 << 10),
    "MaxRegistersPerMultiprocessor": (82, 1 << 16), "MaxSharedMemoryPerBlockOptin": (97, 227 << 10)}

# The same by the names of cudaDeviceProp, as cupy.cuda.runtime.getDeviceProperties has them.
PROPERTIES: dict[str, Any] = {
    "name": NAME.encode(), "totalGlobalMem": MEMORY,
    **{name: ATTRIBUTES[attribute][1] for name, attribute in {
        "major": "ComputeCapabilityMajor", "minor": "ComputeCapabilityMinor", "warpSize": "WarpSize",
        "multiProcessorCount": "MultiProcessorCount", "clockRate": "ClockRate", "l2CacheSize": "L2CacheSize",
        "totalConstMem": "TotalConstantMemory", "maxThreadsPerBlock": "MaxThreadsPerBlock",
        "maxThreadsPerMultiProcessor": "MaxThreadsPerMultiProcessor", "regsPerBlock": "MaxRegistersPerBlock",
        "regsPerMultiprocessor": "MaxRegistersPerMultiprocessor", "sharedMemPerBlock": "MaxSharedMemoryPerBlock",
        "sharedMemPerBlockOptin": "MaxSharedMemoryPerBlockOptin",
        "sharedMemPerMultiprocessor": "MaxSharedMemoryPerMultiprocessor"}.items()}}

# And by torch's, as torch.cuda.get_device_properties has them.
TORCH_PROPERTIES = {
    "name": NAME, "total_memory": MEMORY,
    **{name: PROPERTIES[property] for name, property in {
        "major": "major", "minor": "minor", "multi_processor_count": "multiProcessorCount", "warp_size": "warpSize",
        "L2_cache_size": "l2CacheSize", "max_threads_per_multi_processor": "maxThreadsPerMultiProcessor",
        "regs_per_multiprocessor": "regsPerMultiprocessor", "shared_memory_per_block": "sharedMemPerBlock",
        "shared_memory_per_block_optin": "sharedMemPerBlockOptin", "clock_rate": "clockRate",
        "shared_memory_per_multiprocessor": "sharedMemPerMultiprocessor"}.items()}}


def nothing(*args: Any, **named: Any) -> None:
    """Does nothing, which is all there is to do."""


def properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(**TORCH_PROPERTIES)


def attribute(number: int, device: Any = 0) -> int:
    """cudaDeviceGetAttribute. ValueError for an attribute that is not in ATTRIBUTES."""
    for known, value in ATTRIBUTES.values():
        if known == number:
            return value
    raise ValueError(f"Tilewright's stand-in for cupy.cuda.runtime does not know attribute {number} of a device")


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


class CUDAGraph:
    """torch.cuda.CUDAGraph, refused: what torch does in a capture cannot be repeated here."""

    def __init__(self, *args: Any, **named: Any) -> None:
        raise RuntimeError("CUDA graphs need a GPU; without one, run the program by an option of its own that does not "
                           "capture, or launch directly")


class Device:
    """Device 0, as an object and as a context."""

    def __init__(self, device: Any = 0) -> None:
        self.id = 0

    compute_capability = "".join(map(str, CAPABILITY))

    @property
    def attributes(self) -> dict[str, int]:
        return {name: value for name, (_, value) in ATTRIBUTES.items()}

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
