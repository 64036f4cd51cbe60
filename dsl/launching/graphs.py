"""`tw.graph()`: the launches of a `with`, queued together by one call."""

from __future__ import annotations

from collections.abc import Sequence
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
        members = [_member(launch) for launch in self._recorded]
        on_gpu = [member for member in members if member.fixed is not None]
        first = _first(on_gpu)
        for member in members:
            if on_gpu and first is not None and _elsewhere(member, first):
                raise ValueError(f"the launches of a graph run in one place, but one is {place(first)} and one of "
                                 f"{member.launcher.name} is not; make a graph for each place")
        if on_gpu:
            self._captured = CapturedGraph([member.fixed for member in on_gpu if not member.grid.empty])
            self._stream = own_stream_of([argument for member in on_gpu for argument in member.arguments],
                                         None if first is None else first.device)
            self._memory = memory_of([real(a).owner for member in on_gpu for a in arrays(member.arguments)])
            owners = [real(array).owner for member in on_gpu
                      for array in outputs_of(member.arguments, member.fixed.written)]
            self._written = list({id(owner): owner for owner in owners if is_torch(type(owner))}.values())
        self._members = members

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
        self._kept = list(launches)
        self._executable: Any = None
        if not launches:
            return
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
            captured = check(result, "capturing a graph")
            self._executable = check(cuda.cuGraphInstantiate(captured, 0), "making a graph")
            cuda.cuGraphDestroy(captured)
        finally:
            cuda.cuStreamDestroy(stream)
        self._launch, self._free, self._check = cuda.cuGraphLaunch, cuda.cuGraphExecDestroy, check

    def launch(self, stream: int) -> None:
        """Queue all of it."""
        if self._executable is not None:
            self._kept[0].plan.device.ensure_current()
            self._check(self._launch(self._executable, stream), "launching a graph")

    def __del__(self) -> None:
        if getattr(self, "_executable", None) is not None:
            self._free(self._executable)


def _member(launch: RecordedLaunch) -> _Member:
    grid = make_grid(launch.grid if isinstance(launch.grid, tuple) else (launch.grid,))
    fixed, arguments, _ = launch.launcher.bind(grid, launch.args)
    return _Member(launch.launcher, grid, launch.args, fixed, arguments)


def _first(members: Sequence[_Member]) -> Any:
    return next((real(array) for member in members for array in arrays(member.arguments)), None)


def _elsewhere(member: _Member, first: Any) -> bool:
    own = _first([member])
    return own is None or own.device != first.device
