"""What a search returns: a measurement per configuration that ran, a reason per configuration that did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from tilewright.tune.sampling import Samples

T = TypeVar("T")

_MESSAGE_WIDTH = 72


@dataclass(frozen=True)
class Measurement(Generic[T]):
    """The time of one configuration, in microseconds.

    `mean_us`: mean of `num_samples` runs; `error_margin_us`: half of the mean's 95 % confidence interval.

    Example:
        m = ct.tune.Measurement(config=(64, 32), mean_us=12.5, num_samples=40, error_margin_us=0.1)
        print(m.config, m.mean_us)  # (64, 32) 12.5
    """

    config: T
    mean_us: float
    num_samples: int
    error_margin_us: float


@dataclass(frozen=True)
class TuningResult(Generic[T]):
    """All that a search found; `str()` is a table of it.

    `best`: the measurement with the least mean. `successes`: one per configuration that ran, in the order of the
    search space. `failures`: (configuration, name of the exception's type, its message) for each that did not.

    Example:
        fast, slow = ct.tune.Measurement(256, 3.0, 40, 0.1), ct.tune.Measurement(64, 5.0, 40, 0.1)
        result = ct.tune.TuningResult(fast, (fast, slow), ((100, "TileTypeError", "not a power of two"),))
        print(result.summary(top_k=1))
        # 2 succeeded, 1 failed
        # * 256  3.00 us +- 0.10 (40 runs)
        #   64   5.00 us +- 0.10 (40 runs)
        # ! 100: TileTypeError: not a power of two
    """

    best: Measurement[T]
    successes: Sequence[Measurement[T]]
    failures: Sequence[tuple[T, str, str]]

    def summary(self, top_k: int = 10, bottom_k: int = 2) -> str:
        """The `top_k` fastest and `bottom_k` slowest configurations, and up to `top_k` failures, one a line.

        A star marks the best.
        """
        ranked = sorted(self.successes, key=lambda m: m.mean_us)
        lines = [f"{len(self.successes)} succeeded, {len(self.failures)} failed"]
        top, bottom = max(top_k, 0), max(bottom_k, 0)
        hidden = max(len(ranked) - top - bottom, 0)
        if hidden == 1:
            hidden = 0  # a line that says so is no shorter
        shown = ranked if not hidden else ranked[:top] + ranked[len(ranked) - bottom:]
        lines += self._rows(shown)
        if hidden:
            lines.insert(1 + top, f"  ... {hidden} more ...")
        for config, name, message in list(self.failures)[:top]:
            lines.append(f"! {config}: {name}: {_first_line(message)}")
        if len(self.failures) > top:
            lines.append(f"! ... {len(self.failures) - top} more failures")
        return "\n".join(lines)

    def _rows(self, measurements: Sequence[Measurement[T]]) -> list[str]:
        names = [str(m.config) for m in measurements]
        means = [f"{m.mean_us:.2f}" for m in measurements]
        wide = max(map(len, names), default=0), max(map(len, means), default=0)
        return [f"{'*' if m is self.best else ' '} {name:<{wide[0]}}  {mean:>{wide[1]}} us +- {m.error_margin_us:.2f} "
                f"({m.num_samples} runs)" for m, name, mean in zip(measurements, names, means, strict=True)]

    def __str__(self) -> str:
        return self.summary()


def result_of(
    caller: str, tried: int, successes: Sequence[tuple[T, Samples]], failures: Sequence[tuple[T, str, str]],
    cause: Exception | None,
) -> TuningResult[T]:
    """What a search has found; ValueError, with the first failure as its cause, where no configuration ran."""
    if not successes:
        config, name, message = failures[0]
        raise ValueError(f"{caller}: none of the {tried} configurations ran. The first, {config}, failed with {name}: "
                         f"{message}") from cause
    found = [Measurement(config, s.mean, s.count, s.margin) for config, s in successes]
    return TuningResult(min(found, key=lambda m: m.mean_us), tuple(found), tuple(failures))


def _first_line(message: str) -> str:
    lines = message.strip().splitlines()
    line = lines[0] if lines else ""
    return line if len(line) <= _MESSAGE_WIDTH else line[:_MESSAGE_WIDTH - 3] + "..."
