"""`tw.Stream`: an order of work on a GPU."""

from __future__ import annotations

import functools
from types import TracebackType
from typing import Any, Self

from tilewright.launching.current import enter, leave
from tilewright.launching.streams import stream_handle
from tilewright.streams.event import Event
from tilewright.streams.queues import device_of, finished
from tilewright.tracebacks import public


class Stream:
    """An order of work on a GPU: what is queued on a stream runs after all that was queued there before. Work of two
    streams may overlap, unless one waits for the other.

    `with stream:` makes it the current one: launches, graphs, arrays and copies of this thread that name no stream go
    there, whatever library their arrays are of. Where there is no GPU, all work is done when a call returns, and
    streams have nothing to do.

    Arguments: `external`, a stream of torch, CuPy, Numba or cuda-core, anything with `__cuda_stream__`, or an int
        handle (0: the default stream), to see it as one of ours; it stays the other library's, and is kept. Without it
        a new one is made.
    Options: `device`, a CUDA ordinal, by default that of `external`, or the current one; of a new stream `priority`, a
        lower number before a higher one (GPUs have 0 and a few below), and `non_blocking=True`, which does not order it
        against the default stream, as it else is.
    Attributes: `handle` (the CUstream as an int, as `cuda_stream` of torch's streams), `device` (None without a GPU),
        `priority`.
    Errors: TypeError for what is no stream; ValueError for a priority that the GPU does not have, and for options of a
        new stream with an `external`; where it waits, RuntimeError for kernels that failed.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 4) * 2.0)

        x = np.ones(8, np.float32)
        first, second = ct.Stream(), ct.Stream()
        with first:
            double[2](x)
        second.wait(first)
        double[2](x, stream=second)
        second.synchronize()
        print(x[0], second.query())  # 4.0 True
        ct.Stream("mine")  # TypeError
        ct.Stream(first, non_blocking=True)  # ValueError
    """

    __slots__ = ("handle", "cuda_stream", "device", "priority", "_kept", "_destroy", "__weakref__")

    @public
    def __init__(
        self, external: Any = None, /, *, device: int | None = None, priority: int = 0, non_blocking: bool = False,
    ) -> None:
        from tilewright.backend_ptx.runtime import driver

        for name, value, kind in (("priority", priority, int), ("non_blocking", non_blocking, bool)):
            if type(value) is not kind:
                raise TypeError(f"Stream: {name} must be {kind.__name__}, not {value!r}")
        self._kept = external
        self._destroy: Any = None
        self.handle = 0
        self.priority = priority
        self.device: int | None = None
        if external is not None:
            self.handle = stream_handle(external)
            if priority or non_blocking:
                raise ValueError("Stream: priority and non_blocking are options of a new stream; this one is there")
        if driver.available():
            self.device = device_of(external) if device is None else device
            if external is None:
                self._open(self.device, priority, non_blocking)
        elif device is not None:
            driver.driver()  # raises
        self.cuda_stream = self.handle

    def _open(self, ordinal: int, priority: int, non_blocking: bool) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver, get_device

        get_device(ordinal).ensure_current()
        cuda = driver()
        lowest, highest = map(int, check(cuda.cuCtxGetStreamPriorityRange(), "cuCtxGetStreamPriorityRange"))
        if not highest <= priority <= lowest:
            raise ValueError(f"Stream: the priority must be from {highest} (first) to {lowest} on this GPU, "
                             f"not {priority}")
        flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value if non_blocking else 0
        self.handle = int(check(cuda.cuStreamCreateWithPriority(flags, priority), "making a stream"))
        self._destroy = functools.partial(cuda.cuStreamDestroy, self.handle)

    @public
    def synchronize(self) -> None:
        """Wait until all that was queued here is done; faults of kernels show here."""
        if self.device is not None:
            self._check("cuStreamSynchronize", "an earlier kernel on the stream, or waiting for it,")

    @public
    def query(self) -> bool:
        """Whether all that was queued here is done."""
        if self.device is None:
            return True
        return finished(self.device, "cuStreamQuery", self.handle)

    @public
    def wait(self, other: Any) -> None:
        """Let what is queued here from now on wait for an event, or for all that another stream has queued by now; the
        host does not wait. TypeError for what is neither."""
        event = other if isinstance(other, Event) else Event(timing=False).record(other)
        if self.device is not None and event.handle is not None:
            self._check("cuStreamWaitEvent", "waiting for an event", event.handle, 0)

    @public
    def record(self, *, timing: bool = True) -> Event:
        """A new event that is recorded here now: `Event(timing=timing).record(stream)`."""
        return Event(timing=timing).record(self)

    def _check(self, name: str, what: str, *more: Any) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver, get_device

        assert self.device is not None
        get_device(self.device).ensure_current()
        check(getattr(driver(), name)(self.handle, *more), what)

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which cuda-core, and others, take streams."""
        return 0, self.handle

    def __enter__(self) -> Self:
        enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        leave()

    def __del__(self) -> None:
        destroy = getattr(self, "_destroy", None)
        if destroy is not None:
            destroy()

    def __repr__(self) -> str:
        where = "without a GPU" if self.device is None else f"{self.handle:#x} on GPU {self.device}"
        return f"<Stream {where}>"
