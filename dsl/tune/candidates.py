"""What a search weighs beside times: code that compiles, spills, and the least time by the roofline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tilewright.kernel import tile_kernel
from tilewright.launching.grid import Grid, check_hardware
from tilewright.tune.elsewhere import Compilers, cores
from tilewright.tune.place import gpu_of
from tilewright.tune.space import Config


@dataclass(slots=True)
class Candidate:
    """A configuration that may be timed. `spilled` bytes per thread; `gpu`: where it runs, None in the interpreter."""

    config: Config
    kernel: tile_kernel
    grid: Grid
    args: tuple[Any, ...]
    spilled: int = 0
    gpu: int | None = None
    written: frozenset[int] = frozenset()


@dataclass(slots=True)
class Refused:
    """A configuration that cannot run, and why."""

    config: Config
    error: Exception


Make = Callable[[Config], Candidate]


def prepared(configs: Sequence[Config], make: Make, stream: Any) -> Iterator[Candidate | Refused]:
    """Compile all of them side by side, as they are done; many are compiled by processes of their own. Nothing is
    launched."""
    from tilewright.backend_ptx.runtime.build import elsewhere

    def one(config: Config) -> Candidate | Refused:
        try:
            return _compiled(make(config), stream)
        except Exception as error:
            return Refused(config, error)

    threads = min(len(configs), cores())
    with Compilers(len(configs)) as make_code, ThreadPoolExecutor(threads, "", elsewhere.set, (make_code,)) as pool:
        yield from pool.map(one, configs)


def _compiled(candidate: Candidate, stream: Any) -> Candidate:
    kernel, grid = candidate.kernel, candidate.grid
    if grid.empty:
        raise ValueError(f"the grid {grid.size} has no block, so there is nothing to time")
    arguments = kernel.specialiser.bind(candidate.args)
    gpu = candidate.gpu = gpu_of(arguments, stream)
    if gpu is None:
        candidate.written = kernel.specialiser.outputs(arguments, facts=False)
        return candidate
    check_hardware(grid)
    plan = kernel.launcher.gpu.prepare(arguments, grid.linear, gpu).over(grid, arguments)
    candidate.spilled, candidate.written = plan.kernel.local_bytes, plan.written
    return candidate


def least_time(candidate: Candidate) -> float:
    """Microseconds that memory or arithmetic units need at their measured limits; 0 in the interpreter, for a GPU
    without a record, and where counting would take too long. It counts for about a tenth of a second."""
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.estimating.devices import limits_of_gpu
    from tilewright.estimating.entry import estimated
    from tilewright.tileir.diagnostics import TileError

    limits = None if candidate.gpu is None else limits_of_gpu(get_device(candidate.gpu).name)
    if limits is None:
        return 0.0
    try:
        stages = candidate.kernel.lower(*candidate.args, target=limits.target)
        return 1e6 * estimated(stages, candidate.grid.size, limits).seconds
    except TileError:  # it runs too often to be counted
        return 0.0


def in_order(found: Sequence[Candidate]) -> list[Candidate]:
    """Those that promise most first, so that the others are soon seen to be slower: without spills, then as they were
    given."""
    return sorted(found, key=lambda candidate: candidate.spilled)
