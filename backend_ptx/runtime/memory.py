"""Device memory: buffers of the driver's pool, copies from and to the host, which device a pointer belongs to."""

from __future__ import annotations

import functools
import sys
from typing import Any

from tilewright.backend_ptx.runtime.driver import Device, check, device_attribute, driver
from tilewright.tileir.events import timed


class Buffer:
    """Device memory of `size` bytes at `pointer`, freed with the object: after all that was queued before on a stream,
    in whose order the driver's pool gives and takes memory."""

    __slots__ = ("pointer", "size", "device", "stream", "_free", "__weakref__")

    def __init__(self, device: Device, size: int, stream: int = 0) -> None:
        self.device, self.size, self.stream = device, size, stream
        self.pointer = 0
        self._free: Any = None
        device.ensure_current()
        if size:
            with timed("memory", "allocate", bytes=size):
                self._allocate(device, size)

    def _allocate(self, device: Device, size: int) -> None:
        cuda, pooled = driver(), _has_pool(device.ordinal)
        made = cuda.cuMemAllocAsync(size, self.stream) if pooled else cuda.cuMemAlloc(size)
        self.pointer = int(check(made, f"allocating {size} bytes on {device.name}"))
        self._free = functools.partial(_free, cuda, device.context, pooled, self.stream)

    def __del__(self) -> None:
        # A process that ends frees all; the names of modules are None by then.
        if getattr(self, "_free", None) is not None and sys is not None and not sys.is_finalizing():
            self._free(self.pointer)


@functools.cache
def _has_pool(ordinal: int) -> bool:
    """Whether a device has a pool of memory, which then keeps what was freed: giving it back takes long."""
    cuda = driver()
    if not device_attribute(ordinal, "MEMORY_POOLS_SUPPORTED"):
        return False
    pool = check(cuda.cuDeviceGetMemPool(check(cuda.cuDeviceGet(ordinal), "cuDeviceGet")), "cuDeviceGetMemPool")
    threshold = cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
    if not int(check(cuda.cuMemPoolGetAttribute(pool, threshold), "cuMemPoolGetAttribute")):
        check(cuda.cuMemPoolSetAttribute(pool, threshold, cuda.cuuint64_t((1 << 64) - 1)), "cuMemPoolSetAttribute")
    return True


def _free(cuda: Any, context: Any, pooled: bool, stream: int, pointer: int) -> None:
    """Free memory, whatever context the thread has that collects its owner."""
    cuda.cuCtxPushCurrent(context)
    if pooled:
        cuda.cuMemFreeAsync(pointer, stream)
    else:
        cuda.cuMemFree(pointer)
    cuda.cuCtxPopCurrent()


def upload(device: Device, pointer: int, source: int, size: int) -> None:
    """Copy `size` bytes from host address `source` to the device; returns when they are there.

    The copy alone may return while the last bytes are on their way, which streams that do not wait for the default one
    would not see.
    """
    with timed("memory", "copy to the GPU", bytes=size):
        _with_context(device, lambda cuda: cuda.cuMemcpyHtoD(pointer, source, size), "copying to the GPU")
        synchronise_stream(0)


def download(device: Device, target: int, pointer: int, size: int) -> None:
    """Copy `size` bytes to host address `target`, after all earlier work of the device."""
    synchronise(device)
    with timed("memory", "copy from the GPU", bytes=size):
        _with_context(device, lambda cuda: cuda.cuMemcpyDtoH(target, pointer, size), "copying from the GPU")


def synchronise(device: Device) -> None:
    """Wait for all work of the device; this is also where a fault of an earlier kernel shows."""
    with timed("wait", "all work of the GPU"):
        _with_context(device, lambda cuda: cuda.cuCtxSynchronize(), "an earlier kernel on the GPU, or waiting for it,")


def _with_context(device: Device, call: Any, what: str) -> None:
    device.ensure_current()
    check(call(driver()), what)


def device_of_pointer(pointer: int) -> int:
    """The ordinal of the device that a pointer belongs to."""
    cuda = driver()
    attribute = cuda.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    return int(check(cuda.cuPointerGetAttribute(attribute, pointer), "finding the device of a pointer"))


def synchronise_stream(stream: int) -> None:
    check(driver().cuStreamSynchronize(stream), "waiting for a stream")
