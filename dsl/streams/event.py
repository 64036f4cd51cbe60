"""`tw.Event`: a moment in a stream's work."""

from __future__ import annotations

import functools
import time
from typing import Any, Self

from tilewright.streams.queues import Queue, finished, queue_of
from tilewright.tracebacks import public

_NO_TIMING, _BLOCKING = 2, 1  # CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC


class Event:
    """A moment in a stream's work: it has come when all is done that was queued there before it was recorded.

    Where there is no GPU, an event has the host's time, and has come when it is recorded.

    Options: `timing=False` makes an event that orders work and has no time, which costs the GPU less; `blocking=True`
        lets `synchronize` sleep, in place of looking again and again.
    Attributes: `handle` (the CUevent as an int; None before it is recorded, and without a GPU).
    Errors: where it waits, RuntimeError for kernels that failed.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 4) * 2.0)

        stream, x = ct.Stream(), np.ones(8, np.float32)
        before, after = ct.Event(), ct.Event()
        before.record(stream)
        double[2](x, stream=stream)
        after.record(stream)
        after.synchronize()
        print(after.query(), before.elapsed(after) > 0)  # True True
        before.elapsed(ct.Event())  # RuntimeError
        before.elapsed(stream.record(timing=False))  # ValueError
        before.elapsed(3.5)  # TypeError
    """

    __slots__ = ("handle", "timing", "_blocking", "_device", "_time", "_destroy", "__weakref__")

    @public
    def __init__(self, *, timing: bool = True, blocking: bool = False) -> None:
        for name, value in (("timing", timing), ("blocking", blocking)):
            if not isinstance(value, bool):
                raise TypeError(f"Event: {name} must be True or False, not {value!r}")
        self.handle: int | None = None
        self.timing = timing
        self._blocking = blocking
        self._device: int | None = None
        self._time: int | None = None
        self._destroy: Any = None

    @public
    def record(self, stream: Any = None) -> Self:
        """Record the event: it stands behind all that the stream has queued by now. An event that was recorded before
        forgets that moment.

        Arguments: `stream`, as in a launch; without it the current stream (`with stream:`), else the default one.
        Result: the event.
        Errors: TypeError for what is no stream; ValueError for a stream of another GPU than before.
        """
        return self.record_on(queue_of(stream))

    def record_on(self, queue: Queue) -> Self:
        """The same, on a queue that is known."""
        device, handle = queue
        self._time = time.perf_counter_ns()
        if device is None:
            return self
        if self.handle is None:
            self._open(device)
        elif device != self._device:
            raise ValueError(f"the event belongs to GPU {self._device}, the stream to GPU {device}; make another "
                             "event for it")
        self._check("cuEventRecord", "recording an event", handle)
        return self

    def _open(self, ordinal: int) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver, get_device

        get_device(ordinal).ensure_current()
        cuda = driver()
        flags = (0 if self.timing else _NO_TIMING) | (_BLOCKING if self._blocking else 0)
        self.handle = int(check(cuda.cuEventCreate(flags), "making an event"))
        self._device = ordinal
        self._destroy = functools.partial(cuda.cuEventDestroy, self.handle)

    @public
    def query(self) -> bool:
        """Whether the moment has come; True for an event that is not recorded."""
        if self._device is None:
            return True
        return finished(self._device, "cuEventQuery", self.handle)

    @public
    def synchronize(self) -> None:
        """Wait until the moment has come; faults of kernels show here."""
        if self.handle is not None:
            self._check("cuEventSynchronize", "an earlier kernel on the stream, or waiting for it,")

    @public
    def elapsed(self, end: Event) -> float:
        """The milliseconds from this moment to another one, for both of which it waits. On a GPU it is the GPU's clock
        that tells them, to about half a microsecond.

        Arguments: `end`, an event on the same GPU.
        Result: a float; negative where `end` came before.
        Errors: RuntimeError for an event that is not recorded; ValueError for one without timing, and for one of
            another GPU; TypeError for what is no event.
        """
        if not isinstance(end, Event):
            raise TypeError(f"elapsed takes an Event, not {type(end).__name__}")
        for event in (self, end):
            if event._time is None:
                raise RuntimeError("the time between two events is known when both are recorded: event.record(stream)")
            if not event.timing:
                raise ValueError("an event made with timing=False has no time; leave the option out")
        if self._device != end._device:
            raise ValueError(f"the events are on different GPUs, {self._device} and {end._device}, whose clocks differ")
        assert self._time is not None and end._time is not None
        if self.handle is None:
            return 1e-6 * (end._time - self._time)
        self.synchronize()
        end.synchronize()
        from tilewright.backend_ptx.runtime.driver import check, driver

        return float(check(driver().cuEventElapsedTime(self.handle, end.handle), "cuEventElapsedTime"))

    def _check(self, name: str, what: str, *more: Any) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver, get_device

        assert self._device is not None
        get_device(self._device).ensure_current()
        check(getattr(driver(), name)(self.handle, *more), what)

    def __del__(self) -> None:
        destroy = getattr(self, "_destroy", None)
        if destroy is not None:
            destroy()

    def __repr__(self) -> str:
        state = "not recorded" if self._time is None else "done" if self.query() else "pending"
        return f"<Event {state}>"
