"""Timed runs in this process: by events on the GPU, by the clock in the interpreter."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewright.launching.grid import Grid
from tilewright.launching.launcher import own_stream
from tilewright.launching.streams import stream_handle
from tilewright.tune.place import gpu_of

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel
    from tilewright.tune.stopwatch import Stopwatch


class LocalRuns:
    """Runs of one configuration; called, it runs once and returns the microseconds. Arguments are made per run."""

    def __init__(
        self, kernel: tile_kernel, grid: Grid, make_args: Callable[[], tuple[Any, ...]], stream: Any
    ) -> None:
        self._kernel = kernel
        self._grid = grid
        self._make_args = make_args
        self._stream = stream

    def __call__(self) -> float:
        args = self._make_args()
        if not isinstance(args, tuple):
            raise TypeError(f"args_fn must return the kernel's arguments as a tuple, not {type(args).__name__}")
        launch = self._kernel.launcher.launch
        arguments = self._kernel.specialiser.bind(args)
        gpu = gpu_of(arguments, self._stream)
        if gpu is None:
            start = time.perf_counter()
            launch(self._grid, args, None)
            return (time.perf_counter() - start) * 1e6
        stream = stream_handle(self._stream) if self._stream is not None else own_stream(arguments)
        watch = stopwatch(gpu)
        watch.start(stream)
        launch(self._grid, args, stream)
        return watch.stop(stream)


_stopwatches: dict[int, Stopwatch] = {}


def stopwatch(ordinal: int) -> Stopwatch:
    """The stopwatch of a GPU."""
    found = _stopwatches.get(ordinal)
    if found is None:
        from tilewright.backend_ptx.runtime.driver import get_device
        from tilewright.tune.stopwatch import Stopwatch

        found = _stopwatches[ordinal] = Stopwatch(get_device(ordinal))
    return found
