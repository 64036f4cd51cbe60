"""Arrays on the GPU for users with NumPy alone: to_device and DeviceArray."""

from __future__ import annotations

import math
from typing import Any

from tilewright.arguments.arrays import HOST, ArrayInfo, describe, host_view, numpy_dtype
from tilewright.arguments.dlpack import CUDA, make_capsule, row_major
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

ALIGNMENT = 256  # of what GPU allocators return, in bytes
_TYPESTR = {"bool": "|b1", "int": "<i", "uint": "<u", "float": "<f"}


class DeviceArray:
    """An array in GPU memory, made by `to_device`. Kernels, torch and CuPy take it (CUDA array interface, DLPack).

    Attributes: `shape`, `strides` (in elements), `dtype`, `ndim`, `device` (CUDA ordinal), `pointer` (of the first
        element), `nbytes` (of the elements).

    Example:
        if ct.gpu_available():
            d = ct.to_device(np.zeros((2, 3), np.float32))
            print(d.shape, d.dtype)
        assert ct.DeviceArray.__doc__
    """

    __slots__ = ("shape", "strides", "dtype", "device", "pointer", "nbytes", "_buffer", "__weakref__")

    def __init__(
        self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: int, offset: int
    ) -> None:
        """`offset`: the alignment to keep, in bytes past a multiple of 256 of the lowest address."""
        from tilewright.backend_ptx.runtime.driver import get_device
        from tilewright.backend_ptx.runtime.memory import Buffer

        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.nbytes = math.prod(shape) * dtype.bytes
        self.pointer = 0
        low, high = self._info().span
        self._buffer = Buffer(get_device(device), high - low + offset if self.nbytes else 0)
        if self.nbytes:
            self.pointer = self._buffer.pointer + offset - low

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
        made = object.__new__(DeviceArray)
        made.shape, made.strides, made.dtype, made.device = shape, strides, self.dtype, self.device
        made.nbytes, made.pointer, made._buffer = self.nbytes, self.pointer, self._buffer
        return made

    def to_host(self) -> Any:
        """A NumPy array with the contents, once all earlier work of the GPU is done.

        Result: a new array; bfloat16 and float8 come as ml_dtypes.
        Errors: none of its own; failures of kernels that ran before appear here.

        Example:
            x = np.arange(4, dtype=np.float32)
            if ct.gpu_available():
                assert (ct.to_device(x).to_host() == x).all()
        """
        import numpy

        from tilewright.backend_ptx.runtime.memory import download

        dtype = numpy_dtype(self.dtype)
        if not self.nbytes:
            return numpy.empty(self.shape, dtype)
        low, high = self._info().span
        memory = numpy.empty(high - low, numpy.uint8)
        download(self._buffer.device, memory.ctypes.data, low, high - low)
        strides = tuple(s * dtype.itemsize for s in self.strides)
        return numpy.ndarray(self.shape, dtype, memory, self.pointer - low, strides)

    def _info(self) -> ArrayInfo:
        return ArrayInfo(self.dtype, self.pointer, self.shape, self.strides, self.device, False, self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        kind = self.dtype.kind
        plain = kind != "float" or self.dtype.name in ("float16", "float32", "float64")
        if not plain:
            raise AttributeError(f"{self.dtype} has no code in the CUDA array interface; use DLPack")
        code = _TYPESTR[kind] + ("" if kind == "bool" else str(self.dtype.bytes))
        contiguous = self.strides == row_major(self.shape)
        strides = None if contiguous else tuple(s * self.dtype.bytes for s in self.strides)
        return {"shape": self.shape, "typestr": code, "data": (self.pointer, False), "strides": strides, "version": 3,
                "stream": None}

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None, copy: bool | None = None,
    ) -> Any:
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("a DeviceArray is exported in place, on its own device")
        if stream not in (None, -1, 0, 1):  # kernels ran on the default stream, which 0 and 1 name
            from tilewright.backend_ptx.runtime.memory import synchronise_stream

            synchronise_stream(0)
        versioned = max_version is not None and max_version[0] >= 1
        return make_capsule(self.pointer, self.shape, self.strides, self.dtype.name, (CUDA, self.device), self,
                            versioned=versioned)

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, device={self.device})"


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
def to_device(array: Any, device: int = 0, *, keep_strides: bool = False) -> DeviceArray:
    """Copy a host array to GPU memory.

    Arguments: `array`, NumPy, a CPU tensor, any host array that kernels take, or nested lists; `device`, a CUDA
        ordinal.
    Result: a DeviceArray, contiguous in C order.
    Options: `keep_strides` keeps the strides and the alignment (up to 256 bytes) of the original.
    Errors: TypeError for what is no host array, TileUnsupportedFeatureError where there is no GPU.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 128) * 2.0)

        if ct.gpu_available():
            d = ct.to_device(np.ones(1000, np.float32))
            double[(8,)](d)  # on the GPU
            assert (d.to_host() == 2.0).all()
    """
    import numpy

    from tilewright.backend_ptx.runtime.memory import upload

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
    low, high = info.span
    out = DeviceArray(info.shape, info.strides, info.dtype, device, low % ALIGNMENT if keep_strides else 0)
    if out.nbytes:
        upload(out._buffer.device, out._info().span[0], low, high - low)
    return out
