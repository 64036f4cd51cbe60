"""Streams, events and what a capture forbids."""

from __future__ import annotations

import types
from dataclasses import dataclass, field
from typing import Any

from support.fake_driver.devices import Devices
from support.fake_driver.results import CUresult


@dataclass
class Streams(Devices):
    """Streams and events, by a clock that goes on at each event."""

    synchronised: list[int] = field(default_factory=list)
    events: list[Any] = field(default_factory=list)
    clock_ms: float = 0.0
    step_ms: Any = lambda: 0.001  # how far the clock goes on at each event
    broken: bool = False  # whether a kernel has failed
    captured: set[int] = field(default_factory=set)  # the streams that are being captured
    capture_mode: Any = "global"
    streams: dict[int, tuple[int, int]] = field(default_factory=dict)  # flags and priority of those that are there
    busy: set[int] = field(default_factory=set)  # the streams whose work is not done
    waits: list[tuple[int, int]] = field(default_factory=list)  # a stream, and the one whose event it waits for
    flags_of: dict[int, int] = field(default_factory=dict)  # those that events were made with
    destroyed: list[int] = field(default_factory=list)  # events

    CUstreamCaptureMode = types.SimpleNamespace(
        CU_STREAM_CAPTURE_MODE_RELAXED="relaxed", CU_STREAM_CAPTURE_MODE_THREAD_LOCAL="thread")
    CUstream_flags = types.SimpleNamespace(CU_STREAM_NON_BLOCKING=types.SimpleNamespace(value=1))

    def cuStreamSynchronize(self, stream: int) -> Any:
        self.synchronised.append(stream)
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
