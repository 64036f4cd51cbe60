"""Device memory: buffers from cuda-core, copies from and to the host, which device a pointer belongs to."""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx.runtime.driver import Device, check, driver
from tilewright.tileir.events import timed


class Buffer:
    """Device memory of `size` bytes at `pointer`, freed with the object.

    cuda-core owns the memory (its pool makes allocation cheap); where it is missing, the driver is asked directly.
    """

    __slots__ = ("pointer", "size", "device", "_core", "_free", "__weakref__")

    def __init__(self, device: Device, size: int) -> None:
        self.device = device
        self.size = size
        self.pointer = 0
        self._core: Any = None
        self._free: Any = None
        device.ensure_current()
        if size:
            with timed("memory", "allocate", bytes=size):
                self._allocate(device, size)

    def _allocate(self, device: Device, size: int) -> None:
        try:
            from cuda.core import Device as CoreDevice
        except ImportError:
            self.pointer = int(check(driver().cuMemAlloc(size), f"allocating {size} bytes on {device.name}"))
            self._free = driver().cuMemFree
            return
        core = CoreDevice(device.ordinal)
        core.set_current()
        self._core = core.allocate(size, stream=core.default_stream)
        self.pointer = int(self._core.handle)

    def __del__(self) -> None:
        if getattr(self, "_free", None) is not None:
            self._free(self.pointer)


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
