"""Reading a DLPack capsule without consuming it: address, shape, strides and dtype of the exporter's memory."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

# DLDeviceType
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
HOST_DEVICES = (CPU, CUDA_HOST)
CUDA_DEVICES = (CUDA, CUDA_MANAGED)

# DLDataTypeCode: name of the family, or of the dtype itself where the code fixes it
_CODES = {
    0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool", 10: "float8_e4m3fn", 12: "float8_e5m2",
    14: "float8_e8m0fnu",
}
_READ_ONLY = 1


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p), ("flags", ctypes.c_uint64), ("tensor", _Tensor),
    ]


class DLPackArray(NamedTuple):
    """What a capsule says. Strides are in elements; the memory lives as long as `capsule`."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int
    readonly: bool
    capsule: Any


is_valid = ctypes.pythonapi.PyCapsule_IsValid
is_valid.argtypes, is_valid.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.argtypes, pointer_in.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p


def export(value: Any, stream: int | None = None) -> DLPackArray:
    """Ask `value` for a capsule and read it. The capsule keeps its name, so its own destructor frees it.

    Raises TypeError for several lanes per element, and whatever the exporter raises.
    """
    arguments: dict[str, Any] = {} if stream is None else {"stream": stream}
    try:
        capsule = value.__dlpack__(max_version=(1, 1), **arguments)
    except TypeError:  # an exporter older than DLPack 1.0
        capsule = value.__dlpack__(**arguments)
    if is_valid(capsule, b"dltensor_versioned"):
        versioned = _ManagedVersioned.from_address(pointer_in(capsule, b"dltensor_versioned"))
        return _read(versioned.tensor, bool(versioned.flags & _READ_ONLY), capsule)
    return _read(_Managed.from_address(pointer_in(capsule, b"dltensor")).tensor, False, capsule)


def _read(tensor: _Tensor, readonly: bool, capsule: Any) -> DLPackArray:
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = tuple(tensor.strides[i] for i in range(tensor.ndim)) if tensor.strides else row_major(shape)
    if tensor.dtype.lanes != 1:
        raise TypeError(f"arrays with {tensor.dtype.lanes} lanes per element are not supported")
    family = _CODES.get(tensor.dtype.code, f"DLPack type code {tensor.dtype.code} of")
    dtype = family if family.startswith("float8") or family == "bool" else f"{family}{tensor.dtype.bits}"
    pointer = (tensor.data or 0) + tensor.byte_offset
    return DLPackArray(pointer, shape, strides, dtype, tensor.device.id, readonly, capsule)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides in elements of a contiguous array (C order)."""
    out: list[int] = []
    step = 1
    for extent in reversed(shape):
        out.append(step)
        step *= max(extent, 1)
    return tuple(reversed(out))


_CODE_OF = {name: code for code, name in _CODES.items()}
_KIND_OF = {"float16": ("float", 16), "float32": ("float", 32), "float64": ("float", 64), "bfloat16": ("bfloat", 16)}
_alive: dict[int, Any] = {}  # what an exported struct points into, by the struct's address
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@_DELETER  # type: ignore[untyped-decorator]
def _forget(address: int) -> None:
    _alive.pop(address, None)


_valid_address = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi))
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))


@_DESTRUCTOR  # type: ignore[untyped-decorator]
def _destroy(capsule: int) -> None:
    """A capsule that nobody consumed frees its struct itself; a consumer has renamed it."""
    for name in (b"dltensor", b"dltensor_versioned"):
        if _valid_address(capsule, name):
            _alive.pop(_pointer_at(capsule, name), None)


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.argtypes, _new_capsule.restype = [ctypes.c_void_p, ctypes.c_char_p, _DESTRUCTOR], ctypes.py_object
_NAME, _NAME_VERSIONED = b"dltensor", b"dltensor_versioned"


def make_capsule(
    pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, device: tuple[int, int], owner: Any,
    *, versioned: bool,
) -> Any:
    """A capsule over memory that `owner` keeps alive; strides in elements."""
    managed: Any = _ManagedVersioned() if versioned else _Managed()
    if versioned:
        managed.major, managed.minor = 1, 0
    managed.deleter = ctypes.cast(_forget, ctypes.c_void_p).value
    tensor = managed.tensor
    extents, steps = (ctypes.c_int64 * max(1, len(shape)))(*shape), (ctypes.c_int64 * max(1, len(shape)))(*strides)
    tensor.data, tensor.ndim, tensor.byte_offset = pointer, len(shape), 0
    tensor.device.type, tensor.device.id = device
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = *_dtype_code(dtype), 1
    tensor.shape = ctypes.cast(extents, ctypes.POINTER(ctypes.c_int64))
    tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
    address = ctypes.addressof(managed)
    _alive[address] = (managed, extents, steps, owner)
    return _new_capsule(address, _NAME_VERSIONED if versioned else _NAME, _destroy)


def _dtype_code(name: str) -> tuple[int, int]:
    if name in _CODE_OF:  # formats with a code of their own
        return _CODE_OF[name], 8
    if name == "bool_":
        return _CODE_OF["bool"], 8
    family, bits = _KIND_OF.get(name) or (name.rstrip("0123456789"), int(name.lstrip("uint")))
    return _CODE_OF[family], bits
