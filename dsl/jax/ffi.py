"""The handler by which XLA's programs launch kernels: its typed FFI, through ctypes, so that nothing is built in C++.

The structs are those of xla/ffi/api/c_api.h, version 0.x. Each says its size; a frame of other sizes comes from an XLA
that this file does not know, and is refused.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any, NamedTuple

from tilewright.arguments.arrays import HOST, ArrayInfo
from tilewright.arguments.dlpack import row_major
from tilewright.tileir import dtypes
from tilewright.tileir.dtypes import DType

TARGET = "tilewright_launch"
METADATA, EXECUTE = 1, 3  # XLA_FFI_Extension_Metadata, XLA_FFI_ExecutionStage_EXECUTE
INTERNAL, UNIMPLEMENTED = 13, 12  # XLA_FFI_Error_Code
MAJOR, MINOR = 0, 3
RECORDABLE = 1  # XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE

# XLA_FFI_DataType
DTYPES: dict[int, DType] = {
    1: dtypes.bool_, 2: dtypes.int8, 3: dtypes.int16, 4: dtypes.int32, 5: dtypes.int64, 6: dtypes.uint8,
    7: dtypes.uint16, 8: dtypes.uint32, 9: dtypes.uint64, 10: dtypes.float16, 11: dtypes.float32, 12: dtypes.float64,
    16: dtypes.bfloat16, 19: dtypes.float8_e5m2, 20: dtypes.float8_e4m3fn, 33: dtypes.float8_e8m0fnu,
}


class _Base(Structure):
    """XLA_FFI_Extension_Base."""

    _fields_ = [("struct_size", c_size_t), ("type", c_int), ("next", c_void_p)]


class _Version(Structure):
    """XLA_FFI_Api_Version."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("major", c_int), ("minor", c_int)]


class _Metadata(Structure):
    """XLA_FFI_Metadata, as far as it is older than 2025."""

    _fields_ = [("struct_size", c_size_t), ("version", _Version), ("traits", c_uint32)]


class _MetadataExtension(Structure):
    """XLA_FFI_Metadata_Extension."""

    _fields_ = [("base", _Base), ("metadata", POINTER(_Metadata))]


class _Api(Structure):
    """The head of XLA_FFI_Api, and its functions by number."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("version", _Version), ("internal", c_void_p),
                ("functions", c_void_p * 18)]


CREATE_ERROR, GET_STREAM, GET_ORDINAL = 0, 4, 17  # the places of functions in XLA_FFI_Api


class _Buffer(Structure):
    """XLA_FFI_Buffer: dense, the last axis contiguous."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("dtype", c_int), ("data", c_void_p),
                ("rank", c_int64), ("dims", POINTER(c_int64))]


class _Values(Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("size", c_int64), ("types", POINTER(c_int)),
                ("values", POINTER(c_void_p))]


class _Scalar(Structure):
    """XLA_FFI_Scalar."""

    _fields_ = [("dtype", c_int), ("value", POINTER(c_int64))]


class _Attributes(Structure):
    """XLA_FFI_Attrs."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("size", c_int64), ("types", POINTER(c_int)),
                ("names", c_void_p), ("values", POINTER(c_void_p))]


class _Frame(Structure):
    """XLA_FFI_CallFrame up to its attributes."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("api", POINTER(_Api)), ("context", c_void_p),
                ("stage", c_int), ("args", _Values), ("rets", _Values), ("attributes", _Attributes)]


class _ErrorArgs(Structure):
    """XLA_FFI_Error_Create_Args."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("message", c_char_p), ("code", c_int)]


class _StreamArgs(Structure):
    """XLA_FFI_Stream_Get_Args."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("context", c_void_p), ("stream", c_void_p)]


class _OrdinalArgs(Structure):
    """XLA_FFI_DeviceOrdinal_Get_Args."""

    _fields_ = [("struct_size", c_size_t), ("extension", c_void_p), ("context", c_void_p), ("ordinal", c_int32)]


class Handed(NamedTuple):
    """What a program of XLA hands to a launch: its inputs, its results, and the stream (None on the host)."""

    inputs: list[ArrayInfo]
    results: list[ArrayInfo]
    stream: int | None


class UnknownLayout(Exception):
    """A struct has a size that this file does not know."""


Launch = Callable[[int, Handed], None]
_HANDLER = ctypes.CFUNCTYPE(c_void_p, POINTER(_Frame))
_FUNCTION = ctypes.CFUNCTYPE(c_void_p, c_void_p)


def make_handler(launch: Launch, on_gpu: bool, recordable: bool = True) -> Any:
    """A handler that XLA can call, for the host or for CUDA; it calls `launch(number, handed)`. Keep it alive.

    `recordable`: what a launch on CUDA queues may be recorded, and run again without the handler."""
    traits = RECORDABLE if on_gpu and recordable else 0

    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        try:
            if _describe_itself(frame, traits) or frame.stage != EXECUTE:
                return None
            check_sizes(frame)
            launch(_number(frame), _handed(frame, on_gpu))
        except UnknownLayout as error:
            return _error(frame, str(error), UNIMPLEMENTED)
        except BaseException as error:  # nothing may leave a function that C++ calls
            return _error(frame, f"{type(error).__name__}: {error}", INTERNAL)
        return None

    return _HANDLER(handle)


def _describe_itself(frame: Any, traits: int) -> bool:
    """Answer the call by which XLA asks, at registration, for which version of the interface a handler is made, and
    what it can."""
    if not frame.extension:
        return False
    base = _Base.from_address(frame.extension)
    if base.type != METADATA:
        return False
    metadata = _MetadataExtension.from_address(frame.extension).metadata.contents
    metadata.version.major, metadata.version.minor = MAJOR, MINOR
    metadata.traits = traits
    return True


def check_sizes(frame: Any) -> None:
    """UnknownLayout unless all structs of a frame have the sizes that this file is made for."""
    found = [("XLA_FFI_CallFrame", frame.struct_size, _Frame), ("XLA_FFI_Args", frame.args.struct_size, _Values),
             ("XLA_FFI_Rets", frame.rets.struct_size, _Values),
             ("XLA_FFI_Attrs", frame.attributes.struct_size, _Attributes)]
    for values in (frame.args, frame.rets):
        found += [("XLA_FFI_Buffer", _Buffer.from_address(values.values[k]).struct_size, _Buffer)
                  for k in range(values.size)]
    for name, size, known in found:
        if size != ctypes.sizeof(known):
            raise UnknownLayout(f"tilewright.jax does not know this version of XLA: {name} has {size} bytes, not "
                                f"{ctypes.sizeof(known)}; use a version of JAX that docs/jax.md names")


def _number(frame: Any) -> int:
    """The value of the only attribute: which launch it is."""
    return int(_Scalar.from_address(frame.attributes.values[0]).value[0])


def _handed(frame: Any, on_gpu: bool) -> Handed:
    device, stream = HOST, None
    if on_gpu:
        ordinal = _OrdinalArgs(ctypes.sizeof(_OrdinalArgs), None, frame.context, 0)
        _call(frame, GET_ORDINAL, ordinal)
        streams = _StreamArgs(ctypes.sizeof(_StreamArgs), None, frame.context, None)
        _call(frame, GET_STREAM, streams)
        device, stream = ordinal.ordinal, streams.stream or 0
    return Handed(_arrays(frame.args, device, True), _arrays(frame.rets, device, False), stream)


def _call(frame: Any, place: int, args: Any) -> None:
    api = frame.api.contents
    if api.struct_size < ctypes.sizeof(_Api):
        raise UnknownLayout(f"tilewright.jax does not know this version of XLA: XLA_FFI_Api has {api.struct_size} "
                            f"bytes, not at least {ctypes.sizeof(_Api)}")
    if _FUNCTION(api.functions[place])(ctypes.addressof(args)):
        raise RuntimeError("XLA gives neither stream nor device")


def _arrays(values: Any, device: int, readonly: bool) -> list[ArrayInfo]:
    return [_array(_Buffer.from_address(values.values[k]), device, readonly) for k in range(values.size)]


def _array(buffer: Any, device: int, readonly: bool) -> ArrayInfo:
    shape = tuple(int(buffer.dims[k]) for k in range(buffer.rank))
    return ArrayInfo(DTYPES[buffer.dtype], buffer.data or 0, shape, row_major(shape), device, readonly)


def _error(frame: Any, message: str, code: int) -> int | None:
    """An XLA_FFI_Error, which XLA destroys."""
    args = _ErrorArgs(ctypes.sizeof(_ErrorArgs), None, message.encode(), code)
    return _FUNCTION(frame.api.contents.functions[CREATE_ERROR])(ctypes.addressof(args))  # type: ignore[no-any-return]


_handlers: list[Any] = []


def register(launch: Launch, recordable: bool) -> None:
    """Make the target known to XLA, for the host and for CUDA, where launches may be `recordable`."""
    import jax

    for platform, on_gpu in (("cpu", False), ("CUDA", True)):
        handler = make_handler(launch, on_gpu, recordable)
        _handlers.append(handler)
        jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)
