"""Arrays that are made where kernels run: `tw.empty`, `tw.from_dlpack`, and on the host `tw.zeros`, `tw.ones`,
`tw.full`."""

from __future__ import annotations

import math
import operator
from typing import Any

from tilewright.arguments.arrays import HOST, describe, is_jax, named_dtype, numpy_dtype, torch_dtype
from tilewright.arguments.device_array import DeviceArray, place_for, to_device
from tilewright.arguments.dlpack import row_major
from tilewright.launching.current import current
from tilewright.streams.copies import repeat, wait
from tilewright.streams.memory import PinnedBuffer
from tilewright.streams.queues import queue_of
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public


@public
def empty(
    shape: Any, dtype: Any = "float32", *, device: int | None = None, pinned: bool = False, stream: Any = None,
) -> Any:
    """An array whose contents are not defined yet, on a GPU; where there is none, in host memory.

    Arguments: `shape`, an int or a tuple of ints; `dtype`, one of ours, of NumPy or torch, or its name; `device`, a
        CUDA ordinal, by default that of the stream, or 0; `stream`, as in a launch: the memory is for what is queued
        there from now on.
    Options: `pinned=True` makes an array of NumPy in page-locked memory, which copies on streams read and write while
        the host goes on.
    Result: a DeviceArray, contiguous in C order; with `pinned` an array of NumPy.
    Errors: TypeError for a shape or dtype of another kind; ValueError for a negative extent, and for a stream of
        another GPU; RuntimeError where memory is short; TileUnsupportedFeatureError for a device where there is no GPU.

    Example:
        x = ct.empty((2, 3), ct.float16)
        print(x.shape, x.dtype, x.nbytes)  # (2, 3) float16 12
        staging = ct.empty(1000, np.int32, pinned=True)
        print(type(staging).__name__)      # ndarray
        ct.empty((2, -3))  # ValueError
        ct.empty(2.5)  # TypeError
        ct.empty(4, "float")  # TypeError
    """
    extents, kind = _extents(shape), element_type(dtype)
    place = place_for(device, stream)
    if not pinned:
        return DeviceArray(extents, row_major(extents), kind, place, stream=stream)
    import numpy

    if place == HOST:
        return numpy.empty(extents, numpy_dtype(kind))
    return PinnedBuffer(math.prod(extents) * kind.bytes, place).view(extents, numpy_dtype(kind))


def full(shape: Any, fill_value: Any, dtype: Any, *, device: int | None = None, stream: Any = None) -> DeviceArray:
    """An array with the same value everywhere: what `tw.full` is on the host."""
    import numpy

    kind = element_type(dtype)
    value = numpy.full((), fill_value, numpy_dtype(kind))
    made: DeviceArray = empty(shape, kind, device=device, stream=stream)
    if made.device == HOST:
        numpy.asarray(made)[...] = value
        return made
    element, queue = value.tobytes(), queue_of(stream, made.device)
    count = made.nbytes // len(element)
    if len(element) == 8 and element[:4] == element[4:]:
        element, count = element[:4], 2 * count
    if len(element) == 8:  # no driver's function fills with these; plain memory would wait for the stream
        return to_device(numpy.full(made.shape, value), made.device, stream=stream, pinned=True)
    if count:
        repeat(made.pointer, element, count, queue)
        if stream is None and current() is None:
            wait(queue)
    return made


def zeros(shape: Any, dtype: Any = "float32", *, device: int | None = None, stream: Any = None) -> DeviceArray:
    """An array of zeros: what `tw.zeros` is on the host."""
    return full(shape, 0, dtype, device=device, stream=stream)


def ones(shape: Any, dtype: Any = "float32", *, device: int | None = None, stream: Any = None) -> DeviceArray:
    """An array of ones: what `tw.ones` is on the host."""
    return full(shape, 1, dtype, device=device, stream=stream)


@public
def from_dlpack(array: Any) -> DeviceArray:
    """An array of any library as a DeviceArray, without a copy: both see the same memory, which is kept.

    Arguments: `array`, of torch, CuPy, Numba or JAX on a GPU, or in host memory; it is read by DLPack or the CUDA array
        interface.
    Result: a DeviceArray of the same shape and strides.
    Errors: TypeError for what is no array; ValueError for one that is read-only.

    Example:
        x = np.arange(6, dtype=np.int32).reshape(2, 3)
        seen = ct.from_dlpack(x)
        x[0, 0] = 7
        print(seen.T.shape, seen.to_host()[0])  # (3, 2) [7 1 2]
        ct.from_dlpack([1, 2])  # TypeError
    """
    info = describe(array)
    if info is None:
        raise TypeError(f"from_dlpack takes an array, not {type(array).__name__}")
    if info.readonly:
        never = ", as arrays of JAX never change" if is_jax(type(array)) else ""
        raise ValueError(f"from_dlpack: the array is read-only{never}, but a DeviceArray can be written; copy it")
    return DeviceArray.around(info, info.owner)


def element_type(dtype: Any) -> DType:
    """A dtype of ours, of NumPy or torch, or a name, as one of ours. TypeError for another."""
    if isinstance(dtype, DType):
        return dtype
    if type(dtype).__module__ == "torch":
        return torch_dtype(dtype)
    if isinstance(dtype, str):
        return named_dtype(dtype)
    import numpy

    return named_dtype(numpy.dtype(dtype).name)


def _extents(shape: Any) -> tuple[int, ...]:
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    try:
        extents = tuple(map(operator.index, given))
    except TypeError:
        raise TypeError(f"the shape must be an int or a tuple of ints, not {shape!r}") from None
    if any(extent < 0 for extent in extents):
        raise ValueError(f"the shape {extents} has a negative extent")
    return extents
