"""CuPy's stand-in: NumPy under the names that programs use of CuPy.

`cupy.ndarray` is a NumPy array with `get`, `set` and `device`. What is not listed here is NumPy's own, with its arrays
made those of the stand-in.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tilewright.cutile import device
from tilewright.cutile.log import substituted

CUDA_SOURCE = ("RawKernel", "RawModule", "ElementwiseKernel", "ReductionKernel")


class ndarray(np.ndarray):
    """A NumPy array with the methods of CuPy's. Reductions and elements are arrays without axes, as they are there."""

    def get(self, *args: Any, **named: Any) -> Any:
        """A copy as a NumPy array."""
        return np.array(self, subok=False)

    def set(self, values: Any, *args: Any) -> None:
        self[...] = values

    def toDlpack(self) -> Any:
        return self.__dlpack__()

    @property
    def device(self) -> device.Device:  # type: ignore[override]
        return device.Device(0)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data, device=self.device)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return np.asarray(array).view(ndarray)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, np.generic):
            return found
        return super().__getitem__((*(key if isinstance(key, tuple) else (key,)), Ellipsis))


def of_cupy(value: Any) -> Any:
    """NumPy's arrays as those of the stand-in, in tuples and lists, too."""
    if type(value) is np.ndarray:
        return value.view(ndarray)
    if isinstance(value, np.generic):
        return np.asarray(value).view(ndarray)
    if type(value) in (tuple, list):
        return type(value)(of_cupy(part) for part in value)
    return value


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        for name in ("stream", "blocking"):
            named.pop(name, None)
        return of_cupy(function(*args, **named))

    return call


class StandIn(ModuleType):
    """A module whose missing names are those of a module of NumPy."""

    def __init__(self, name: str, behind: Any, **names: Any) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._behind = behind
        vars(self).update(names)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self._behind, name):
            why = ": CUDA C++ needs a GPU" if name in CUDA_SOURCE else ""
            raise AttributeError(f"Tilewright's stand-in for {self.__name__} has no {name!r}{why}")
        value = getattr(self._behind, name)
        if callable(value) and not isinstance(value, type | np.ufunc):
            value = wrapped(value)
        setattr(self, name, value)
        return value


def asnumpy(array: Any, *args: Any, **named: Any) -> Any:
    return np.array(array, subok=False)


@dataclass
class Capsule:
    """A DLPack capsule as NumPy wants it: made by an array."""

    capsule: Any

    def __dlpack__(self, **named: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # the CPU


def from_capsule(capsule: Any) -> Any:
    """The array in a capsule, to write to as well: NumPy makes it read-only where the capsule does not tell."""
    array = np.from_dlpack(Capsule(capsule))
    described = array.__array_interface__
    writable = SimpleNamespace(array=array, __array_interface__=described | {"data": (described["data"][0], False)})
    return of_cupy(np.asarray(writable))


def get_array_module(*arrays: Any) -> ModuleType:
    return cupy if any(isinstance(array, ndarray) for array in arrays) else np


def _with_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy.random with CuPy's keyword `dtype`."""

    @functools.wraps(function)
    def call(*args: Any, dtype: Any = None, **named: Any) -> Any:
        result = np.asarray(function(*args, **named))
        return of_cupy(result if dtype is None else result.astype(dtype))

    return call


class Generator:
    """numpy.random.Generator with arrays of the stand-in."""

    def __init__(self, seed: Any = None) -> None:
        self._behind = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        return wrapped(getattr(self._behind, name))


_FLOATS = "rand randn random random_sample uniform normal standard_normal exponential gamma beta lognormal".split()

random = StandIn("cupy.random", np.random, default_rng=Generator, Generator=Generator,
                 **{name: _with_dtype(getattr(np.random, name)) for name in _FLOATS})

_null = device.HostStream()
runtime = StandIn("cupy.cuda.runtime", SimpleNamespace(
    getDeviceCount=lambda: 1, getDevice=lambda: 0, setDevice=device.nothing, deviceSynchronize=device.nothing,
    getDeviceProperties=lambda index: dict(device.PROPERTIES), deviceGetAttribute=device.attribute,
    memGetInfo=lambda: (device.MEMORY, device.MEMORY), runtimeGetVersion=lambda: 13000, driverGetVersion=lambda: 13000))


def _current_stream(index: int | None = None) -> device.HostStream:
    substituted("cupy.cuda.get_current_stream()", "the cpu")
    return _null


class CupyStream(device.HostStream):
    null = _null
    ptds = _null


class MemoryPool:
    """A pool that holds nothing."""

    free_all_blocks = free_all_free = set_limit = staticmethod(device.nothing)

    def used_bytes(self) -> int:
        return 0

    total_bytes = free_bytes = n_free_blocks = get_limit = used_bytes


nvtx = StandIn("cupy.cuda.nvtx", device.Nvtx)
switches = StandIn("cupy.cuda.profiler", SimpleNamespace(), start=device.nothing, stop=device.nothing)
cuda = StandIn("cupy.cuda", SimpleNamespace(), Stream=CupyStream, ExternalStream=CupyStream, Event=device.HostEvent,
               Device=device.Device, get_current_stream=_current_stream, is_available=lambda: True, runtime=runtime,
               get_device_id=lambda: 0,
               nvtx=nvtx, profiler=switches, MemoryPool=MemoryPool, set_allocator=device.nothing,
               get_elapsed_time=lambda start, end: start.elapsed_time(end),
               stream=SimpleNamespace(Stream=CupyStream, Event=device.HostEvent, get_current_stream=_current_stream))


def fuse(*args: Any, **options: Any) -> Any:
    """`@cupy.fuse()` and `cupy.fuse(f)`: the function as it is."""
    return args[0] if args and callable(args[0]) else lambda function: function


@dataclass
class Times:
    """What cupyx.profiler.benchmark tells, in seconds."""

    name: str
    cpu_times: Any
    gpu_times: Any

    def __str__(self) -> str:
        return f"{self.name}: CPU {1e6 * self.cpu_times.mean():.3f} us"


def benchmark(func: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
              n_repeat: int = 10, *, name: str | None = None, n_warmup: int = 1, **options: Any) -> Times:
    """cupyx.profiler.benchmark by the CPU's clock, with at most 10 runs."""
    taken = np.array(device.times_of(lambda: func(*args, **(kwargs or {})), n_warmup, n_repeat))
    return Times(name or func.__name__, taken, taken[None])


profiler = StandIn("cupyx.profiler", SimpleNamespace(), benchmark=benchmark, time_range=device.Nvtx.range,
                   profile=device.Nvtx.range)
cupyx = StandIn("cupyx", SimpleNamespace(), profiler=profiler, scatter_add=np.add.at, scatter_max=np.maximum.at,
                scatter_min=np.minimum.at)

cupy = StandIn("cupy", np, ndarray=ndarray, asnumpy=asnumpy, get_array_module=get_array_module, fromDlpack=from_capsule,
               random=random, cuda=cuda, linalg=StandIn("cupy.linalg", np.linalg), fft=StandIn("cupy.fft", np.fft),
               testing=StandIn("cupy.testing", np.testing), fuse=fuse, get_default_memory_pool=MemoryPool,
               get_default_pinned_memory_pool=MemoryPool)

MODULES: dict[str, ModuleType] = {module.__name__: module for module in (
    cupy, random, cuda, runtime, nvtx, switches, cupy.linalg, cupy.fft, cupy.testing, cupyx, profiler)}
