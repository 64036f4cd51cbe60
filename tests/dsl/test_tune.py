"""ct.tune: results, sampling, searches in the interpreter."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.tune_kernels import grid, scale

import tilewright as ct
from tilewright.tileir.diagnostics import TileCompilerTimeoutError
from tilewright.tune import Measurement, TuningResult, exhaustive_search
from tilewright.tune.sampling import BUDGET_US, FEWEST, MOST, Samples, measure

# ---- results --------------------------------------------------------------------------------------------------------


def made(count: int, failures: int = 0) -> TuningResult[int]:
    found = [Measurement(k, 10.0 * k, 7, 0.25) for k in range(count, 0, -1)]
    return TuningResult(found[-1], found, [(k, "TileTypeError", f"bad {k}\nmore") for k in range(failures)])


def test_summary() -> None:
    text = str(made(3, 1)).splitlines()
    assert text[0] == "3 succeeded, 1 failed"
    assert [line.split() for line in text[1:3]] == [["*", "1", "10.00", "us", "+-", "0.25", "(7", "runs)"],
                                                   ["2", "20.00", "us", "+-", "0.25", "(7", "runs)"]]
    assert text[4] == "! 0: TileTypeError: bad 0" and len(text) == 5


@pytest.mark.parametrize("count, lines, hidden", [(12, 13, ""), (13, 14, ""), (14, 14, "  ... 2 more ..."),
                                                  (30, 14, "  ... 18 more ...")])
def test_long_summaries(count: int, lines: int, hidden: str) -> None:
    text = made(count).summary().splitlines()
    assert len(text) == lines and (hidden == "" or text[11] == hidden)
    assert text[-1].split()[0] == str(count)


def test_summary_options() -> None:
    assert len(made(9).summary(top_k=2, bottom_k=0).splitlines()) == 4
    assert made(3, 20).summary(top_k=2).splitlines()[-1] == "! ... 18 more failures"


def test_results_are_generic_and_frozen() -> None:
    for generic in (TuningResult, Measurement):
        generic_class: Any = generic
        assert generic_class[int].__origin__ is generic
    with pytest.raises(AttributeError):
        made(1).best = None


# ---- sampling -------------------------------------------------------------------------------------------------------


def samples(*times: float) -> Samples:
    out = Samples()
    for time in times:
        out.add(time)
    return out


def test_mean_and_margin() -> None:
    times = [3.0, 5.0, 9.0, 4.0, 8.5]
    got = samples(*times)
    assert math.isclose(got.mean, np.mean(times)) and got.count == 5
    assert math.isclose(got.margin, 1.96 * np.std(times, ddof=1) / math.sqrt(5))
    assert samples(1.0).margin == math.inf


def test_when_sampling_ends() -> None:
    assert measure(lambda: 100.0, None).count == FEWEST
    noise = itertools.cycle([100.0, 300.0])
    noisy = measure(lambda: next(noise), None)
    assert noisy.count == MOST and noisy.margin > 0.01 * noisy.mean
    slow = iter([BUDGET_US] * 9)
    assert measure(lambda: next(slow), None).count == 2, "one warm-up and two runs are enough for slow ones"
    best = samples(*[10.0] * 5)
    noise = itertools.cycle([100.0, 300.0])
    assert measure(lambda: next(noise), best).count < 20, "what cannot win is not measured exactly"


# ---- searches here --------------------------------------------------------------------------------------------------


def test_search_in_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    x, y = np.ones(256, np.float32), np.zeros(256, np.float32)
    calls: list[int] = []

    def args(n: int) -> tuple[Any, ...]:
        calls.append(n)
        return x, y, n

    result = exhaustive_search([16, 3, 64], None, grid, scale, args)
    assert (y == 2).all()
    assert [m.config for m in result.successes] == [16, 64] and result.best in result.successes
    assert result.best.mean_us == min(m.mean_us for m in result.successes)
    [(config, name, message)] = result.failures
    assert (config, name) == (3, "TileTypeError") and "powers of two" in message
    assert calls.count(16) - result.successes[0].num_samples in (1, 2), "arguments are made for each run"
    assert capsys.readouterr().out == f"{result}\n"


def test_quiet_and_generators(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.ones(256, np.float32)
    result = exhaustive_search((n for n in (16, 32)), 0 if ct.gpu_available() else None, grid, scale,
                               lambda n: (x, np.empty_like(x), n), quiet=True)
    assert len(result.successes) == 2 and capsys.readouterr().out == ""


def test_progress_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich takes the output for a terminal
    monkeypatch.setenv("COLUMNS", "160")
    x = np.ones(256, np.float32)
    exhaustive_search([16, 3], None, grid, scale, lambda n: (x, np.empty_like(x), n))
    out = capsys.readouterr().out
    assert "tuning" in out and "2/2" in out and "best" in out and "1 failed" in out


def test_hints() -> None:
    x = np.ones(256, np.float32)
    seen: list[Any] = []

    def chosen(n: int) -> ct.tile_kernel:
        seen.append(n)
        return scale

    result = exhaustive_search(
        [16, 32, 64], None, grid, chosen, lambda n: (x, np.empty_like(x), n),
        lambda n: {"occupancy": ct.ByTarget(sm_90=n // 16)} if n < 64 else {"colour": 1}, quiet=True)
    assert seen == [16, 32, 64] and [m.config for m in result.successes] == [16, 32]
    assert result.failures[0][1:] == ("TypeError", result.failures[0][2]) and "colour" in result.failures[0][2]


@pytest.mark.parametrize("name, broken", [
    ("ZeroDivisionError", {"grid_fn": lambda n: (1 // 0,)}),
    ("TypeError", {"grid_fn": lambda n: 3}),
    ("ValueError", {"grid_fn": lambda n: (0,)}),
    ("KeyError", {"args_fn": lambda n: dict[str, Any]()["x"]}),
    ("TypeError", {"args_fn": lambda n: [1, 2, n]}),
    ("TypeError", {"args_fn": lambda n: (1, 2)}),
    ("ValueError", {"hints_fn": lambda n: {"occupancy": 99}}),
    ("TypeError", {"kernel": lambda n: print}),
])
@pytest.mark.parametrize("timeout", [None, 60])
def test_all_failing(name: str, broken: dict[str, Any], timeout: float | None) -> None:
    x = np.ones(256, np.float32)
    functions: dict[str, Any] = {"grid_fn": grid, "kernel": scale, "args_fn": lambda n: (x, np.empty_like(x), n)}
    with pytest.raises(ValueError, match=rf"none of the 2 configurations ran. The first, 16, failed with {name}"
                       ) as caught:
        exhaustive_search([16, 32], None, quiet=True, single_run_timeout_sec=timeout, **{**functions, **broken})
    assert type(caught.value.__cause__).__name__ == name


def test_bad_calls() -> None:
    with pytest.raises(ValueError, match="the search space is empty"):
        exhaustive_search([], None, grid, scale, lambda n: ())
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        exhaustive_search([1], None, grid, 3, lambda n: ())  # type: ignore[arg-type]
    for timeout, error in ((0, ValueError), (-1.0, ValueError), ("3", TypeError), (True, TypeError)):
        with pytest.raises(error, match="single_run_timeout_sec"):
            exhaustive_search([1], None, grid, scale, lambda n: (),
                              single_run_timeout_sec=timeout)  # type: ignore[arg-type]


def test_compilations_that_take_too_long_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    import tilewright.frontend as frontend

    original = frontend.translate

    def slow(*args: Any, **named: Any) -> Any:
        for _ in range(12_000):  # until it is stopped
            time.sleep(0.005)
        return original(*args, **named)

    monkeypatch.setattr(frontend, "translate", slow)
    fresh = scale.replace_hints(occupancy=3)
    x = np.ones(256, np.float32)
    with ct.compiler_timeout(0.1), pytest.raises(ValueError, match="TileCompilerTimeoutError") as caught:
        exhaustive_search([16], None, grid, fresh, lambda n: (x, np.empty_like(x), n), quiet=True)
    assert isinstance(caught.value.__cause__, TileCompilerTimeoutError)
