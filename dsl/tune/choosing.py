"""The search of `autotune`: compile all, time them until the best is known, but for those that cannot win."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.tune.candidates import Candidate, Make, Refused, in_order, least_time, prepared
from tilewright.tune.local import LocalRuns
from tilewright.tune.place import gpu_of
from tilewright.tune.process import RemoteError, RemoteRuns, Worker
from tilewright.tune.progress import Progress
from tilewright.tune.results import TuningResult, result_of
from tilewright.tune.sampling import Samples, measure
from tilewright.tune.saved import Saved
from tilewright.tune.space import Config

Timer = Callable[[Callable[[], None]], float]
TIMINGS = ("cold", "graph")
FINALISTS, TURNS = 6, 15
NEAR = 0.03  # how much slower than the best a finalist may have been
# Microseconds of the best from which on it is quicker to count what another must take at least than to time it.
LONG = 15_000.0


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
class Tuning:
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
                self._finals({candidate.config: candidate for candidate in found})
            finally:
                self.worker.end()
        return result_of("autotune", len(configs), self.successes, self.failures, self.first_error)

    def _time(self, candidate: Candidate, late: bool) -> None:
        """Measure one, or say why not."""
        if late:
            self.failures.append((candidate.config, "NotTried", f"the {self.how.seconds:g} s of the search were over"))
            return
        if self.best is not None and self.best.mean > LONG:
            least = least_time(candidate)
            if least > self.best.mean + self.best.margin:
                self.failures.append((candidate.config, "NotTried", f"it takes at least {least:.2f} us"))
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
        with self._memory_kept(candidate):
            if how.timer is None:
                with self._runs(candidate) as run:
                    return measure(run, self.best)
            samples = Samples()
            samples.add(float(how.timer(lambda: kernel.launcher.launch(grid, args, self.stream))))
            return samples

    def _finals(self, candidates: dict[Config, Candidate]) -> None:
        """Time those that came close again, in turn: a GPU's clock changes in the course of a search."""
        if self.best is None or self.how.timer is not None or self.how.timeout is not None:
            return
        limit = self.best.mean * (1.0 + NEAR) + self.best.margin
        near = sorted((s for s in self.successes if s[1].mean - s[1].margin <= limit), key=lambda s: s[1].mean)
        finalists = [config for config, _ in near[:FINALISTS]]
        if len(finalists) < 2:
            return
        again = {config: Samples() for config in finalists}
        with contextlib.ExitStack() as stack:
            for config in finalists:
                stack.enter_context(self._memory_kept(candidates[config]))
            runs = {config: stack.enter_context(self._runs(candidates[config])) for config in finalists}
            for turn in range(TURNS):
                for config in finalists[turn % len(finalists):] + finalists[:turn % len(finalists)]:
                    again[config].add(runs[config]())
        self.successes = [(config, again.get(config, samples)) for config, samples in self.successes
                          if config in again or samples.mean > max(s.mean for s in again.values())]

    @contextlib.contextmanager
    def _memory_kept(self, candidate: Candidate) -> Iterator[None]:
        """Whatever runs in this context writes is put back at its end."""
        saved = Saved(candidate.kernel.specialiser.bind(candidate.args), candidate.written)
        try:
            yield
        finally:
            saved.restore()

    @contextlib.contextmanager
    def _runs(self, candidate: Candidate) -> Iterator[Callable[[], float]]:
        """A function that runs it and returns the microseconds of a launch."""
        kernel, grid, args = candidate.kernel, candidate.grid, candidate.args
        gpu = gpu_of(kernel.specialiser.bind(args), self.stream)
        if gpu is None or self.how.timing != "graph":
            yield LocalRuns(kernel, grid, lambda: args, self.stream)
            return
        from tilewright.backend_ptx.runtime.driver import get_device
        from tilewright.tune.graphs import GraphRuns

        runs = GraphRuns(kernel, grid, args, get_device(gpu))
        try:
            yield runs
        finally:
            runs.close()

    def _failed(self, config: Config, error: Exception) -> None:
        name = error.type_name if isinstance(error, RemoteError) else type(error).__name__
        self.failures.append((config, name, str(error)))
        self.first_error = self.first_error or error
