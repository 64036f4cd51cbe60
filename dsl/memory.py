"""Arrays on the GPU for users with NumPy alone: to_device and DeviceArray."""

from __future__ import annotations

import math
from typing import Any

from tilewright.arrays import HOST, describe, host_view, numpy_dtype
from tilewright.dlpack import CUDA, make_capsule, row_major
from tilewright.tileir.dtypes import DType

_TYPESTR = {"bool": "|b1", "int": "<i", "uint": "<u", "float": "<f"}


class DeviceArray:
    """A contiguous array in GPU memory. Kernels, torch and CuPy take it (CUDA array interface, DLPack).

    Attributes: `shape`, `strides` (in elements), `dtype`, `device` (CUDA ordinal), `pointer`, `nbytes`.
    """

    __slots__ = ("shape", "strides", "dtype", "device", "pointer", "nbytes", "_buffer", "__weakref__")

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: int) -> None:
        from tilewright.backend_ptx.runtime.driver import get_device
        from tilewright.backend_ptx.runtime.memory import Buffer

        self.shape = shape
        self.strides = row_major(shape)
        self.dtype = dtype
        self.device = device
        self.nbytes = math.prod(shape) * dtype.bytes
        self._buffer = Buffer(get_device(device), self.nbytes)
        self.pointer: int = self._buffer.pointer

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def to_host(self) -> Any:
        """A NumPy array (ml_dtypes for bf16 and fp8) with the contents, once all earlier work of the GPU is done."""
        import numpy

        from tilewright.backend_ptx.runtime.memory import download

        out = numpy.empty(self.shape, numpy_dtype(self.dtype))
        if self.nbytes:
            download(self._buffer.device, out.ctypes.data, self.pointer, self.nbytes)
        return out

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        kind = self.dtype.kind
        plain = kind != "float" or self.dtype.name in ("float16", "float32", "float64")
        if not plain:
            raise AttributeError(f"{self.dtype} has no code in the CUDA array interface; use DLPack")
        code = _TYPESTR[kind] + ("" if kind == "bool" else str(self.dtype.bytes))
        return {"shape": self.shape, "typestr": code, "data": (self.pointer, False), "strides": None, "version": 3,
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
    """Whether an NVIDIA GPU, its driver and cuda-python are here."""
    from tilewright.backend_ptx.runtime import driver

    return driver.available()


def to_device(array: Any, device: int = 0) -> DeviceArray:
    """Copy a host array (NumPy, CPU tensor, any host array that kernels take) to GPU memory, contiguous in C order.

    Raises TypeError for what is no host array, TileUnsupportedFeatureError where there is no GPU.
    """
    import numpy

    from tilewright.backend_ptx.runtime.memory import upload

    info = describe(array)
    if info is None:
        info = describe(numpy.asarray(array))  # nested lists and NumPy scalars
    assert info is not None
    if info.device != HOST:
        raise TypeError("to_device takes an array in host memory; this one is on a GPU already")
    source = numpy.ascontiguousarray(host_view(info))
    out = DeviceArray(info.shape, info.dtype, device)
    if out.nbytes:
        upload(out._buffer.device, out.pointer, source.ctypes.data, out.nbytes)
    return out
