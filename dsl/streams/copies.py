"""Copies between arrays of any library, on the host and on GPUs: `tw.copy`, `tw.to_host`."""

from __future__ import annotations

import ctypes
from typing import Any

from tilewright.arguments.arrays import HOST, ArrayInfo, describe, host_view, is_torch, numpy_dtype, place
from tilewright.arguments.torch_tensors import note_writes
from tilewright.launching.current import current
from tilewright.streams.event import Event
from tilewright.streams.memory import PinnedBuffer, keep_until_done, pinned_of
from tilewright.streams.queues import Queue, queue_of
from tilewright.tileir.events import timed
from tilewright.tracebacks import public


@public
def copy(dst: Any, src: Any, *, stream: Any = None) -> None:
    """Copy the elements of an array into another one that is there, wherever the two are.

    On a stream, the named or the current one (`with stream:`), the copy is queued. The call then returns at once
    between GPUs, to a GPU, and from a GPU into page-locked memory (`pinned=True`, or torch's): wait for the stream
    before you read the destination there, or change the source in such memory. Without a stream it returns when the
    copy is done.

    Arguments: `dst` and `src`, arrays of NumPy, torch, CuPy, or device arrays, of the same shape and dtype; on a GPU
        without gaps between their elements. `stream`, as in a launch.
    Errors: ValueError for other shapes, for a destination that is read-only or overlaps the source, and for an array on
        a GPU with gaps or another order of axes; TypeError for other dtypes, and for what is no array.

    Example:
        a, b = np.arange(6, dtype=np.float32).reshape(2, 3), ct.zeros((2, 3), ct.float32)
        ct.copy(b, a)
        print(ct.to_host(b)[1])  # [3. 4. 5.]
        ct.copy(b, a.T)  # ValueError
        ct.copy(b, a.astype(np.int32))  # TypeError
        ct.copy(b, 1.0)  # TypeError
    """
    to, source = _array("copy", "dst", dst), _array("copy", "src", src)
    _check(to, source)
    named = stream is not None or current() is not None
    if is_torch(type(dst)):
        note_writes([dst])
    if 0 in to.shape or (to.pointer == source.pointer and to.strides == source.strides):
        return
    if to.device == source.device == HOST:
        host_view(to)[...] = host_view(source)
        return
    queue = queue_of(stream, source.device if to.device == HOST else to.device)
    if to.device == HOST:
        _to_host(to, source, queue, named)
    elif source.device == HOST:
        upload(to, source, queue)
    else:
        _between(to, source, queue)
    if not named:
        wait(queue)


@public
def to_host(array: Any, *, pinned: bool = False, stream: Any = None) -> Any:
    """A NumPy array with the contents of an array of any library, wherever it is.

    Arguments: `array`, of NumPy, torch, CuPy, or a device array, and any host array that kernels take. `stream`, as in
        a launch.
    Options: `pinned=True` puts the result into page-locked memory. With a stream, the named or the current one, the
        call then returns at once, and the result is there when the stream has come to it: `stream.synchronize()`.
    Result: a new array; bfloat16 and float8 come as ml_dtypes. Without a stream, and without `pinned`, what the GPU was
        given before is done first.
    Errors: TypeError for what is no array; failures of kernels that ran before appear here.

    Example:
        x = ct.full((4,), 2.5, ct.float32)
        print(ct.to_host(x))  # [2.5 2.5 2.5 2.5]
        print(ct.to_host(np.arange(3)))  # [0 1 2]
        ct.to_host(3)  # TypeError
    """
    info = _array("to_host", "array", array)
    import numpy

    if info.device == HOST:
        return numpy.array(host_view(info))
    dtype = numpy_dtype(info.dtype)
    low, high = info.span
    if low == high:
        return numpy.empty(info.shape, dtype)
    named = stream is not None or current() is not None
    if not named:
        _wait_for_all(info.device)
    queue = queue_of(stream, info.device)
    buffer = PinnedBuffer(high - low, info.device) if pinned else None
    memory = numpy.empty(high - low, numpy.uint8) if buffer is None else buffer.view((high - low,), numpy.uint8)
    _download(memory.ctypes.data, info, queue)
    if buffer is not None and named:
        buffer.pending, buffer.source = Event(timing=False).record_on(queue), info.owner
    else:
        wait(queue)
    strides = tuple(s * dtype.itemsize for s in info.strides)
    return numpy.ndarray(info.shape, dtype, memory, info.pointer - low, strides)


def _wait_for_all(device: int) -> None:
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.backend_ptx.runtime.memory import synchronise

    synchronise(get_device(device))


def _array(function: str, name: str, value: Any) -> ArrayInfo:
    found = describe(value)
    if found is None:
        raise TypeError(f"{function}: {name} must be an array, not {type(value).__name__}")
    return found


def _check(to: ArrayInfo, source: ArrayInfo) -> None:
    if to.shape != source.shape:
        raise ValueError(f"copy: dst has the shape {to.shape}, src {source.shape}")
    if to.dtype is not source.dtype:
        raise TypeError(f"copy: dst is {to.dtype}, src {source.dtype}, and a copy converts nothing; convert with a "
                        "kernel (.astype) or with the array's own library")
    if to.readonly:
        raise ValueError("copy: dst is read-only")
    (low, high), (first, last) = to.span, source.span
    same = to.pointer == source.pointer and to.strides == source.strides
    if low < last and first < high and not same:
        raise ValueError("copy: dst and src overlap without being equal, so what is read would be overwritten")


def _dense(info: ArrayInfo) -> bool:
    """Whether the elements fill their bytes, in some order of the axes."""
    low, high = info.span
    count = 1
    for extent in info.shape:
        count *= extent
    return info.pointer == low and high - low == count * info.dtype.bytes and 0 not in info.strides


def _demand_dense(info: ArrayInfo) -> None:
    if not _dense(info):
        raise ValueError(f"copy: the array {place(info)} of shape {info.shape} and strides {info.strides} has gaps "
                         "between its elements, or runs backwards; copy the whole array, or make it contiguous first")


def _same_order(one: ArrayInfo, other: ArrayInfo) -> bool:
    strides = zip(one.shape, one.strides, other.strides, strict=True)
    return all(a == b for extent, a, b in strides if extent > 1)


def _in_order_of(device: ArrayInfo, host: ArrayInfo) -> Any:
    """A contiguous host copy with the elements in the order in which an array on a GPU has them."""
    import numpy

    axes = sorted(range(len(device.strides)), key=lambda axis: -device.strides[axis])
    return numpy.ascontiguousarray(host_view(host).transpose(axes))


def upload(to: ArrayInfo, source: ArrayInfo, queue: Queue) -> None:
    """Queue a copy to a GPU. Plain memory may be changed when the call returns."""
    _demand_dense(to)
    if not _same_order(to, source):
        staged = _in_order_of(to, source)
        _send(to.pointer, staged.ctypes.data, staged.nbytes, queue)
        return
    _send(to.pointer, source.pointer, to.span[1] - to.span[0], queue)
    pinned = pinned_of(source.array)
    if pinned is not None:
        pinned.pending = Event(timing=False).record_on(queue)


def fill(pointer: int, device: int, source: ArrayInfo, stream: Any, pinned: bool) -> None:
    """Copy the bytes of a host array into a new one, which has its strides; without a stream they are there when this
    returns."""
    address, end = source.span
    size = end - address
    if device == HOST:
        ctypes.memmove(pointer, address, size)
        return
    named, queue = stream is not None or current() is not None, queue_of(stream, device)
    buffer = PinnedBuffer(size, device) if pinned else None
    if buffer is not None:
        ctypes.memmove(buffer.pointer, address, size)
        address = buffer.pointer
    else:
        buffer = pinned_of(source.array)
    _send(pointer, address, size, queue)
    if not named:
        wait(queue)
    elif buffer is not None:
        keep_until_done(buffer, queue)


def repeat(pointer: int, element: bytes, count: int, queue: Queue) -> None:
    """Fill memory of a GPU with an element of up to 4 bytes."""
    bits, value = 8 * len(element), int.from_bytes(element, "little")
    _driver(queue, "filling memory of the GPU",
            lambda cuda: getattr(cuda, f"cuMemsetD{bits}Async")(pointer, value, count, queue.handle))


def _send(pointer: int, address: int, size: int, queue: Queue) -> None:
    with timed("memory", "copy to the GPU", bytes=size):
        _driver(queue, "copying to the GPU", lambda cuda: cuda.cuMemcpyHtoDAsync(pointer, address, size, queue.handle))


def _to_host(to: ArrayInfo, source: ArrayInfo, queue: Queue, named: bool) -> None:
    if _dense(source) and _same_order(source, to):
        pinned = pinned_of(to.array)
        _download(to.pointer, source, queue)
        if pinned is not None and named:
            pinned.pending, pinned.source = Event(timing=False).record_on(queue), source.owner
        elif not (named and is_torch(type(to.owner)) and to.owner.is_pinned()):
            wait(queue)
        return
    import numpy

    low, high = source.span
    memory, dtype = numpy.empty(high - low, numpy.uint8), numpy_dtype(source.dtype)
    _download(memory.ctypes.data, source, queue)
    wait(queue)
    strides = tuple(s * dtype.itemsize for s in source.strides)
    host_view(to)[...] = numpy.ndarray(source.shape, dtype, memory, source.pointer - low, strides)


def _download(address: int, source: ArrayInfo, queue: Queue) -> None:
    """Queue a copy of all bytes between the first and the last element."""
    low, high = source.span
    with timed("memory", "copy from the GPU", bytes=high - low):
        _driver(queue, "copying from the GPU",
                lambda cuda: cuda.cuMemcpyDtoHAsync(address, low, high - low, queue.handle))


def _between(to: ArrayInfo, source: ArrayInfo, queue: Queue) -> None:
    from tilewright.backend_ptx.runtime.driver import get_device

    _demand_dense(to)
    _demand_dense(source)
    if not _same_order(to, source):
        raise ValueError(f"copy: the elements of dst, of strides {to.strides}, are in another order than those of src, "
                         f"of {source.strides}; transpose with a kernel or with the array's own library")
    size = to.span[1] - to.span[0]
    if to.device == source.device:
        _driver(queue, "copying on the GPU",
                lambda cuda: cuda.cuMemcpyDtoDAsync(to.pointer, source.pointer, size, queue.handle))
        return
    there, here = get_device(to.device).context, get_device(source.device).context
    _driver(queue, "copying between GPUs",
            lambda cuda: cuda.cuMemcpyPeerAsync(to.pointer, there, source.pointer, here, size, queue.handle))


def wait(queue: Queue) -> None:
    """Wait for all that is queued."""
    _driver(queue, "an earlier kernel on the stream, or waiting for it,",
            lambda cuda: cuda.cuStreamSynchronize(queue.handle))


def _driver(queue: Queue, what: str, call: Any) -> None:
    from tilewright.backend_ptx.runtime.driver import check, driver, get_device

    assert queue.device is not None
    get_device(queue.device).ensure_current()
    check(call(driver()), what)
