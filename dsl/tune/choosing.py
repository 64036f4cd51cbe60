"""The search of `autotune`: compile all, leave out what cannot win, time the rest until the best is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.tune.candidates import Candidate, Make, Refused, in_order, prepared
from tilewright.tune.local import LocalRuns
from tilewright.tune.place import gpu_of
from tilewright.tune.process import RemoteError, RemoteRuns, Worker
from tilewright.tune.progress import Progress
from tilewright.tune.results import Measurement, TuningResult
from tilewright.tune.sampling import Samples, measure
from tilewright.tune.saved import Saved
from tilewright.tune.space import Config

Timer = Callable[[Callable[[], None]], float]
TIMINGS = ("cold", "graph")


@dataclass(frozen=True, slots=True)
class How:
    """How a search measures. `timing`: with an empty L2 cache, or many launches in a CUDA graph; `timer` in place of
    both; `timeout`: seconds of one run, each configuration in another process; `seconds` for the whole search."""

    timing: str = "cold"
    timer: Timer | None = None
    timeout: float | None = None
    seconds: float | None = None
    quiet: bool = True


@dataclass(slots=True)
class Search:
    """The state of one search."""

    how: How
    stream: Any
    successes: list[tuple[Config, Samples]] = field(default_factory=list)
    failures: list[tuple[Config, str, str]] = field(default_factory=list)
    best: Samples | None = None
    first_error: Exception | None = None
    worker: Worker = field(default_factory=Worker)

    def run(self, configs: Sequence[Config], make: Make) -> TuningResult[Config]:
        """Try them; ValueError where none runs. Arrays hold afterwards what they held before."""
        start = time.monotonic()
        found: list[Candidate] = []
        with Progress(2 * len(configs), quiet=self.how.quiet) as progress:
            for one in prepared(configs, make, self.stream):
                if isinstance(one, Refused):
                    self._failed(one.config, one.error)
                else:
                    found.append(one)
                progress.advance(None, len(self.failures))
            try:
                for candidate in in_order(found):
                    late = self.how.seconds is not None and time.monotonic() - start > self.how.seconds
                    self._time(candidate, late and self.best is not None)
                    progress.advance(None if self.best is None else self.best.mean, len(self.failures))
            finally:
                self.worker.end()
        return self._result(len(configs))

    def _time(self, candidate: Candidate, late: bool) -> None:
        """Measure one, or say why not."""
        if late:
            self.failures.append((candidate.config, "NotTried", f"the {self.how.seconds:g} s of the search were over"))
            return
        if self.best is not None and candidate.least > self.best.mean + self.best.margin:
            self.failures.append((candidate.config, "NotTried", f"it takes at least {candidate.least:.2f} us"))
            return
        try:
            samples = self._samples(candidate)
        except Exception as error:
            self._failed(candidate.config, error)
            return
        self.successes.append((candidate.config, samples))
        if self.best is None or samples.mean < self.best.mean:
            self.best = samples

    def _samples(self, candidate: Candidate) -> Samples:
        how, kernel, grid, args = self.how, candidate.kernel, candidate.grid, candidate.args
        if how.timeout is not None and how.timer is None:
            return measure(RemoteRuns(self.worker, kernel, grid, args, self.stream, how.timeout), self.best)
        arguments = kernel.specialiser.bind(args)
        saved = Saved(arguments, candidate.written)
        try:
            if how.timer is not None:
                samples = Samples()
                samples.add(float(how.timer(lambda: kernel.launcher.launch(grid, args, self.stream))))
                return samples
            gpu = gpu_of(arguments, self.stream)
            if gpu is not None and how.timing == "graph":
                return _in_a_graph(candidate, gpu, self.best)
            return measure(LocalRuns(kernel, grid, lambda: args, self.stream), self.best)
        finally:
            saved.restore()

    def _failed(self, config: Config, error: Exception) -> None:
        name = error.type_name if isinstance(error, RemoteError) else type(error).__name__
        self.failures.append((config, name, str(error)))
        self.first_error = self.first_error or error

    def _result(self, tried: int) -> TuningResult[Config]:
        if not self.successes:
            config, name, message = self.failures[0]
            raise ValueError(f"autotune: none of the {tried} configurations ran. The first, {config}, failed with "
                             f"{name}: {message}") from self.first_error
        found = [Measurement(config, s.mean, s.count, s.margin) for config, s in self.successes]
        return TuningResult(min(found, key=lambda m: m.mean_us), tuple(found), tuple(self.failures))


def _in_a_graph(candidate: Candidate, gpu: int, best: Samples | None) -> Samples:
    from tilewright.backend_ptx.runtime.driver import get_device
    from tilewright.tune.graphs import GraphRuns

    runs = GraphRuns(candidate.kernel, candidate.grid, candidate.args, get_device(gpu))
    try:
        return measure(runs, best)
    finally:
        runs.close()
