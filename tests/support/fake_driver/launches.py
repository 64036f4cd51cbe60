"""Launches, recorded with their parameters as the kernel declares them, and graphs of launches."""

from __future__ import annotations

import ctypes
import struct
import types
from dataclasses import dataclass, field, replace
from typing import Any

from support.fake_driver.modules import Modules, in_kernel
from support.fake_driver.results import CUresult


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


def _in_table(table: int, formats: list[str]) -> list[int]:
    """Where the values of parameters are, of which each has its address in a table."""
    return [place or 0 for place in (ctypes.c_void_p * len(formats)).from_address(table)]


def _in_block(extra: int, formats: list[str]) -> list[int]:
    """The same of parameters in one block, as `extra` says: 1 and its address, 2 and that of its size, 0."""
    words = list((ctypes.c_uint64 * 5).from_address(extra))
    assert words[0::2] == [1, 2, 0]
    places, end = in_kernel(formats)
    assert ctypes.c_size_t.from_address(words[3]).value == end
    return [words[1] + place for place in places]


@dataclass
class Launches(Modules):
    """Launches, recorded with their parameters, and graphs of them."""

    launches: list[Launch] = field(default_factory=list)
    graphs: dict[int, list[Launch]] = field(default_factory=dict)
    updated: int = 0  # graphs whose parameters were exchanged

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
