"""A frozen launch: kernel, packed parameters with extents and strides filled in, grid rule. Made once, run often."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from tilewright.backend_ptx.abi import AbiParam
from tilewright.backend_ptx.runtime.driver import CudaError, device_count, driver
from tilewright.backend_ptx.runtime.kernel import DeviceKernel
from tilewright.backend_ptx.runtime.tensor_map import MapHole, TensorMap
from tilewright.tileir.dtypes import DType

_INVALID_CONTEXT = 201
MOST_CONFIGS = 64  # grids and streams of launches, whose descriptions are kept


class Frame:
    """One set of parameter slots, eight bytes each, with the array of addresses that the driver reads.

    The address of a tensor map is that of the map itself, which `maps` keeps alive.
    """

    __slots__ = ("slots", "cells", "table", "address", "maps")

    def __init__(self, template: Sequence[int], scalar_slots: Sequence[tuple[int, DType]]) -> None:
        self.slots: Any = (ctypes.c_uint64 * max(1, len(template)))(*template)
        start = ctypes.addressof(self.slots)
        self.cells = [_ctype(dtype).from_buffer(self.slots, 8 * slot) for slot, dtype in scalar_slots]
        self.table: Any = (ctypes.c_void_p * max(1, len(template)))(*(start + 8 * i for i in range(len(template))))
        self.address = ctypes.addressof(self.table)
        self.maps: list[TensorMap] = []


class LaunchPlan:
    """A kernel with every parameter known but the addresses (`pointer_slots`), the scalars (`scalar_slots`) and the
    tensor maps, which `maps` makes of the addresses.

    `launch` may run in many threads at once: a frame belongs to one launch at a time (list.pop and append are atomic).
    """

    __slots__ = ("kernel", "device", "template", "pointer_slots", "scalar_slots", "maps", "check_context", "_frames",
                 "_call", "_handle", "_threads", "_shared", "_configs")

    def __init__(self, kernel: DeviceKernel, template: Sequence[int], pointer_slots: Sequence[int],
                 scalar_slots: Sequence[int], maps: Sequence[MapHole] = ()) -> None:
        self.kernel = kernel
        self.device = kernel.device
        self.pointer_slots = tuple(pointer_slots)
        self.template = list(template)
        self.scalar_slots = [(slot, kernel.abi.params[slot].dtype) for slot in scalar_slots]
        self.maps = tuple(maps)
        self._frames: list[Frame] = []
        self._call = driver().cuLaunchKernelEx if kernel.dependent else driver().cuLaunchKernel
        self._handle = kernel.handle
        self._threads = kernel.threads
        self._shared = kernel.shared_bytes
        self._configs: dict[tuple[int, ...], Any] = {}
        # With one device the only wrong context is none at all, which the driver reports to the launch.
        self.check_context = device_count() > 1

    def launch(self, grid: tuple[int, int, int], pointers: Sequence[int], scalars: Sequence[Any], stream: int) -> None:
        """Queue the kernel on `stream`. `grid` is the hardware's grid; pointers and scalars in parameter order."""
        try:
            frame = self._frames.pop()
        except IndexError:
            frame = Frame(self.template, self.scalar_slots)
        self._fill(frame, pointers, scalars)
        self.queue(grid, frame, stream)
        self._frames.append(frame)

    def packed(self, pointers: Sequence[int], scalars: Sequence[Any]) -> Frame:
        """A frame for `queue` that nobody else writes."""
        frame = Frame(self.template, self.scalar_slots)
        self._fill(frame, pointers, scalars)
        return frame

    def _fill(self, frame: Frame, pointers: Sequence[int], scalars: Sequence[Any]) -> None:
        slots = frame.slots
        for slot, pointer in zip(self.pointer_slots, pointers, strict=True):
            slots[slot] = pointer
        if scalars:
            for cell, value in zip(frame.cells, scalars, strict=True):
                cell.value = value
        if self.maps:
            frame.maps = made = [hole.at(pointers[hole.pointer]) for hole in self.maps]
            for hole, tensor_map in zip(self.maps, made, strict=True):
                frame.table[hole.slot] = tensor_map.address

    def queue(self, grid: tuple[int, int, int], frame: Frame, stream: int) -> None:
        """Queue the kernel with the parameters of a frame."""
        if self.check_context and not self.device.is_current():
            self.device.make_current()
        given: tuple[Any, ...] = self._handle, *grid, self._threads, 1, 1, self._shared, stream, frame.address, 0
        if self.kernel.dependent:
            given = self._config(grid, stream), self._handle, frame.address, 0
        [status] = self._call(*given)
        if status and int(status) == _INVALID_CONTEXT:
            # A thread that has used no CUDA yet has no context: set ours and launch again.
            self.device.make_current()
            [status] = self._call(*given)
        if status:
            raise CudaError(f"the launch of kernel {self.kernel.name}", int(status), getattr(status, "name", "error"))

    def _config(self, grid: tuple[int, int, int], stream: int) -> Any:
        """A launch that may start while the kernel before it on its stream runs; in a graph, the edge between them."""
        found = self._configs.get((*grid, stream))
        if found is None:
            cuda, attribute, found = driver(), driver().CUlaunchAttribute(), driver().CUlaunchConfig()
            attribute.id = cuda.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            attribute.value.programmaticStreamSerializationAllowed = 1
            found.gridDimX, found.gridDimY, found.gridDimZ = grid
            found.blockDimX, found.blockDimY, found.blockDimZ = self._threads, 1, 1
            found.sharedMemBytes, found.hStream, found.attrs, found.numAttrs = self._shared, stream, [attribute], 1
            if len(self._configs) >= MOST_CONFIGS:
                self._configs.clear()
            self._configs[*grid, stream] = found
        return found


def _ctype(dtype: DType) -> Any:
    """How a scalar is passed: narrow floats as their bits."""
    number = f"{'int' if dtype.is_int and dtype.is_signed else 'uint'}{8 * dtype.bytes}"
    return getattr(ctypes, "c_" + {"i1": "bool", "f32": "float", "f64": "double"}.get(dtype.ir, number))


def slot_bits(param: AbiParam, value: int) -> int:
    """An extent or stride as the unsigned content of a slot (little endian: the low bytes come first)."""
    return value & ((1 << (8 * param.size)) - 1)
