"""`ct.autotune`: what is chosen, what is remembered, and what a search leaves as it was."""
# ruff: noqa: F821, UP037
# mypy: disable-error-code="type-arg, name-defined"

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as ct
from tilewright.tune import choosing, stored
from tilewright.tune.candidates import Candidate, in_order
from tilewright.tune.keys import bucket
from tilewright.tune.sampling import Samples
from tilewright.tune.space import Config


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_TUNE_FILE", raising=False)
    monkeypatch.delenv("TILEWRIGHT_NO_TUNE", raising=False)
    return tmp_path / "cache"


@ct.tile_kernel(grid="cdiv(N, tile)")
def increment(x: ct.Array["N"], tile: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(x, i, ct.load(x, i, tile) + 1.0)


@ct.tile_kernel(grid="cdiv(M, tm), cdiv(N, tn)")
def product(
    a: ct.Array["M", "K"], b: ct.Array["K", "N"], c: ct.Array["M", "N"],
    tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int] = 16,
):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.cdiv(a.shape[1], tk)):
        acc = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), acc)
    ct.store(c, (i, j), acc)


class Clock:
    """A timer: a launch takes as long as `times` says, in the order in which the configurations are timed."""

    def __init__(self, *times: float) -> None:
        self.times: Iterator[float] = iter(times)
        self.count = 0

    def __call__(self, launch: Callable[[], None]) -> float:
        launch()
        launch()
        self.count += 1
        return next(self.times)


def tuned(clock: Any, **options: Any) -> Any:
    return ct.autotune(space={"tile": (32, 64, 128)}, timer=clock, **options)(increment)


def test_the_fastest_is_chosen_once_and_arrays_are_left_alone(cache: Path) -> None:
    clock = Clock(3.0, 1.0, 2.0)
    kernel, x = tuned(clock), np.zeros(112, np.float32)
    assert str(kernel.choose(x)) == "tile=64" and not x.any(), "a search puts back what its runs have written"
    kernel(x)
    kernel(x)
    kernel(np.zeros(128, np.float32))  # of the same size, rounded up
    assert (x == 2.0).all() and clock.count == 3
    assert str(kernel.result).splitlines()[:2] == ["3 succeeded, 0 failed", "* tile=64   1.00 us +- inf (1 runs)"]
    clock.times = iter([1.0, 2.0, 3.0])
    kernel(np.zeros(144, np.float32))
    assert clock.count == 6 and [str(c) for c in kernel.choices.values()] == ["tile=64", "tile=32"]


def test_another_process_times_nothing() -> None:
    x = np.zeros(100, np.float32)
    tuned(Clock(3.0, 1.0, 2.0))(x)
    later = Clock()
    assert tuned(later).choose(x).tile == 64 and later.count == 0
    other = Clock(1.0, 2.0)
    assert ct.autotune(space={"tile": (64, 128)}, timer=other)(increment).choose(x).tile == 64
    assert other.count == 2, "of other configurations nothing is known"


def test_it_is_searched_anew_for_other_code_and_other_arguments() -> None:
    @ct.tile_kernel(grid="cdiv(N, tile)")
    def decrement(x: ct.Array["N"], tile: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(x, i, ct.load(x, i, tile) - 1.0)

    tuned(Clock(3.0, 1.0, 2.0)).choose(np.zeros(100, np.float32))
    for kernel, x in ((decrement, np.zeros(100, np.float32)), (increment, np.zeros(100, np.float16))):
        clock = Clock(3.0, 2.0, 1.0)
        assert ct.autotune(space={"tile": (32, 64, 128)}, timer=clock)(kernel).choose(x).tile == 128
        assert clock.count == 3


def test_named_dimensions_decide() -> None:
    clock = Clock(3.0, 1.0, 2.0, 1.0, 2.0, 3.0)
    kernel = tuned(clock, key="N")
    assert kernel.choose(np.zeros(100, np.float32)).tile == 64
    assert kernel.choose(np.zeros(101, np.float32)).tile == 32, "by the very value, where a name is given"
    with pytest.raises(TypeError, match="key names 'M', which is no dimension"):
        tuned(Clock(), key=("M",)).choose(np.zeros(8, np.float32))


def test_constants_decide() -> None:
    @ct.tile_kernel(grid="cdiv(N, tile)")
    def add(x: ct.Array["N"], step: ct.Constant[int], tile: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(x, i, ct.load(x, i, tile) + step)

    clock, x = Clock(3.0, 1.0, 2.0, 1.0, 2.0, 3.0), np.zeros(100, np.float32)
    kernel = ct.autotune(space={"tile": (32, 64, 128)}, timer=clock, key=("N", "step"))(add)
    assert (kernel.choose(x, 1).tile, kernel.choose(x, 2).tile, kernel.choose(x, step=1).tile) == (64, 32, 64)
    assert clock.count == 6


def test_without_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros(100, np.float32)
    assert ct.autotune(space={"tile": (32, 64)})(increment).choose(x).tile == 32, "the interpreter's times say nothing"
    monkeypatch.setenv("TILEWRIGHT_NO_TUNE", "1")
    assert tuned(Clock()).choose(x).tile == 32
    monkeypatch.delenv("TILEWRIGHT_NO_TUNE")
    tuned(Clock(3.0, 1.0, 2.0)).choose(x)
    monkeypatch.setenv("TILEWRIGHT_NO_TUNE", "1")
    assert tuned(Clock()).choose(x).tile == 64, "what is stored is taken"


def test_a_file_for_a_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    file = tmp_path / "tuned" / "choices.json"
    monkeypatch.setenv("TILEWRIGHT_TUNE_FILE", str(file))
    tuned(Clock(3.0, 1.0, 2.0)).choose(np.zeros(100, np.float32))
    tuned(Clock(3.0, 2.0, 1.0)).choose(np.zeros(1000, np.float32))
    choices = json.loads(file.read_text())["choices"].values()
    assert sorted((c["for"], c["config"], c["us"]) for c in choices) == [
        ("x: float32[1024]", "tile=128", 1.0), ("x: float32[128]", "tile=64", 1.0)]
    assert tuned(Clock()).choose(np.zeros(900, np.float32)).tile == 128
    assert not list(cache.glob("**/*.twk")) and len(list(file.parent.iterdir())) == 1
    file.write_text("[]")
    with pytest.raises(ValueError, match="is no file of tuned choices; name another one, or remove it"):
        tuned(Clock()).choose(np.zeros(100, np.float32))


def test_a_stored_choice_that_is_damaged_is_none() -> None:
    configs = [Config({"tile": 32}), Config({"tile": 64})]
    for entry in ({"index": 2, "config": "tile=64"}, {"index": 1, "config": "tile=32"}, {"index": True}, {}):
        stored.store("ab" * 32, configs, configs[1], {})
        assert stored.load("ab" * 32, configs) is configs[1]
        from tilewright.tileir.cache import Entry, open_cache

        folder = open_cache()
        assert folder is not None
        folder.store("ab" * 32, Entry({"tuning": entry}, ""))
        assert stored.load("ab" * 32, configs) is None


def test_ranks_agree() -> None:
    asked = []

    def broadcast(number: int) -> int:
        asked.append(number)
        return 2

    kernel, x = tuned(Clock(3.0, 1.0, 2.0), broadcast=broadcast), np.zeros(100, np.float32)
    kernel(x)
    kernel(x)
    assert asked == [1] and kernel.choose(x).tile == 128 and asked == [1]


def test_what_a_launch_gives_is_not_chosen() -> None:
    kernel, x = tuned(Clock()), np.zeros(100, np.float32)
    kernel(x, tile=64)
    kernel(x, 64)
    assert (x == 2.0).all()
    with pytest.raises(ValueError, match=r"kernel increment: no configuration has tile=16; leave it out"):
        kernel(x, tile=16)


def test_grids_of_the_configuration() -> None:
    clock = Clock(2.0, 1.0)
    kernel = ct.autotune([{"tile": 32}, {"tile": 64, "num_worker_warps": 8}], timer=clock)(increment)
    x = np.zeros(100, np.float32)
    kernel[lambda config: ct.cdiv(100, config.tile)](x)
    assert (x == 1.0).all() and clock.count == 2
    assert str(kernel.choose(x, grid=lambda config: (ct.cdiv(100, config.tile),))) == "tile=64, num_worker_warps=8"


def test_a_new_grid_function_for_each_launch_is_no_new_choice() -> None:
    @ct.tile_kernel
    def add(x, tile: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(x, i, ct.load(x, i, tile) + 1.0)

    clock, x = Clock(2.0, 1.0), np.zeros(128, np.float32)
    kernel = ct.autotune(space={"tile": (32, 64)}, timer=clock)(add)
    for blocks in (1, 2):
        kernel[lambda config, blocks=blocks: blocks](x)
    assert clock.count == 2 and (x[:64] == 2.0).all() and (x[64:] == 1.0).all(), "its size is asked for each time"


def test_what_fails_is_listed() -> None:
    clock = Clock(1.0)
    kernel = ct.autotune(space={"tile": (100, 64)}, timer=clock)(increment)
    assert kernel.choose(np.zeros(100, np.float32), tile=64).tile == 64
    kernel = ct.autotune(space={"tile": (64, 100, 7)}, timer=Clock(1.0))(increment)
    kernel(np.zeros(100, np.float32))
    assert kernel.result is not None
    assert [(str(config), name) for config, name, _ in kernel.result.failures] == [
        ("tile=100", "TileTypeError"), ("tile=7", "TileTypeError")]
    broken = ct.autotune(space={"tile": (64, 100)}, timer=lambda launch: 1 / 0)(increment)
    with pytest.raises(ValueError, match="none of the 2 configurations ran. The first, tile=100, failed with TileType"):
        broken(np.zeros(100, np.float32))


def test_a_limit_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, x = tuned(Clock(3.0), seconds=1e-9), np.zeros(100, np.float32)
    assert kernel.choose(x).tile == 32
    assert [message for *_, message in kernel.result.failures] == ["the 1e-09 s of the search were over"] * 2


def candidate(number: int, spilled: int = 0) -> Candidate:
    nothing: Any = None
    return Candidate(Config({"tile": number}), nothing, nothing, (), spilled)


def test_what_promises_most_is_timed_first() -> None:
    found = in_order([candidate(1, spilled=64), candidate(2), candidate(3)])
    assert [c.config.tile for c in found] == [2, 3, 1]


@pytest.mark.parametrize("mean, asked", [(100.0, []), (20_000.0, [1, 2])])
def test_what_cannot_win_is_asked_where_a_run_takes_long(
    monkeypatch: pytest.MonkeyPatch, mean: float, asked: list[int],
) -> None:
    """To count takes as long as a few thousand short runs."""
    seen, timed = list[int](), list[int]()

    def least(one: Candidate) -> float:
        seen.append(one.config.tile)
        return 10_000.0 * one.config.tile + 5_000.0

    def samples(self: choosing.Tuning, one: Candidate) -> Samples:
        timed.append(one.config.tile)
        return made

    made = Samples()
    for _ in range(5):
        made.add(mean)
    monkeypatch.setattr(choosing, "least_time", least)
    monkeypatch.setattr(choosing.Tuning, "_samples", samples)
    tuning = choosing.Tuning(choosing.How(), None, best=made)
    for number in (1, 2):
        tuning._time(candidate(number), late=False)
    assert seen == asked and timed == ([1] if asked else [1, 2])
    assert [message for *_, message in tuning.failures] == ["it takes at least 25000.00 us"] * bool(asked)


def test_same_numerics() -> None:
    a, b, c = np.ones((64, 64), np.float16), np.ones((64, 64), np.float16), np.zeros((64, 64), np.float32)
    space = {"tm": (32, 16), "tn": (32, 64), "tk": (16, 32), "num_ctas": (None, 2)}
    clock = Clock(*range(99, 0, -1))
    kernel = ct.autotune(space=space, timer=clock, same_numerics=True)(product)
    chosen = kernel.choose(a, b, c)
    assert clock.count == 8 and chosen.tk == 16, "other lengths along K add in another order"

    @ct.tile_kernel(grid="cdiv(M, rows)")
    def total(x: ct.Array["M", "N"], out: ct.Array["M"], rows: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(out, i, ct.sum(ct.load(x, (i, 0), (rows, 64)), axis=1))

    clock = Clock(*range(99, 0, -1))
    space = {"rows": (8, 16), "num_worker_warps": (None, 8)}
    kernel = ct.autotune(space=space, timer=clock, same_numerics=True)(total)
    assert (kernel.choose(c, np.zeros(64, np.float32)).num_worker_warps, clock.count) == (None, 0), (
        "the tree of a sum follows from the tile's shape, and from the warps")


@pytest.mark.parametrize("given, message", [
    ({}, "give configs, a list of configurations, or space"),
    ({"configs": [{"tile": 1}], "space": {"tile": (1, 2)}}, "one of them"),
    ({"space": {"tiles": (1, 2)}}, r"'tiles' is none of the Constant parameters of kernel increment \(tile\), and no"),
    ({"space": {"x": (1, 2)}}, "'x' is a parameter that is known at run time only; annotate it as Constant"),
    ({"space": {"tile": 64}}, r"the space needs several values of 'tile', such as \(64, 128\), not 64"),
    ({"configs": [64]}, "a configuration maps names to values, such as {'tm': 128}; this is int"),
    ({"configs": []}, "there is no configuration to choose from"),
    ({"space": {"tile": (64,)}, "where": lambda config: config.tile > 64}, "left that `where` admits"),
    ({"space": {"tile": (64,)}, "timing": "hot"}, "timing must be 'cold' or 'graph', not 'hot'"),
])
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ct.autotune(**given)(increment)


def test_more_mistakes() -> None:
    with pytest.raises(TypeError, match="it stands above @tile_kernel; this is a function"):
        ct.autotune(space={"tile": (1, 2)})(lambda x: None)  # type: ignore[arg-type]

    @ct.tile_kernel
    def plain(x, tile: ct.Constant[int]):
        ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), tile))

    with pytest.raises(TypeError, match=r"launch it over a grid, which may depend on the configuration: plain\[lambda"):
        ct.autotune(space={"tile": (1, 2)})(plain)(np.zeros(8, np.float32))
    with pytest.raises(AttributeError, match=r"the configuration \(tile=1\) has no tm"):
        Config({"tile": 1}).tm  # noqa: B018


def test_buckets() -> None:
    assert [bucket(n) for n in (0, 1, 2, 3, 4, 1000, 4096, 4097)] == [0, 1, 2, 4, 4, 1024, 4096, 8192]
