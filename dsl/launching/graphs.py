"""`tw.graph()`: the launches of a `with`, queued together by one call."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, NamedTuple

from tilewright.arguments.arrays import is_torch, place
from tilewright.arguments.bind import Argument, arrays
from tilewright.arguments.checks import outputs_of, real
from tilewright.arguments.device_array import memory_of
from tilewright.arguments.torch_tensors import note_writes
from tilewright.launching.current import current
from tilewright.launching.grid import Grid, make_grid
from tilewright.launching.held import seen
from tilewright.launching.launcher import own_stream_of
from tilewright.launching.recording import recorded
from tilewright.launching.streams import stream_handle
from tilewright.launching.tracing import RecordedLaunch, not_traced
from tilewright.tracebacks import public


class _Member(NamedTuple):
    """A launch of a graph; `fixed` is None where the interpreter runs it."""

    launcher: Any
    grid: Grid
    args: tuple[Any, ...]
    fixed: Any
    arguments: Sequence[Argument]


class LaunchGraph:
    """What `graph()` gives: once the `with` has ended, each call queues all of its launches. It keeps their arrays
    alive, and their numbers as they were.

    Arguments: `stream`, as in a launch.
    Errors: RuntimeError for a call before the `with` has ended; those of the driver.

    Example:
        with ct.graph() as g:
            pass
        g()
        print(type(g).__name__)  # LaunchGraph
    """

    def __init__(self) -> None:
        self._members: list[_Member] | None = None
        self._recorder: AbstractContextManager[list[RecordedLaunch]] = recorded()
        self._recorded: list[RecordedLaunch] = []
        self._captured: Any = None
        self._written: list[Any] = []

    def __enter__(self) -> LaunchGraph:
        if self._members is not None:
            raise RuntimeError("this graph has its launches; make another one: with tw.graph() as g")
        self._recorded = self._recorder.__enter__()
        return self

    @public
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recorder.__exit__(kind, error, trace)
        if kind is not None:
            return
        self._take([_member(launch) for launch in self._recorded])

    def _take(self, members: list[_Member]) -> None:
        """Be the graph of these launches from now on."""
        on_gpu = [member for member in members if member.fixed is not None]
        first = _first(on_gpu)
        for member in members:
            if on_gpu and first is not None and _elsewhere(member, first):
                raise ValueError(f"the launches of a graph run in one place, but one is {place(first)} and one of "
                                 f"{member.launcher.name} is not; make a graph for each place")
        if on_gpu:
            launches = [member.fixed for member in on_gpu if not member.grid.empty]
            if self._captured is None:
                self._captured = CapturedGraph(launches)
            else:
                self._captured.update(launches)
            self._stream = own_stream_of([argument for member in on_gpu for argument in member.arguments],
                                         None if first is None else first.device)
            self._memory = memory_of([real(a).owner for member in on_gpu for a in arrays(member.arguments)])
            owners = [real(array).owner for member in on_gpu
                      for array in outputs_of(member.arguments, member.fixed.written)]
            self._written = list({id(owner): owner for owner in owners if is_torch(type(owner))}.values())
        else:
            self._captured = None
        self._members = members

    @not_traced
    @public
    def update(self, *changes: tuple[Any, Any]) -> None:
        """Let the launches take other arrays: `g.update((x, y), ...)` puts y where x was, in all of them, also in
        lists and tuples. Calls from now on use them; what is queued already is as it was. On a GPU the driver exchanges
        the pointers in the graph that is there; it is made anew only where that cannot be, for another kernel say.

        Arguments: `changes`, pairs of an array that was given to a launch and the one that takes its place.
        Errors: RuntimeError before the `with` has ended; TypeError for what is no pair; ValueError for an array that no
            launch takes; those of the launches, which leave the graph as it was.

        Example:
            @ct.tile_kernel
            def double(x):
                i = ct.bid(0)
                ct.store(x, i, ct.load(x, i, 4) * 2.0)

            x, y = np.ones(8, np.float32), np.ones(8, np.float32)
            with ct.graph() as g:
                double[2](x)
            g.update((x, y))
            g()
            print(x[0], y[0])  # 1.0 2.0
        """
        if self._members is None:
            raise RuntimeError("the graph has no launches yet: update it behind the `with`")
        for change in changes:
            if not isinstance(change, tuple) or len(change) != 2:
                raise TypeError("a change is a pair of arrays, the old one and the new one, not "
                                f"{type(change).__name__}")
        found: set[int] = set()
        new = {id(old): replacement for old, replacement in changes}
        args = [_replaced(member.args, new, found) for member in self._members]
        for number, (old, _) in enumerate(changes):
            if id(old) not in found:
                raise ValueError(f"no launch of the graph takes the array that change {number} replaces")
        self._take([
            member if all(map(operator.is_, member.args, given)) else _bound(member.launcher, member.grid, given)
            for member, given in zip(self._members, args, strict=True)])

    @not_traced
    @public
    def __call__(self, *, stream: Any = None) -> None:
        """Queue all launches, on `stream`, by default the current one of the arrays' library."""
        if self._members is None:
            raise RuntimeError("the graph has no launches yet: call it behind the `with`")
        if self._captured is None or seen():
            for member in self._members:
                member.launcher.launch(member.grid, member.args, stream)
            return
        note_writes(self._written)
        stream = current() if stream is None else stream
        self._captured.launch(self._stream() if stream is None else stream_handle(stream))


@public
def graph() -> LaunchGraph:
    """A context whose launches do not run, but are queued together by each call of what it gives: on a GPU they are
    one CUDA graph, which costs the host one call.

    Launches of this thread alone count, and nothing else that the `with` does: torch's operators run at once. Kernels
    are compiled when it ends. A stream that a launch names has no meaning in it.

    Result: a LaunchGraph.
    Errors: at the end of the `with` those of the launches; ValueError for launches in several places.

    Example:
        @ct.tile_kernel
        def double(x):
            i = ct.bid(0)
            ct.store(x, i, ct.load(x, i, 4) * 2.0)

        x = np.ones(8, np.float32)
        with ct.graph() as g:
            double[2](x)
            double[2](x)
        print(x[0])  # 1.0
        g()
        print(x[0])  # 4.0
    """
    return LaunchGraph()


class CapturedGraph:
    """Packed launches as an executable graph. The driver has copied their parameters; what these point to, tables of
    lists among it, is kept as long as the graph."""

    def __init__(self, launches: Sequence[Any]) -> None:
        from tilewright.backend_ptx.runtime.driver import check, driver

        cuda = driver()
        self._kept: list[Any] = []
        self._executable: Any = None
        self._launch, self._free, self._check = cuda.cuGraphLaunch, cuda.cuGraphExecDestroy, check
        self.update(launches)

    def update(self, launches: Sequence[Any]) -> None:
        """Be these launches from the next call on: with other parameters where the driver can put them in the place of
        those of now, else anew."""
        from tilewright.backend_ptx.runtime.driver import check, driver

        cuda, before = driver(), self._executable
        captured = _captured(launches) if launches else None
        try:
            if captured is None:
                self._executable = None
            elif before is None or int(cuda.cuGraphExecUpdate(before, captured)[0]):
                self._executable = check(cuda.cuGraphInstantiate(captured, 0), "making a graph")
        finally:
            if captured is not None:
                cuda.cuGraphDestroy(captured)
        if before is not None and before is not self._executable:
            self._free(before)
        if any(launch.tables is not None for launch in self._kept):
            check(cuda.cuCtxSynchronize(), "waiting for the GPU")  # what is queued reads the tables that go now
        self._kept = list(launches)

    def launch(self, stream: int) -> None:
        """Queue all of it."""
        if self._executable is not None:
            self._kept[0].plan.device.ensure_current()
            self._check(self._launch(self._executable, stream), "launching a graph")

    def __del__(self) -> None:
        if getattr(self, "_executable", None) is not None:
            self._free(self._executable)


def _captured(launches: Sequence[Any]) -> Any:
    """Packed launches as a graph, on one device."""
    from tilewright.backend_ptx.runtime.driver import check, driver

    cuda = driver()
    launches[0].plan.device.ensure_current()
    stream = check(cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING.value), "making a stream")
    try:
        # Of this thread alone: others may allocate while it captures.
        mode = cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        check(cuda.cuStreamBeginCapture(stream, mode), "capturing a graph")
        try:
            for launch in launches:
                launch.plan.queue(launch.grid, launch.frame, int(stream))
        finally:
            result = cuda.cuStreamEndCapture(stream)
        return check(result, "capturing a graph")
    finally:
        cuda.cuStreamDestroy(stream)


def _member(launch: RecordedLaunch) -> _Member:
    grid = make_grid(launch.grid if isinstance(launch.grid, tuple) else (launch.grid,))
    return _bound(launch.launcher, grid, launch.args)


def _bound(launcher: Any, grid: Grid, args: tuple[Any, ...]) -> _Member:
    fixed, arguments, _ = launcher.bind(grid, args)
    return _Member(launcher, grid, args, fixed, arguments)


def _replaced(value: Any, new: Mapping[int, Any], found: set[int]) -> Any:
    """A value, or a list or tuple with others in it, by the identity of what they replace, which is noted; the very
    value where nothing is."""
    if id(value) in new:
        found.add(id(value))
        return new[id(value)]
    if type(value) not in (list, tuple):
        return value
    made = [_replaced(item, new, found) for item in value]
    return value if all(map(operator.is_, value, made)) else type(value)(made)


def _first(members: Sequence[_Member]) -> Any:
    return next((real(array) for member in members for array in arrays(member.arguments)), None)


def _elsewhere(member: _Member, first: Any) -> bool:
    own = _first([member])
    return own is None or own.device != first.device
