"""Tensor maps for a launch: encoded by the driver, kept per address of the array."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.backend_ptx.map_records import FAR, MAP_ALIGN, MAP_BYTES, MOST, WRAP, TensorMapSpec
from tilewright.backend_ptx.runtime.driver import CudaError, Device, check, driver
from tilewright.backend_ptx.runtime.memory import Buffer, upload
from tilewright.tileir.dtypes import tfloat32

STRIDE_BYTES = 16  # what strides are multiples of
ZERO_BYTES = 256
MAX_KEPT = 1024  # maps of one parameter; arrays that are new in every launch must not pile up

# Numbers of enumerations in cuda.h. The type only says how wide an element is: nothing computes with it, and all bits
# arrive as they are.
_DATA_TYPE = {1: 0, 2: 1, 4: 2, 8: 4}  # CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32, 64
_TFLOAT32 = 11  # rounds to the nearest tfloat32, ties to even (seen on an H200)
_SWIZZLE = {0: 0, 32: 1, 64: 2, 128: 3}  # CU_TENSOR_MAP_SWIZZLE_NONE, 32B, 64B, 128B
_NO_INTERLEAVE, _L2_PROMOTION_128B, _FILL_ZERO = 0, 2, 0
_SINCE = 12000  # the CUDA version that brought tensor maps


class TensorMap:
    """128 bytes at `address`, which is as aligned as the driver asks for."""

    __slots__ = ("address", "_memory")

    def __init__(self) -> None:
        # The bindings' own CUtensorMap is a Python object, which nothing aligns to 64 bytes.
        self._memory = ctypes.create_string_buffer(MAP_BYTES + MAP_ALIGN)
        self.address = -(-ctypes.addressof(self._memory) // MAP_ALIGN) * MAP_ALIGN

    @property
    def data(self) -> bytes:
        return ctypes.string_at(self.address, MAP_BYTES)


class MapHole:
    """A tensor map parameter of a plan, whose array may have any address: `make` encodes its map at one.

    `slot` is the parameter's position, `pointer` the position of the array among the launch's pointers.
    """

    __slots__ = ("slot", "pointer", "_make", "_kept")

    def __init__(self, slot: int, pointer: int, make: Callable[[int], TensorMap]) -> None:
        self.slot, self.pointer, self._make = slot, pointer, make
        self._kept: dict[int, TensorMap] = {}

    def at(self, pointer: int) -> TensorMap:
        """The map of the array at this address. Raises CudaError where the driver refuses it."""
        found = self._kept.get(pointer)
        if found is None:
            found = self._make(pointer)
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[pointer] = found
        return found


def encoded(
    device: Device, spec: TensorMapSpec, name: str, extents: Sequence[int], strides: Sequence[int], pointer: int,
) -> TensorMap:
    """The map of an array (extents and strides in elements) that errors call `name`. Raises CudaError where the driver
    refuses it."""
    dims, steps = map_geometry(spec, extents, strides)
    if 0 in dims:
        # A map has no extent 0. Of an array of one zero every element, inside or outside, reads as zero too; what is
        # stored to an array without elements goes where nobody reads.
        pointer, dims = spare(device, zeroed=not spec.stored), tuple(1 for _ in dims)
    device.ensure_current()
    made, rank, ones = TensorMap(), len(dims), [1] * (len(dims) - len(spec.box))
    kind, swizzle = encoded_as(spec)
    status = int(_encode_function()(
        made.address, kind, rank, pointer, (ctypes.c_uint64 * rank)(*dims), (ctypes.c_uint64 * rank)(*steps),
        (ctypes.c_uint32 * rank)(*spec.box, *ones), (ctypes.c_uint32 * rank)(*[1] * rank), _NO_INTERLEAVE,
        swizzle, _L2_PROMOTION_128B, _FILL_ZERO))
    if status:
        what = (f"making a tensor map of {name} (address {pointer:#x}, extents {dims}, strides {steps} bytes, "
                f"box {spec.box}, swizzle {spec.swizzle})")
        raise CudaError(what, status, getattr(driver().CUresult(status), "name", "error"))
    return made


def encoded_as(spec: TensorMapSpec) -> tuple[int, int]:
    """The element type and the swizzle of a map, as cuda.h numbers them."""
    return _TFLOAT32 if spec.dtype is tfloat32 else _DATA_TYPE[spec.dtype.bytes], _SWIZZLE[spec.swizzle]


def map_geometry(
    spec: TensorMapSpec, extents: Sequence[int], strides: Sequence[int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(extents of the map's dimensions, strides of all but the innermost in bytes) of an array."""
    size = spec.dtype.bytes
    inner = extents[spec.axes[0]]
    # Nobody moves along an axis of one element, so its stride may be anything; the map's must be valid.
    valid = -(-max(inner, 1) * size // STRIDE_BYTES) * STRIDE_BYTES
    empty = any(extents[axis] == 0 for axis in spec.axes)
    step = {axis: valid if empty or extents[axis] == 1 else strides[axis] * size for axis in spec.axes}
    dims = [FAR if axis in spec.clips and not empty else extents[axis] for axis in spec.axes]
    steps = [step[axis] for axis in spec.axes[1:]]
    for axis in spec.clips:
        dims += extents[axis] + 1, MOST
        steps += step[axis], WRAP - step[axis]
    return tuple(dims), tuple(steps)


@functools.cache
def _encode_function() -> Any:
    """cuTensorMapEncodeTiled of the driver, called with our own memory for the map."""
    address, _ = check(driver().cuGetProcAddress(b"cuTensorMapEncodeTiled", _SINCE, 0), "looking up tensor maps")
    if not int(address):
        raise CudaError("looking up cuTensorMapEncodeTiled", 500, "CUDA_ERROR_NOT_FOUND")
    pointer, number = ctypes.c_void_p, ctypes.c_int
    return ctypes.CFUNCTYPE(
        number, pointer, number, ctypes.c_uint32, pointer, pointer, pointer, pointer, pointer, number, number, number,
        number)(int(address))


_spare: dict[tuple[int, bool], Buffer] = {}
_spare_lock = threading.Lock()


def spare(device: Device, zeroed: bool) -> int:
    """The address of a few bytes on a device, there as long as the process: zeros, or contents that nobody looks at."""
    key = device.ordinal, zeroed
    with _spare_lock:
        if key not in _spare:
            buffer, content = Buffer(device, ZERO_BYTES), ctypes.create_string_buffer(ZERO_BYTES)
            if zeroed:
                upload(device, buffer.pointer, ctypes.addressof(content), ZERO_BYTES)
            _spare[key] = buffer
        return _spare[key].pointer
