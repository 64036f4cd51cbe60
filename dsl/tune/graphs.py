"""Runs in a CUDA graph: one launch right behind the other, with what each leaves in L2 for the next."""

from __future__ import annotations

from typing import Any

from tilewright.backend_ptx.runtime.driver import Device, check, driver
from tilewright.kernel import tile_kernel
from tilewright.launching.grid import Grid

LAUNCHES = 20  # in a graph: enough that its own start, some microseconds, does not count


class GraphRuns:
    """Called, it replays a graph of launches and returns the microseconds of one of them."""

    def __init__(self, kernel: tile_kernel, grid: Grid, args: tuple[Any, ...], device: Device) -> None:
        cuda = driver()
        device.ensure_current()
        self._device = device
        self._stream = check(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING), "cuStreamCreate")
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        check(cuda.cuStreamBeginCapture(self._stream, mode), "cuStreamBeginCapture")
        try:
            for _ in range(LAUNCHES):
                kernel.launcher.launch(grid, args, int(self._stream))
        finally:
            graph = check(cuda.cuStreamEndCapture(self._stream), "cuStreamEndCapture")
        self._graph = check(cuda.cuGraphInstantiate(graph, 0), "cuGraphInstantiate")
        check(cuda.cuGraphDestroy(graph), "cuGraphDestroy")
        self._events = [check(cuda.cuEventCreate(0), "cuEventCreate") for _ in range(2)]

    def __call__(self) -> float:
        cuda, (first, second) = driver(), self._events
        self._device.ensure_current()
        check(cuda.cuEventRecord(first, self._stream), "cuEventRecord")
        check(cuda.cuGraphLaunch(self._graph, self._stream), "cuGraphLaunch")
        check(cuda.cuEventRecord(second, self._stream), "cuEventRecord")
        check(cuda.cuEventSynchronize(second), "the kernel, or waiting for it,")
        return 1e3 * float(check(cuda.cuEventElapsedTime(first, second), "cuEventElapsedTime")) / LAUNCHES

    def close(self) -> None:
        """Give the graph, its stream and events back."""
        cuda = driver()
        check(cuda.cuGraphExecDestroy(self._graph), "cuGraphExecDestroy")
        for event in self._events:
            check(cuda.cuEventDestroy(event), "cuEventDestroy")
        check(cuda.cuStreamDestroy(self._stream), "cuStreamDestroy")
