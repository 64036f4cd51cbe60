"""Arrays of our own: DeviceArray, and to_device, for users with NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilewright.arguments.arrays import HOST, ArrayInfo, describe, host_view
from tilewright.arguments.dlpack import CPU, CUDA, make_capsule, row_major
from tilewright.launching import ahead
from tilewright.launching.current import current
from tilewright.streams.memory import ALIGNMENT, HostBuffer, on_gpu
from tilewright.streams.queues import Queue, queue_of
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

_FREED = HOST - 1  # the device of an array without memory, which no launch knows
_TYPESTR = {"bool": "|b1", "int": "<i", "uint": "<u", "float": "<f"}


class DeviceArray:
    """An array in GPU memory, made by `empty`, `zeros`, `full`, `to_device` or `from_dlpack`. Kernels, torch, CuPy and
    Numba take it (CUDA array interface, DLPack). Where there is no GPU, it is host memory, which NumPy takes.

    Its memory comes from the driver's pool in the order of the stream that it was made on (the default one, if none was
    named or current), and goes back in that order when nothing holds it any more.

    Attributes: `shape`, `strides` (in elements), `dtype`, `ndim`, `device` (CUDA ordinal; -1 on the host), `pointer`
        (of the first element), `nbytes` (of the elements).
    Errors: ValueError for any use after `free()`.

    Example:
        d = ct.to_device(np.zeros((2, 3), np.float32))
        print(d.shape, d.dtype, d.T.shape)  # (2, 3) float32 (3, 2)
        d.record_stream(ct.Stream())        # its memory is not used again before that stream has done what it has now
        d.free()
        ct.to_host(d)  # ValueError
    """

    __slots__ = ("shape", "strides", "dtype", "device", "pointer", "nbytes", "_buffer", "__weakref__")

    def __init__(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: int, offset: int = 0,
        stream: Any = None,
    ) -> None:
        """`offset`: the alignment to keep, in bytes past a multiple of 256 of the lowest address. `stream`: as in a
        launch."""
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.nbytes = math.prod(shape) * dtype.bytes
        self.pointer = 0
        self._buffer: Any = None
        low, high = self._info().span
        self._buffer = allocate(device, high - low + offset if self.nbytes else 0, stream)
        if self.nbytes:
            self.pointer = self._buffer.pointer + offset - low

    @classmethod
    def around(cls, info: ArrayInfo, buffer: Any) -> DeviceArray:
        """An array in memory that `buffer` keeps."""
        made = object.__new__(cls)
        made.shape, made.strides, made.dtype, made.device = info.shape, info.strides, info.dtype, info.device
        made.nbytes, made.pointer, made._buffer = math.prod(info.shape) * info.dtype.bytes, info.pointer, buffer
        return made

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> DeviceArray:
        """The array with its axes in reverse: a view."""
        return self._view(self.shape[::-1], self.strides[::-1])

    @public
    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        """The array with another shape: a view, of a contiguous array alone.

        Errors: ValueError for a shape of another number of elements, and for an array that is not contiguous.

        Example:
            if ct.gpu_available():
                assert ct.to_device(np.zeros((2, 6))).reshape((3, 4)).shape == (3, 4)
        """
        if math.prod(shape) != math.prod(self.shape):
            raise ValueError(f"an array of shape {self.shape} cannot be seen as one of shape {tuple(shape)}")
        if self.nbytes and self.strides != row_major(self.shape):
            raise ValueError("an array that is not contiguous cannot be given another shape without a copy")
        return self._view(tuple(shape), row_major(tuple(shape)))

    def _view(self, shape: tuple[int, ...], strides: tuple[int, ...]) -> DeviceArray:
        """Another view of the same memory, which it keeps."""
        return self.around(replace(self._info(), shape=shape, strides=strides), self._buffer)

    @public
    def to_host(self, *, pinned: bool = False, stream: Any = None) -> Any:
        """A NumPy array with the contents: `ct.to_host(array, pinned=..., stream=...)`. Without a stream all earlier
        work of the GPU is done first.

        Result: a new array; bfloat16 and float8 come as ml_dtypes.
        Errors: none of its own; failures of kernels that ran before appear here.

        Example:
            x = np.arange(4, dtype=np.float32)
            assert (ct.to_device(x).to_host() == x).all()
        """
        from tilewright.streams.copies import to_host

        return to_host(self, pinned=pinned, stream=stream)

    @public
    def record_stream(self, stream: Any = None) -> None:
        """Say that a stream uses the memory that is not the one it was made on: what frees it later waits for what that
        stream has queued by then. As `torch.Tensor.record_stream`.

        Arguments: `stream`, as in a launch.
        """
        self._info()
        use = getattr(self._buffer, "use_on", None)
        if use is not None:  # else the memory is another library's
            use(queue_of(stream, self.device))

    def free(self) -> None:
        """Let go of the memory now. It is freed, in the order of its stream, as soon as no view, bound launch, graph or
        other library holds it."""
        self.device, self.pointer, self._buffer = _FREED, 0, None

    def _info(self) -> ArrayInfo:
        if self.device < HOST:
            raise ValueError(f"the DeviceArray of shape {self.shape} was freed; nothing is left to use")
        # What is seen on the host lasts longer than `free()`; on a GPU launches ask for the type of what they got.
        owner = self._buffer if self.device == HOST else self
        return ArrayInfo(self.dtype, self.pointer, self.shape, self.strides, self.device, False, owner)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """NumPy's view of an array on the host."""
        import numpy

        if self.device >= 0:
            raise TypeError("a DeviceArray on a GPU is no array of NumPy; copy it: x.to_host()")
        return numpy.array(host_view(self._info()), dtype, copy=copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._info().device == HOST:
            raise AttributeError("this DeviceArray is in host memory, as there is no GPU")
        kind = self.dtype.kind
        plain = kind != "float" or self.dtype.name in ("float16", "float32", "float64")
        if not plain:
            raise AttributeError(f"{self.dtype} has no code in the CUDA array interface; use DLPack")
        code = _TYPESTR[kind] + ("" if kind == "bool" else str(self.dtype.bytes))
        contiguous = self.strides == row_major(self.shape)
        strides = None if contiguous else tuple(s * self.dtype.bytes for s in self.strides)
        return {"shape": self.shape, "typestr": code, "data": (self.pointer, False), "strides": strides, "version": 3,
                "stream": getattr(self._buffer, "stream", 0) or None}

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("a DeviceArray is exported in place, on its own device")
        if stream != -1 and self.device != HOST:
            self._order(stream or 0)
        versioned = max_version is not None and max_version[0] >= 1
        return make_capsule(self.pointer, self.shape, self.strides, self.dtype.name, self.__dlpack_device__(),
                            self._buffer, versioned=versioned)

    def _order(self, consumer: int) -> None:
        """Let a stream of another library wait for what was queued on the array's own stream, and on the current one. 0
        and 1 name the default stream."""
        from tilewright.streams.ordering import order

        after = Queue(self.device, 0 if consumer == 1 else consumer)
        order(Queue(self.device, getattr(self._buffer, "stream", 0)), after)
        order(queue_of(None, self.device), after)

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self._info().device
        return (CPU, 0) if device == HOST else (CUDA, device)

    def __repr__(self) -> str:
        where = {HOST: "host", _FREED: "freed"}.get(self.device, self.device)
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={where})"


def memory_of(owners: Sequence[Any]) -> list[Any]:
    """What keeps the memory of those that are device arrays, should they be freed."""
    return [owner._buffer for owner in owners if isinstance(owner, DeviceArray)]


def allocate(device: int, size: int, stream: Any) -> Any:
    """Memory of a place, in the order of a stream."""
    from tilewright.backend_ptx.runtime.driver import driver

    if device == HOST:
        return HostBuffer(size)
    queue = queue_of(stream, device)
    if queue.device is None:
        driver()  # raises
    if queue.device != device:
        raise ValueError(f"the stream is on GPU {queue.device}, but the array shall be on GPU {device}")
    return on_gpu(queue, size, current() if stream is None else stream)


def place_for(device: int | None, stream: Any) -> int:
    """Where an array goes: the device that was asked for, else that of the stream, else GPU 0; HOST where there is no
    GPU."""
    if device is not None:
        return device
    from tilewright.backend_ptx.runtime import driver

    ahead.begin()
    if not driver.available():
        return HOST
    named = current() if stream is None else stream
    return 0 if named is None else queue_of(named).device or 0


def gpu_available() -> bool:
    """Whether an NVIDIA GPU, its driver and cuda-python are here.

    Result: a bool.

    Example:
        x = np.ones(8, np.float32)
        a = ct.to_device(x) if ct.gpu_available() else x  # kernels take either
        assert a.shape == (8,)
    """
    from tilewright.backend_ptx.runtime import driver

    return driver.available()


@public
def to_device(
    array: Any, device: int | None = None, *, keep_strides: bool = False, pinned: bool = False, stream: Any = None,
) -> DeviceArray:
    """Copy a host array to GPU memory; where there is no GPU, into host memory of its own.

    Arguments: `array`, NumPy, a CPU tensor, any host array that kernels take, or nested lists; `device`, a CUDA
        ordinal, by default that of the stream, or 0; `stream`, as in a launch.
    Result: a DeviceArray, contiguous in C order.
    Options: `keep_strides` keeps the strides and the alignment (up to 256 bytes) of the original. With a stream, the
        named or the current one, the copy is queued; only page-locked memory must not change before the stream has come
        to it. `pinned=True` copies through page-locked memory, so that the GPU reads while the host goes on.
    Errors: TypeError for what is no host array, ValueError for a stream of another GPU, TileUnsupportedFeatureError for
        a device where there is no GPU.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 128) * 2.0)

        d = ct.to_device(np.ones(1000, np.float32))
        double[(8,)](d)  # on the GPU, if there is one
        assert (d.to_host() == 2.0).all()
    """
    import numpy

    info = describe(array)
    if info is None:
        info = describe(numpy.asarray(array))  # nested lists and NumPy scalars
    assert info is not None
    if info.device != HOST:
        raise TypeError("to_device takes an array in host memory; this one is on a GPU already")
    if not keep_strides:
        view = host_view(info)
        if info.strides != row_major(info.shape):
            view = numpy.ascontiguousarray(view).reshape(info.shape)
            info = ArrayInfo(info.dtype, view.ctypes.data, info.shape, row_major(info.shape), HOST, owner=view)
    place, offset = place_for(device, stream), info.span[0] % ALIGNMENT if keep_strides else 0
    out = DeviceArray(info.shape, info.strides, info.dtype, place, offset, stream)
    if out.nbytes:
        from tilewright.streams.copies import fill

        fill(out._info().span[0], place, info, stream, pinned)
    return out
