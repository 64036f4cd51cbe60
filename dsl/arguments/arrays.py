"""Arrays that users pass: where they live, their dtype, shape and strides, and what the compiler may know of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from tilewright.arguments import torch_tensors
from tilewright.arguments.dlpack import CPU, CUDA_DEVICES, HOST_DEVICES, export, row_major
from tilewright.tileir import dtypes
from tilewright.tileir.dtypes import DType

HOST = -1

# Element types accepted from outside, by the name that NumPy, torch and ml_dtypes agree on.
_NAMES: dict[str, DType] = {
    "bool": dtypes.bool_,
    **{d.name: d for d in dtypes.ALL if d.is_int},
    **{d.name: d for d in (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.float8_e4m3fn,
                           dtypes.float8_e5m2, dtypes.float8_e8m0fnu)},
}
_KIND = {"b": "bool", "i": "int", "u": "uint", "f": "float"}


@dataclass(slots=True)
class ArrayInfo:
    """An array argument. `strides` are in elements; `device` is a CUDA ordinal or HOST.

    `owner` keeps the memory alive. `stream` is the stream on which the exporter says the data is produced (None: it
    does not say). `array` is the NumPy view of host memory, made by `host_view` where the argument is none itself.
    """

    dtype: DType
    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: int
    readonly: bool = False
    owner: Any = None
    stream: int | None = None
    array: Any = None

    @property
    def span(self) -> tuple[int, int]:
        """First and one past the last byte that the array covers; equal for an empty array."""
        if 0 in self.shape:
            return self.pointer, self.pointer
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low, high = sum(min(r, 0) for r in reach), sum(max(r, 0) for r in reach)
        size = self.dtype.bytes
        return self.pointer + low * size, self.pointer + (high + 1) * size


def describe(value: Any) -> ArrayInfo | None:
    """What is known of `value` as an array, None if it is none.

    Raises TypeError for element types and memory that kernels cannot use.
    """
    if isinstance(value, ArrayInfo):
        return value
    if isinstance(value, type):  # np.float32 has the array interface of its instances
        return None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return _from_numpy(value, value)
    if numpy is not None and isinstance(value, numpy.generic):
        return None  # a NumPy scalar has the array interface, but is no array
    if is_torch(type(value)):
        return _from_torch(value)
    ours = getattr(value, "_info", None) if type(value).__module__ == "tilewright.arguments.device_array" else None
    if ours is not None:
        described: ArrayInfo = ours()
        return described
    if hasattr(value, "__cuda_array_interface__"):
        return _from_cuda_interface(value)
    if hasattr(value, "__array_interface__"):
        import numpy as np

        return _from_numpy(np.asarray(value), value)
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        return _from_dlpack(value)
    return None


_torch_classes: dict[type, bool] = {}


def is_torch(cls: type) -> bool:
    """Whether objects of this class are torch tensors; torch itself is never imported by us."""
    known = _torch_classes.get(cls)
    if known is None:
        known = any(c.__module__.split(".")[0] == "torch" and c.__name__ == "Tensor" for c in cls.__mro__)
        _torch_classes[cls] = known
    return known


def is_jax(cls: type) -> bool:
    """Whether objects of this class are arrays of JAX. They never change, though not every version of JAX says so when
    it exports one."""
    return any(c.__module__.split(".")[0] in ("jax", "jaxlib") for c in cls.__mro__)


@cache
def torch_dtype(dtype: Any) -> DType:
    """The DType of a torch dtype, TypeError where there is none."""
    return named_dtype(str(dtype).removeprefix("torch."))


def named_dtype(name: str) -> DType:
    found = _NAMES.get(name)
    if found is None:
        raise TypeError(f"arrays of dtype {name} cannot be passed to a kernel; {_advice(name)}")
    return found


def _advice(name: str) -> str:
    if "4_e2m1" in name or "4bit" in name:
        return "pass four-bit data as uint8 and take it apart in the kernel"
    if "complex" in name:
        return "pass the real and imaginary parts as two arrays"
    return f"supported are {', '.join(_NAMES)}"


@cache
def numpy_dtype(dtype: DType) -> Any:
    """The NumPy dtype of an element type (ml_dtypes where NumPy has none)."""
    import numpy

    if dtype is dtypes.bool_:
        return numpy.dtype("bool")
    if dtype.is_int or dtype.name in ("float16", "float32", "float64"):
        return numpy.dtype(dtype.name)
    if dtype is dtypes.tfloat32:
        return numpy.dtype("float32")
    import ml_dtypes

    return numpy.dtype(getattr(ml_dtypes, dtype.name))


@cache
def _numpy_named(dtype: Any) -> DType:
    if not dtype.isnative:
        raise TypeError(f"arrays of dtype {dtype.str} have the wrong byte order; convert them with .astype(...)")
    return named_dtype(dtype.name)


def _from_numpy(array: Any, owner: Any) -> ArrayInfo:
    dtype = _numpy_named(array.dtype)
    if type(array).__name__ != "ndarray" and hasattr(array, "mask"):
        raise TypeError("a masked array cannot be passed, as the kernel would not see its mask; fill it: a.filled(0)")
    size = dtype.bytes
    if any(s % size for s in array.strides):
        raise TypeError(f"an array with byte strides {array.strides} cannot be passed: they are not multiples of the "
                        f"{size}-byte elements; copy it first")
    strides = tuple(s // size for s in array.strides)
    pointer = array.__array_interface__["data"][0]
    return ArrayInfo(dtype, pointer, array.shape, strides, HOST, not array.flags.writeable, owner, None, array)


def _from_torch(tensor: Any) -> ArrayInfo:
    kind = tensor.device.type
    if kind not in ("cpu", "cuda"):
        raise ValueError(f"a tensor on device {tensor.device} cannot be passed; kernels run on cuda or cpu tensors")
    if str(tensor.layout) != "torch.strided":
        raise TypeError(f"a tensor with layout {tensor.layout} cannot be passed; it has no strides")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError("a lazily conjugated or negated tensor cannot be passed; call .resolve_conj().resolve_neg()")
    device = tensor.get_device() if kind == "cuda" else HOST
    pointer = torch_tensors.address(tensor)
    return ArrayInfo(torch_dtype(tensor.dtype), pointer, tuple(tensor.shape), tuple(tensor.stride()), device, False,
                     tensor)


def _from_cuda_interface(value: Any) -> ArrayInfo:
    facts = value.__cuda_array_interface__
    pointer, readonly = facts["data"]
    dtype = _interface_dtype(value, facts["typestr"])
    shape = tuple(facts["shape"])
    if facts.get("strides") is None:
        strides = row_major(shape)
    else:
        if any(s % dtype.bytes for s in facts["strides"]):
            raise TypeError(f"byte strides {facts['strides']} are not multiples of the {dtype.bytes}-byte elements")
        strides = tuple(s // dtype.bytes for s in facts["strides"])
    if facts.get("mask") is not None:
        raise TypeError("a masked device array cannot be passed")
    if (pointer or 0) % dtype.bytes:  # the GPU would stop at its first access
        raise TypeError(f"a device array at address {pointer:#x} cannot be passed: it is not a multiple of the "
                        f"{dtype.bytes}-byte elements; copy it first")
    readonly = bool(readonly) or is_jax(type(value))
    return ArrayInfo(dtype, pointer or 0, shape, strides, _device_of(value, pointer), readonly, value,
                     facts.get("stream"))


def _interface_dtype(value: Any, typestr: str) -> DType:
    """`<V2` and the like do not tell the format; the exporter's own dtype attribute may."""
    if typestr[1] in _KIND:
        if typestr[0] == ">":
            raise TypeError(f"arrays of dtype {typestr} have the wrong byte order")
        bits = "" if typestr[1] == "b" else str(8 * int(typestr[2:]))
        return named_dtype(_KIND[typestr[1]] + bits)
    return named_dtype(str(getattr(value, "dtype", typestr)))


def _device_of(value: Any, pointer: int) -> int:
    """The CUDA ordinal of a pointer; exporters that have a `.device.id` (CuPy) or `.device` int know it."""
    device = getattr(value, "device", None)
    ordinal = getattr(device, "id", device)
    if isinstance(ordinal, int):
        return ordinal
    from tilewright.backend_ptx.runtime.driver import device_count
    from tilewright.backend_ptx.runtime.memory import device_of_pointer

    return 0 if device_count() == 1 or not pointer else device_of_pointer(pointer)


def _from_dlpack(value: Any) -> ArrayInfo:
    kind, ordinal = value.__dlpack_device__()
    if int(kind) in CUDA_DEVICES:
        # -1: the exporter need not wait for any stream; the launch goes to the current stream of the device.
        out = export(value, stream=-1)
        device = ordinal
    elif int(kind) in HOST_DEVICES:
        out = export(value, stream=None if int(kind) == CPU else -1)
        device = HOST
    else:
        raise ValueError(f"an array on DLPack device type {int(kind)} cannot be passed; kernels run on CUDA or host")
    readonly = out.readonly or is_jax(type(value))
    return ArrayInfo(named_dtype(out.dtype), out.pointer, out.shape, out.strides, device, readonly,
                     (value, out.capsule))


def host_view(info: ArrayInfo) -> Any:
    """The NumPy array over the host memory of `info`: writes go through to the caller's memory."""
    if info.array is not None:
        return info.array
    import numpy

    if 0 in info.shape:
        return numpy.zeros(info.shape, numpy_dtype(info.dtype))
    view = view_of_addresses(info, numpy_dtype(info.dtype))
    if info.readonly:
        view.flags.writeable = False
    return view


def view_of_addresses(info: ArrayInfo, dtype: Any) -> Any:
    """A NumPy array of `dtype` at the addresses of `info`, which has elements; it keeps the owner alive."""
    import ctypes

    import numpy

    low, high = info.span
    memory: Any = (ctypes.c_char * (high - low)).from_address(low)
    memory._owner = info.owner
    return numpy.ndarray(info.shape, dtype, memory, info.pointer - low, tuple(s * dtype.itemsize for s in info.strides))


def place(info: ArrayInfo) -> str:
    """Where an array lives, in a user's words."""
    return "in host memory" if info.device == HOST else f"on GPU {info.device}"
