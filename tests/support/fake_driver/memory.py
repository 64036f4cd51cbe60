"""Memory of the host as that of devices: allocations, pools, copies."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from support.fake_driver.results import CUresult
from support.fake_driver.streams import Streams


@dataclass
class Memory(Streams):
    """Memory of the host as that of devices: allocations, pools, copies."""

    memory: dict[int, Any] = field(default_factory=dict)
    pools: dict[int, int] = field(default_factory=dict)  # how much memory the pool of a device keeps
    allocated_on: dict[int, int] = field(default_factory=dict)  # the stream of memory that is there
    freed: list[tuple[int, int]] = field(default_factory=list)  # memory, and the stream in whose order it went
    pinned: dict[int, Any] = field(default_factory=dict)
    copies: list[tuple[int, int]] = field(default_factory=list)  # bytes and stream

    cuuint64_t = int

    def cuMemAlloc(self, size: int) -> Any:
        if self.captured and self.capture_mode != "relaxed":
            return CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, None
        block = ctypes.create_string_buffer(size + 256)
        pointer = (ctypes.addressof(block) + 255) // 256 * 256
        self.memory[pointer] = block
        return CUresult(0), pointer

    def cuMemFree(self, pointer: int) -> Any:
        self.memory.pop(pointer, None)
        return (CUresult(0),)

    def cuMemAllocAsync(self, size: int, stream: int) -> Any:
        status, pointer = self.cuMemAlloc(size)
        self.allocated_on[pointer] = stream
        return status, pointer

    def cuMemFreeAsync(self, pointer: int, stream: int) -> Any:
        assert self.context, "the default stream is that of a context"
        assert self.allocated_on.pop(pointer) == stream
        self.freed.append((pointer, stream))
        return self.cuMemFree(pointer)

    def cuMemHostAlloc(self, size: int, flags: int) -> Any:
        block = ctypes.create_string_buffer(size)
        self.pinned[ctypes.addressof(block)] = block
        return CUresult(0), ctypes.addressof(block)

    def cuMemFreeHost(self, pointer: int) -> Any:
        del self.pinned[pointer]
        return (CUresult(0),)

    def cuDeviceGetMemPool(self, ordinal: int) -> Any:
        return CUresult(0), ordinal

    def cuMemPoolGetAttribute(self, pool: int, name: str) -> Any:
        return CUresult(0), self.pools.get(pool, 0)

    def cuMemPoolSetAttribute(self, pool: int, name: str, value: int) -> Any:
        assert name == "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"
        self.pools[pool] = value
        return (CUresult(0),)

    def cuMemcpyHtoD(self, target: int, source: int, size: int) -> Any:
        ctypes.memmove(target, source, size)
        return (CUresult(0),)

    cuMemcpyDtoH = cuMemcpyHtoD

    def cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int) -> Any:
        self.copies.append((size, stream))
        ctypes.memmove(target, source, size)
        return (CUresult(0),)

    cuMemcpyDtoHAsync = cuMemcpyDtoDAsync

    def cuMemcpyPeerAsync(
        self, target: int, there: int, source: int, here: int, size: int, stream: int,
    ) -> Any:
        assert {there, here} == {100, 101}
        return self.cuMemcpyDtoDAsync(target, source, size, stream)

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> Any:
        assert stream not in self.captured, "what a graph would copy again at each replay"
        self.copies.append((size, stream))
        ctypes.memmove(target, source, size)
        return (CUresult(0),)

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: int) -> Any:
        ctypes.memset(target, value, size)
        return (CUresult(0),)

    def cuMemsetD16Async(self, target: int, value: int, count: int, stream: int) -> Any:
        (ctypes.c_uint16 * count).from_address(target)[:] = [value] * count
        return (CUresult(0),)

    def cuMemsetD32Async(self, target: int, value: int, count: int, stream: int) -> Any:
        (ctypes.c_uint32 * count).from_address(target)[:] = [value] * count
        return (CUresult(0),)
