"""A stand-in for cuda.bindings.driver: host memory as device memory, PTX as cubin, launches recorded.

It reads a launch's parameters by the signature in the PTX, so that what the launcher packs is held against what the
compiler declared.
"""

from __future__ import annotations

import ctypes
import enum
import re
import struct
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

_FORMATS = {"u64": "<Q", "b64": "<Q", "f64": "<d", "u32": "<i", "b32": "<i", "f32": "<f", "u16": "<H", "b16": "<H",
            "u8": "<B", "b8": "<B"}
_PARAM = re.compile(r"\.param\s+(?:\.align (\d+)\s+)?\.(\w+)(?:\s+\.ptr[^,\n]*)?\s+\w+(?:\[(\d+)\])?")


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE = 910


@dataclass
class Launch:
    """One recorded launch: `params` in order, as ints and floats, a tensor map as its 128 bytes."""

    name: str
    grid: tuple[int, int, int]
    threads: int
    shared: int
    stream: int
    params: list[Any]
    dependent: bool = False  # whether it may start before the one ahead of it on its stream has ended


class Function(tuple[str, list[str]]):
    """A CUfunction: its name and the formats of its parameters; its handle is its own address."""

    def __int__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class TensorMap:
    """What the fake driver writes into the 128 bytes of a tensor map: dimensions innermost first, strides in bytes."""

    pointer: int
    element_bytes: int
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int

    FORMAT = "<QBBB5Q4Q5H"

    def pack(self) -> bytes:
        def filled(values: tuple[int, ...], count: int) -> tuple[int, ...]:
            return (*values, *[0] * (count - len(values)))

        return struct.pack(
            self.FORMAT, self.pointer, self.element_bytes, self.swizzle, len(self.dims), *filled(self.dims, 5),
            *filled(self.strides, 4), *filled(self.box, 5)).ljust(128, b"\0")

    @staticmethod
    def unpack(data: bytes) -> TensorMap:
        pointer, size, swizzle, rank, *rest = struct.unpack(TensorMap.FORMAT, data[: struct.calcsize(TensorMap.FORMAT)])
        dims, strides, box = rest[:5], rest[5:9], rest[9:]
        return TensorMap(pointer, size, tuple(dims[:rank]), tuple(strides[: rank - 1]), tuple(box[:rank]), swizzle)

    def complaint(self) -> str | None:
        """What the driver would refuse."""
        checks = {
            "address": self.pointer and self.pointer % 16 == 0,
            "extents": all(0 < n <= 1 << 32 for n in self.dims),
            "strides": all(s % 16 == 0 and 0 < s < 1 << 40 for s in self.strides),
            "box": all(0 < n <= 256 for n in self.box) and self.box[0] * self.element_bytes % 16 == 0,
            "swizzle": self.swizzle == 0 or self.box[0] * self.element_bytes <= self.swizzle,
        }
        return next((what for what, ok in checks.items() if not ok), None)


_ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)


_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
_RECORD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_CREATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
_CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_REPLACE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


def _in_table(table: int, formats: list[str]) -> list[int]:
    """Where the values of parameters are, of which each has its address in a table."""
    return [place or 0 for place in (ctypes.c_void_p * len(formats)).from_address(table)]


def _in_block(extra: int, formats: list[str]) -> list[int]:
    """The same of parameters in one block, as `extra` says: 1 and its address, 2 and that of its size, 0."""
    words = list((ctypes.c_uint64 * 5).from_address(extra))
    assert words[0::2] == [1, 2, 0]
    places, end = _in_kernel(formats)
    assert ctypes.c_size_t.from_address(words[3]).value == end
    return [words[1] + place for place in places]


def _in_kernel(formats: list[str]) -> tuple[list[int], int]:
    """Where parameters are for a kernel on Hopper, behind the first, and the end: ptxas aligns their addresses, of
    which that of the first is 528."""
    first = end = 528
    places = list[int]()
    for size in map(struct.calcsize, formats):
        align = min(size, 64)
        places.append(-(-end // align) * align - first)
        end = first + places[-1] + size
    return places, end - first


class _Names:
    """Any attribute is its own name: enumerations of which only the identity matters."""

    def __getattr__(self, name: str) -> str:
        return name


@dataclass
class FakeCuda:
    """The functions of cuda.bindings.driver that Tilewright calls."""

    launches: list[Launch] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    called: int = 0  # launches through the driver's function itself
    refused: int = 0  # what that function answers
    meanwhile: Any = lambda: None  # what other threads do while it works
    linked: list[str] = field(default_factory=list)
    memory: dict[int, Any] = field(default_factory=dict)
    pools: dict[int, int] = field(default_factory=dict)  # how much memory the pool of a device keeps
    has_pools: bool = True
    pushed: list[int] = field(default_factory=list)
    devices: int = 1
    capability: tuple[int, int] = (9, 0)
    context: int = 0
    fail_link: bool = False
    synchronised: list[int] = field(default_factory=list)
    attributes: dict[str, int] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    clock_ms: float = 0.0
    step_ms: Any = lambda: 0.001  # how far the clock goes on at each event
    broken: bool = False  # whether a kernel has failed
    encoded: list[TensorMap] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)
    # What the assembler answers to a text: the status, the error log, the information log.
    assembler: Any = lambda text: (0, "", "")
    unloaded: list[str] = field(default_factory=list)
    graphs: dict[int, list[Launch]] = field(default_factory=dict)
    captured: set[int] = field(default_factory=set)  # the streams that are being captured
    capture_mode: Any = "global"
    updated: int = 0  # graphs whose parameters were exchanged
    streams: dict[int, tuple[int, int]] = field(default_factory=dict)  # flags and priority of those that are there
    busy: set[int] = field(default_factory=set)  # the streams whose work is not done
    waits: list[tuple[int, int]] = field(default_factory=list)  # a stream, and the one whose event it waits for
    flags_of: dict[int, int] = field(default_factory=dict)  # those that events were made with
    destroyed: list[int] = field(default_factory=list)  # events
    allocated_on: dict[int, int] = field(default_factory=dict)  # the stream of memory that is there
    freed: list[tuple[int, int]] = field(default_factory=list)  # memory, and the stream in whose order it went
    pinned: dict[int, Any] = field(default_factory=dict)
    copies: list[tuple[int, int]] = field(default_factory=list)  # bytes and stream

    CUresult = CUresult
    CUstreamCaptureMode = types.SimpleNamespace(
        CU_STREAM_CAPTURE_MODE_RELAXED="relaxed", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread")
    CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=types.SimpleNamespace(value=1))
    CUdevice_attribute = CUjit_option = CUjitInputType = CUfunction_attribute = CUpointer_attribute = _Names()
    CUlaunchAttributeID = CUmemPool_attribute = _Names()
    cuuint64_t = int

    def cuInit(self, flags: int) -> Any:
        return (CUresult(0),)

    def cuDriverGetVersion(self) -> Any:
        return CUresult(0), 13000

    def cuDeviceGetCount(self) -> Any:
        return CUresult(0), self.devices

    def cuDeviceGet(self, ordinal: int) -> Any:
        return CUresult(0), ordinal

    def cuDeviceGetName(self, size: int, device: int) -> Any:
        return CUresult(0), b"Fake GPU"

    def cuDeviceGetAttribute(self, attribute: str, device: int) -> Any:
        numbers = {"COMPUTE_CAPABILITY_MAJOR": self.capability[0], "COMPUTE_CAPABILITY_MINOR": self.capability[1],
                   "MEMORY_POOLS_SUPPORTED": int(self.has_pools)}
        return CUresult(0), numbers.get(attribute.removeprefix("CU_DEVICE_ATTRIBUTE_"), 132)

    def cuDevicePrimaryCtxRetain(self, device: int) -> Any:
        return CUresult(0), 100 + device

    def cuCtxGetCurrent(self) -> Any:
        return CUresult(0), self.context

    def cuCtxSetCurrent(self, context: int) -> Any:
        self.context = context
        return (CUresult(0),)

    def cuCtxGetDevice(self) -> Any:
        return (CUresult(0), self.context - 100) if self.context else (CUresult(201), None)

    def cuCtxSynchronize(self) -> Any:
        return (CUresult(0),)

    def cuStreamSynchronize(self, stream: int) -> Any:
        self.synchronised.append(stream)
        return (CUresult(0),)

    def cuLinkCreate(self, count: int, keys: list[str], values: list[Any]) -> Any:
        return CUresult(0), {"log": values[keys.index("CU_JIT_ERROR_LOG_BUFFER")], "data": None}

    def cuLinkAddData(self, state: Any, kind: str, data: bytes, size: int, name: bytes, *options: Any) -> Any:
        if self.fail_link:
            state["log"][:30] = b"ptxas kernel.ptx, line 5: oops"
            return (CUresult(218),)
        self.linked.append(data.decode().rstrip("\0"))
        state["data"] = ctypes.create_string_buffer(data, size)
        return (CUresult(0),)

    def cuLinkComplete(self, state: Any) -> Any:
        return CUresult(0), ctypes.addressof(state["data"]), len(state["data"])

    def cuLinkDestroy(self, state: Any) -> Any:
        return (CUresult(0),)

    def cuModuleLoadDataEx(self, image: bytes, count: int, keys: list[str], values: list[Any]) -> Any:
        if self.fail_link:
            values[keys.index("CU_JIT_ERROR_LOG_BUFFER")][:30] = b"ptxas kernel.ptx, line 5: oops"
            return CUresult(218), None
        text = image.decode().rstrip("\0")
        self.linked.append(text)
        status, error, info = self.assembler(text)
        for name, log in (("ERROR", error), ("INFO", info)):
            buffer = values[keys.index(f"CU_JIT_{name}_LOG_BUFFER")]
            buffer[: len(log)] = log.encode()
        return CUresult(status), text

    def cuModuleUnload(self, module: str) -> Any:
        self.unloaded.append(module)
        return (CUresult(0),)

    def cuModuleLoadData(self, image: bytes) -> Any:
        return CUresult(0), image.decode()

    def cuModuleGetFunction(self, module: str, name: bytes) -> Any:
        entry = re.search(rf"\.entry {name.decode()}\((.*?)\)", module, re.DOTALL)
        assert entry is not None, f"the PTX has no kernel {name.decode()}"
        params = _PARAM.findall(entry[1])
        formats = [f"{size}s" if size else _FORMATS[kind] for _, kind, size in params]
        self.functions.append(Function((name.decode(), formats)))
        return CUresult(0), self.functions[-1]

    def cuFuncGetAttribute(self, attribute: str, function: Any) -> Any:
        return CUresult(0), 32 if attribute.endswith("NUM_REGS") else 0

    def cuFuncGetParamInfo(self, function: Any, number: int) -> Any:
        _, formats = function
        return CUresult(0), _in_kernel(formats)[0][number], struct.calcsize(formats[number])

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: Any, threads: int, shared: int) -> Any:
        return CUresult(0), 2

    def cuFuncSetAttribute(self, function: Any, attribute: str, value: int) -> Any:
        self.attributes[attribute] = value
        return (CUresult(0),)

    def cuLaunchKernel(self, function: Any, x: int, y: int, z: int, threads: int, ty: int, tz: int, shared: int,
                       stream: int, params: int, extra: int) -> Any:
        if not self.context:
            return (CUresult(201),)
        name, formats = function
        places = _in_block(extra, formats) if extra else _in_table(params, formats)
        values = [struct.unpack(f, ctypes.string_at(place, struct.calcsize(f)))[0]
                  for f, place in zip(formats, places, strict=True)]
        made = Launch(name, (x, y, z), threads, shared, stream, values)
        self.graphs.get(stream, self.launches).append(made)
        return (CUresult(0),)

    def CUlaunchAttribute(self) -> Any:
        return types.SimpleNamespace(id=None, value=types.SimpleNamespace())

    def CUlaunchConfig(self) -> Any:
        return types.SimpleNamespace()

    def cuLaunchKernelEx(self, config: Any, function: Any, params: int, extra: int) -> Any:
        [attribute] = config.attrs
        assert config.numAttrs == 1 and attribute.id == "CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION"
        assert attribute.value.programmaticStreamSerializationAllowed == 1
        c, launches = config, self.graphs.get(config.hStream, self.launches)
        status = self.cuLaunchKernel(function, c.gridDimX, c.gridDimY, c.gridDimZ, c.blockDimX, c.blockDimY,
                                     c.blockDimZ, c.sharedMemBytes, c.hStream, params, extra)
        if not status[0]:
            launches[-1].dependent = True
        return status

    def cuStreamBeginCapture(self, stream: int, mode: str) -> Any:
        self.graphs[stream] = []
        self.captured.add(stream)
        return (CUresult(0),)

    def cuStreamEndCapture(self, stream: int) -> Any:
        self.captured.remove(stream)
        return CUresult(0), self.graphs.pop(stream)

    def cuGraphInstantiate(self, graph: list[Launch], flags: int) -> Any:
        return CUresult(0), list(graph)

    def cuGraphDestroy(self, graph: list[Launch]) -> Any:
        graph.clear()
        return (CUresult(0),)

    cuGraphExecDestroy = cuGraphDestroy

    def cuGraphExecUpdate(self, executable: list[Launch], graph: list[Launch]) -> Any:
        if [launch.name for launch in executable] != [launch.name for launch in graph]:
            return CUresult.CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, None
        executable[:] = graph
        self.updated += 1
        return CUresult(0), None

    def cuGraphLaunch(self, graph: list[Launch], stream: int) -> Any:
        self.launches.extend(replace(launch, stream=stream) for launch in graph)
        return (CUresult(0),)

    def cuGetProcAddress(self, symbol: bytes, version: int, flags: int) -> Any:
        assert version >= (12000 if symbol.startswith(b"cuTensorMap") else 4000)
        self.callbacks.append({
            b"cuTensorMapEncodeTiled": lambda: _ENCODE(self._encode_tiled),
            b"cuTensorMapReplaceAddress": lambda: _REPLACE(self._replace_address),
            b"cuLaunchKernel": lambda: _LAUNCH(self._launch),
            b"cuCtxGetCurrent": lambda: _CURRENT(self._current),
            b"cuEventRecord": lambda: _RECORD(self._record),
            b"cuEventCreate": lambda: _CREATE(self._create)}[symbol]())
        return CUresult(0), ctypes.cast(self.callbacks[-1], ctypes.c_void_p).value, 0

    def _launch(self, function: int, *rest: int | None) -> int:
        self.meanwhile()
        if self.refused:
            return self.refused
        [found] = [known for known in self.functions if id(known) == function]
        self.called += 1
        return int(self.cuLaunchKernel(found, *(number or 0 for number in rest))[0])

    def _record(self, event: int | None, stream: int | None) -> int:
        return int(self.cuEventRecord(event or 0, stream or 0)[0])

    def _create(self, out: int, flags: int) -> int:
        status, event = self.cuEventCreate(flags)
        ctypes.c_uint64.from_address(out).value = event
        return int(status)

    def _current(self, out: int) -> int:
        ctypes.c_void_p.from_address(out).value = self.context
        return 0

    def _encode_tiled(
        self, out: int, kind: int, rank: int, pointer: int | None, dims: int, strides: int, box: int, steps: int,
        interleave: int, swizzle: int, l2: int, fill: int,
    ) -> int:
        if not self.context:
            return CUresult.CUDA_ERROR_INVALID_CONTEXT
        wide, narrow = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        assert list(narrow.from_address(steps)) == [1] * rank and (interleave, fill) == (0, 0)
        made = TensorMap(
            pointer or 0, {0: 1, 1: 2, 2: 4, 4: 8}[kind], tuple(wide.from_address(dims)),
            tuple(wide.from_address(strides))[: rank - 1], tuple(narrow.from_address(box)), (0, 32, 64, 128)[swizzle])
        if out % 64 or made.complaint():
            return CUresult.CUDA_ERROR_INVALID_VALUE
        self.encoded.append(made)
        ctypes.memmove(out, made.pack(), 128)
        return 0

    def _replace_address(self, out: int, pointer: int | None) -> int:
        made = replace(TensorMap.unpack(ctypes.string_at(out, 128)), pointer=pointer or 0)
        if out % 64 or made.complaint():
            return CUresult.CUDA_ERROR_INVALID_VALUE
        ctypes.memmove(out, made.pack(), 128)
        return 0

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

    def cuCtxPushCurrent(self, context: int) -> Any:
        self.pushed.append(self.context)
        return self.cuCtxSetCurrent(context)

    def cuCtxPopCurrent(self) -> Any:
        self.context, left = self.pushed.pop(), self.context
        return CUresult(0), left

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

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: int) -> Any:
        ctypes.memset(target, value, size)
        return (CUresult(0),)

    def cuMemsetD16Async(self, target: int, value: int, count: int, stream: int) -> Any:
        (ctypes.c_uint16 * count).from_address(target)[:] = [value] * count
        return (CUresult(0),)

    def cuMemsetD32Async(self, target: int, value: int, count: int, stream: int) -> Any:
        (ctypes.c_uint32 * count).from_address(target)[:] = [value] * count
        return (CUresult(0),)

    def cuEventCreate(self, flags: int) -> Any:
        self.events.append(None)
        self.flags_of[len(self.events) - 1] = flags
        return CUresult(0), len(self.events) - 1

    def cuEventDestroy(self, event: int) -> Any:
        self.destroyed.append(event)
        return (CUresult(0),)

    def cuEventQuery(self, event: int) -> Any:
        return self.cuStreamQuery(self.events[event][1])

    def cuEventRecord(self, event: int, stream: int) -> Any:
        self.clock_ms += self.step_ms()
        self.events[event] = self.clock_ms, stream
        return (CUresult(0),)

    def cuEventSynchronize(self, event: int) -> Any:
        return (CUresult(CUresult.CUDA_ERROR_LAUNCH_FAILED if self.broken else 0),)

    def cuEventElapsedTime(self, first: int, second: int) -> Any:
        return CUresult(0), self.events[second][0] - self.events[first][0]

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> Any:
        assert stream not in self.captured, "what a graph would copy again at each replay"
        self.copies.append((size, stream))
        ctypes.memmove(target, source, size)
        return (CUresult(0),)

    def cuStreamCreate(self, flags: int) -> Any:
        return CUresult(0), 7000 + flags

    def cuCtxGetStreamPriorityRange(self) -> Any:
        return CUresult(0), 0, -5

    def cuStreamCreateWithPriority(self, flags: int, priority: int) -> Any:
        made = 8000 + len(self.streams)
        self.streams[made] = flags, priority
        return CUresult(0), made

    def cuStreamQuery(self, stream: int) -> Any:
        failed = CUresult.CUDA_ERROR_LAUNCH_FAILED if self.broken else 0
        return (CUresult(CUresult.CUDA_ERROR_NOT_READY if stream in self.busy else failed),)

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> Any:
        self.waits.append((stream, self.events[event][1]))
        return (CUresult(0),)

    def cuStreamDestroy(self, stream: int) -> Any:
        self.streams.pop(stream, None)
        return (CUresult(0),)

    def cuStreamIsCapturing(self, stream: int) -> Any:
        return CUresult(0), int(stream in self.captured)

    def cuThreadExchangeStreamCaptureMode(self, mode: Any) -> Any:
        before, self.capture_mode = self.capture_mode, mode
        return CUresult(0), before


def install(patch: pytest.MonkeyPatch, **options: Any) -> FakeCuda:
    """Let Tilewright find this driver, for the length of a test."""
    from tilewright.backend_ptx.runtime import driver, tensor_map

    fake = FakeCuda(**options)
    bindings = types.ModuleType("cuda.bindings")
    bindings.driver = fake  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "cuda.bindings", bindings)
    patch.setattr(driver, "_devices", {})
    patch.setattr(tensor_map, "_spare", {})
    _forget()
    return fake


def in_place(patch: pytest.MonkeyPatch, cache: Path | str) -> Iterator[FakeCuda]:
    """The whole of a fixture: this driver for the length of a test, with a cache of its own, and no table that graphs
    of earlier tests have captured. Each block has a CTA, as those of larger tiles than a test's."""
    from tilewright.backend_ptx.passes.clusters import pack_blocks
    from tilewright.backend_ptx.runtime import tables

    patch.setattr(pack_blocks, "WARPS", 1)
    patch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    patch.setattr(tables, "_captured", [])
    yield install(patch)
    _forget()


def learning_soon(patch: pytest.MonkeyPatch) -> None:
    """Launches are learnt by machine code after the third that Python makes."""
    from tilewright.launching import learning, native

    patch.setattr(learning, "_AT_FIRST", 3)
    patch.setattr(learning, "_BETWEEN", 1)
    native.build()
    assert native.ready()


def uninstall() -> None:
    """Forget what was asked of the fake driver."""
    _forget()


def _forget() -> None:
    from tilewright.backend_ptx.runtime import driver, memory, tensor_map

    for cached in (driver.driver, driver.driver_version, driver.device_count, tensor_map._encode_function,
                   memory._has_pool):
        cached.cache_clear()
