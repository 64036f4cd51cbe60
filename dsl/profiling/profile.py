"""`tw.profile()`: what the launches inside of a `with` cost, move and compute."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from pathlib import Path
from threading import get_ident
from time import perf_counter_ns
from types import TracebackType
from typing import Any

from tilewright.arguments.bind import arrays
from tilewright.estimating.devices import DeviceLimits, limits_of, limits_of_gpu
from tilewright.launching import watching
from tilewright.launching.held import HELD, RECORDED, WATCHED
from tilewright.launching.launcher import Launcher, own_stream
from tilewright.launching.signature import as_specs, device_of, signature
from tilewright.launching.streams import stream_handle, stream_reader
from tilewright.profiling.records import Kind, Launched, Recording
from tilewright.tileir.events import LISTENERS
from tilewright.tracebacks import public

DEFAULT = "h200"
FIELDS = 8  # of a launch: kind, start, end, thread, stream, the events before and after, whether it failed
NOT_TIMED = -1


class Profile(Recording):
    """What `profile()` gives: the launches of the process, of all its threads, while the `with` is open. Profiles may
    be nested and may overlap; each has the launches that were made while it was open.

    Attributes, once the `with` has ended, by an exception too: `launches`, each a record with its `kind`, `start`,
        `end` and `device`; `events`, the compilations, memory operations and waits; `rows`, the launches by kernel,
        grid and arguments, the longest first; `seconds`, how long the profile was open.

    Example:
        with ct.profile() as p:
            pass
        print(p.rows, str(p).startswith("0 launches"))  # [] True
    """

    def __init__(self, device: str | DeviceLimits | None = None) -> None:
        super().__init__()
        self._limits = None if device is None else limits_of(device)
        self._kinds: dict[Hashable, Kind] = {}
        self._numbered: list[Kind] = []
        # By the launch that machine code knows, and, as a guess, by what was launched last over a grid.
        self._kind_of: dict[Any, Kind] = {}
        self._likely: dict[Hashable, Kind] = {}
        # FIELDS objects a launch, side by side: at a tuple each the garbage collector would look again and again.
        self._raw: list[Any] = []
        self._timers: dict[int, Any] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Profile:
        if self.start:
            raise RuntimeError("this profile has been used; make another one: with tw.profile() as p")
        LISTENERS.append(self.events.append)
        watching.watch(self._launch, self._enrol)
        self.start = perf_counter_ns()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        watching.unwatch(self._launch)
        LISTENERS.remove(self.events.append)
        self.broken = not all([timer.wait() for timer in self._timers.values()])
        self.end = perf_counter_ns()
        launches = [self._read(*self._raw[i : i + FIELDS]) for i in range(0, len(self._raw), FIELDS)]
        launches += self._recorded()
        self.launches = sorted(launches, key=lambda launch: launch.start)
        for timer in self._timers.values():
            timer.close()

    def __str__(self) -> str:
        from tilewright.profiling.table import told

        return told(self)

    def as_data(self) -> dict[str, Any]:
        """The same as JSON has it."""
        from tilewright.profiling.table import as_data

        return as_data(self)

    def save_trace(self, path: str | Path) -> None:
        """Write a trace that ui.perfetto.dev and chrome://tracing show."""
        from tilewright.profiling.trace import write

        write(self, Path(path))

    def save_roofline(self, path: str | Path) -> None:
        """Write a picture of each kernel under the limits of the GPU; it needs matplotlib (the extra `viz`)."""
        from tilewright.profiling.picture import draw

        draw(self, Path(path))

    def _launch(self, launch: watching.Launch, launcher: Launcher, grid: Any, args: tuple[Any, ...],
                stream: Any) -> Any:
        """In the place of a launch. The kind of one that machine code makes is known by what it answers."""
        place = launcher, grid.size
        likely = self._likely.get(place)
        kind = likely or self._kind(launcher, grid, args)
        timer, known, failed = kind.timer, None, True
        queue, before, after = 0, NOT_TIMED, NOT_TIMED
        if timer is not None:
            own = kind.stream if stream is None else None
            queue, before, after = timer.start(self._stream(kind, args, stream) if own is None else own())
        start = perf_counter_ns()
        try:
            known = launch(launcher, grid, args, stream)
            failed = False
        finally:
            end = perf_counter_ns()
            if timer is not None:
                timer.record(after, queue)
            if likely is not None and self._kind_of.get(known) is not likely:
                kind = self._kind(launcher, grid, args)
                if kind.timer is not timer or kind.stream is not likely.stream:
                    after = NOT_TIMED  # the events were those of another device or stream
            self._raw += kind, start, end, get_ident(), queue, before, after, failed
        if known is not None and HELD[WATCHED] == RECORDED:
            self._take(kind, known, launcher, args)
        if likely is not kind:
            if known is not None and known.whole and kind.stream is not None:
                self._kind_of[known] = self._likely[place] = kind
            else:
                self._likely.pop(place, None)
        return known

    def _enrol(self, known: Any, launcher: Launcher, grid: Any, args: tuple[Any, ...]) -> None:
        """Let machine code record launches like this one, which it knows."""
        self._take(self._kind(launcher, grid, args), known, launcher, args)

    def _take(self, kind: Kind, known: Any, launcher: Launcher, args: tuple[Any, ...]) -> None:
        if kind.timer is not None:
            kind.timer.take(known, kind.number, launcher.call.complete(args, {}))

    def _stream(self, kind: Kind, args: tuple[Any, ...], stream: Any) -> int:
        """The stream that a launch goes to, which was asked for one."""
        if stream is not None:
            return stream_handle(stream)
        return own_stream(kind.specialiser.bind(args)) if kind.stream is None else int(kind.stream())

    def _kind(self, launcher: Launcher, grid: Any, args: tuple[Any, ...]) -> Kind:
        """The kind of a launch, by its arguments."""
        key = launcher, grid.size, signature(args)
        return self._kinds.get(key) or self._first(key, launcher, grid, args)

    def _first(self, key: Hashable, launcher: Launcher, grid: Any, args: tuple[Any, ...]) -> Kind:
        """The kind of a launch of which there was none before."""
        with self._lock:
            found = self._kinds.get(key)
            if found is None:
                found = self._kinds[key] = self._made(launcher, grid, args)
                found.number = len(self._numbered)
                self._numbered.append(found)
            return found

    def _made(self, launcher: Launcher, grid: Any, args: tuple[Any, ...]) -> Kind:
        specialiser = launcher._specialiser
        limits = self._limits or limits_of(DEFAULT)
        try:
            arguments = specialiser.bind(launcher.call.complete(args, {}))
            device = device_of(arguments)
            specs = tuple(as_specs(argument) for argument in arguments)
        except Exception:  # the launch itself says what is wrong
            return Kind(specialiser, grid.size, None, "none", limits)
        if device is None:
            return Kind(specialiser, grid.size, specs, "interpreter", limits)
        timer = self._timer(device)
        limits = self._limits or limits_of_gpu(timer.device.name) or limits
        return Kind(specialiser, grid.size, specs, timer.device.name, limits, timer,
                    stream_reader([array.info.owner for array in arrays(arguments)], device))  # type: ignore[union-attr]

    def _timer(self, device: int) -> Any:
        from tilewright.profiling.events import DeviceTimer

        found = self._timers.get(device)
        if found is None:
            found = self._timers[device] = DeviceTimer(device)
        return found

    def _read(self, kind: Kind, start: int, end: int, thread: int, stream: int, before: int, after: int,
              failed: bool) -> Launched:
        timed = kind.timer is not None and not self.broken and after != NOT_TIMED
        times = kind.timer.read(before, after) if kind.timer is not None and timed else None
        return Launched(kind, start, end, thread, stream, times, failed)

    def _recorded(self) -> Iterator[Launched]:
        """The launches that machine code has recorded."""
        for timer in self._timers.values():
            for r in timer.recorded():
                yield self._read(self._numbered[r.number], r.start, r.stop, r.thread, r.stream, r.before, r.after,
                                 failed=False)


@public
def profile(*, device: str | DeviceLimits | None = None) -> Profile:
    """A context that records every launch: its cost on the host, its time on the GPU, the bytes that it moves and the
    operations that it computes, and what was compiled, copied and waited for.

    Options: `device`, the GPU whose limits the launches are held against: by default the one that they run on, and
        "h200" where they run in the interpreter.
    Result: a Profile: `print(p)` shows it as a table, `p.as_data()` as JSON has it, `p.save_trace("trace.json")` writes
        what ui.perfetto.dev shows, `p.save_roofline("roofline.png")` a picture.
    Errors: TileValueError for an unknown GPU.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 128) * 2.0)

        x = np.ones(1024, np.float32)
        with ct.profile() as p:
            for _ in range(3):
                double[(8,)](x)
        [row] = p.rows
        print(row.kind.kernel, row.launches, row.estimate.bytes_read, row.estimate.flops)  # double 3 {'x': 4096} 1024
        ct.profile(device="h300")  # TileValueError
    """
    return Profile(device)
