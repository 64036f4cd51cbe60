"""exhaustive_search: time every configuration, keep the failures, return the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from tilewright.kernel import tile_kernel
from tilewright.launching.grid import make_grid
from tilewright.tracebacks import public
from tilewright.tune.local import LocalRuns
from tilewright.tune.process import RemoteError, RemoteRuns, Worker
from tilewright.tune.progress import Progress
from tilewright.tune.results import TuningResult, result_of
from tilewright.tune.sampling import Samples, measure

T = TypeVar("T")


@public
def exhaustive_search(
    search_space: Iterable[T], stream: Any, grid_fn: Callable[[T], tuple[int, ...]],
    kernel: tile_kernel | Callable[[T], tile_kernel], args_fn: Callable[[T], tuple[Any, ...]],
    hints_fn: Callable[[T], Mapping[str, Any]] | None = None, *, quiet: bool = False,
    single_run_timeout_sec: float | None = None,
) -> TuningResult[T]:
    """Run a kernel with every configuration of `search_space` and measure which is fastest.

    For a configuration `cfg`, which may be anything: `grid_fn(cfg)` is the grid, `args_fn(cfg)` the tuple of arguments,
    `hints_fn(cfg)` the options for `kernel.replace_hints` (None: as they are). `kernel` is a kernel, or a function that
    gives one for a configuration. `stream` as in `ct.launch`.

    A configuration is run until the mean of its time is known to 1 %, or to half a microsecond, or it is clear that it
    is slower than the best so far. On a GPU the time is that of the kernel alone, with cold caches; in the interpreter
    it is the wall clock's. What raises, in one of the functions, in the compiler or in a run, is no error: it is listed
    among the failures.

    `single_run_timeout_sec`: every configuration runs in another process, and one whose run takes longer than so many
    seconds fails with TileLaunchTimeoutError. The process gets a copy of the arguments and puts back before each run
    what the kernel writes, so arrays here do not change. Without it `args_fn` is called for each run, kernels run here
    and write to the arrays that it returns, and one that never ends is waited for.

    On a terminal a line shows the progress; at the end the result is printed. `quiet=True` prints nothing.

    Returns a TuningResult: `.best.config`, `.successes`, `.failures`, `.summary()`.
    Raises ValueError for an empty search space, and where no configuration ran (with the first failure as its cause).

    Example:
        @ct.tile_kernel
        def double(x, out, TILE: ct.Constant[int]):
            i = ct.bid(0)
            ct.store(out, i, ct.load(x, i, TILE) * 2.0)

        x = np.arange(1000, dtype=np.float32)
        out = np.zeros_like(x)
        result = ct.tune.exhaustive_search(
            [64, 100, 256], None, lambda n: (ct.cdiv(1000, n),), double, lambda n: (x, out, n), quiet=True)
        print(result.best.config in (64, 256), result.failures[0][:2])  # True (100, 'TileTypeError')
        double[(ct.cdiv(1000, result.best.config),)](x, out, result.best.config)
        ct.tune.exhaustive_search([], None, len, double, len)  # ValueError
    """
    space = list(search_space)
    if not space:
        raise ValueError("exhaustive_search: the search space is empty; there is nothing to try")
    if not isinstance(kernel, tile_kernel) and not callable(kernel):
        raise TypeError("exhaustive_search: kernel must be a kernel, or a function from a configuration to one, not "
                        f"{type(kernel).__name__}")
    search = _Search(stream, grid_fn, kernel, args_fn, hints_fn, _seconds(single_run_timeout_sec))
    with Progress(len(space), quiet=quiet) as progress:
        try:
            for config in space:
                search.try_one(config)
                progress.advance(None if search.best is None else search.best.mean, len(search.failures))
        finally:
            search.worker.end()
    result = search.result(len(space))
    if not quiet:
        print(result)
    return result


def _seconds(timeout: Any) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"exhaustive_search: single_run_timeout_sec must be a number or None, not {timeout!r}")
    if not 0 < timeout < math.inf:
        raise ValueError(f"exhaustive_search: single_run_timeout_sec must be above zero, not {timeout}")
    return float(timeout)


class _Search(Generic[T]):
    """The state of one search."""

    def __init__(
        self, stream: Any, grid_fn: Callable[[T], tuple[int, ...]], kernel: tile_kernel | Callable[[T], tile_kernel],
        args_fn: Callable[[T], tuple[Any, ...]], hints_fn: Callable[[T], Mapping[str, Any]] | None,
        timeout: float | None,
    ) -> None:
        self._stream = stream
        self._grid_fn = grid_fn
        self._kernel = kernel
        self._args_fn = args_fn
        self._hints_fn = hints_fn
        self._timeout = timeout
        self._hinted: dict[Hashable, tile_kernel] = {}
        self._successes: list[tuple[T, Samples]] = []
        self._first_error: Exception | None = None
        self.failures: list[tuple[T, str, str]] = []
        self.best: Samples | None = None
        self.worker = Worker()

    def try_one(self, config: T) -> None:
        """Measure a configuration, or record why it failed."""
        try:
            samples = measure(self._runs(config), self.best)
        except Exception as error:
            name = error.type_name if isinstance(error, RemoteError) else type(error).__name__
            self.failures.append((config, name, str(error) + self._advice(name)))
            self._first_error = self._first_error or error
            return
        self._successes.append((config, samples))
        if self.best is None or samples.mean < self.best.mean:
            self.best = samples

    def _runs(self, config: T) -> Callable[[], float]:
        kernel = self._kernel_of(config)
        grid = make_grid(self._grid_fn(config))
        if grid.empty:
            raise ValueError(f"the grid {grid.size} has no block, so there is nothing to time")
        if self._timeout is None:
            return LocalRuns(kernel, grid, lambda: self._args_fn(config), self._stream)
        args = self._args_fn(config)
        if not isinstance(args, tuple):
            raise TypeError(f"args_fn must return the kernel's arguments as a tuple, not {type(args).__name__}")
        return RemoteRuns(self.worker, kernel, grid, args, self._stream, self._timeout)

    def _kernel_of(self, config: T) -> tile_kernel:
        """The kernel with the configuration's hints; configurations with the same hints share one, and its code."""
        kernel = self._kernel if isinstance(self._kernel, tile_kernel) else self._kernel(config)
        if not isinstance(kernel, tile_kernel):
            raise TypeError(f"the function kernel must return a kernel, not {type(kernel).__name__}")
        hints = dict(self._hints_fn(config)) if self._hints_fn is not None else {}
        if not hints:
            return kernel
        hinted = kernel.replace_hints(**hints)
        return self._hinted.setdefault((id(kernel.specialiser.source), hinted.hints), hinted)

    def _advice(self, name: str) -> str:
        if name == "CudaError" and self._timeout is None:
            return ("; the GPU may refuse all further work of this process: with single_run_timeout_sec each "
                    "configuration runs in another one")
        return ""

    def result(self, tried: int) -> TuningResult[T]:
        return result_of("exhaustive_search", tried, self._successes, self.failures, self._first_error)
