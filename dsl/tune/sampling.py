"""How often a configuration is timed: until its mean is known well enough, or known to be worse than the best."""

from __future__ import annotations

import math
from collections.abc import Callable

WARM_UPS = 2
FEWEST, MOST = 5, 1000
RELATIVE_MARGIN = 0.01
ABSOLUTE_MARGIN_US = 0.5
BUDGET_US = 1e6  # of one configuration; runs of the interpreter can take long
SLOW_US = 0.25e6  # a first run that takes longer is warm-up enough


class Samples:
    """Times of runs in microseconds, with mean and error margin kept up to date (Welford's recurrence)."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, time: float) -> None:
        self.count += 1
        before = time - self.mean
        self.mean += before / self.count
        self._squares += before * (time - self.mean)

    @property
    def margin(self) -> float:
        """Half of the 95 % confidence interval of the mean; infinite before the second sample."""
        if self.count < 2:
            return math.inf
        return 1.96 * math.sqrt(self._squares / (self.count - 1) / self.count)

    @property
    def converged(self) -> bool:
        if self.count >= 2 and self.mean * self.count >= BUDGET_US:
            return True
        precise = self.margin <= max(RELATIVE_MARGIN * self.mean, ABSOLUTE_MARGIN_US)
        return self.count >= FEWEST and (precise or self.count >= MOST)

    def slower_than(self, best: Samples | None) -> bool:
        """Whether this mean is above that of `best` beyond both error margins."""
        return best is not None and self.count >= FEWEST and self.mean - self.margin > best.mean + best.margin


def measure(run: Callable[[], float], best: Samples | None) -> Samples:
    """Warm up, then time `run`, which returns the microseconds of one run."""
    for _ in range(WARM_UPS):
        if run() > SLOW_US:
            break
    samples = Samples()
    while not (samples.converged or samples.slower_than(best)):
        samples.add(run())
    return samples
