"""Launches that machine code records for a profile, on a recorded driver."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.launched import make_add, three

import tilewright as tw
from tilewright.launching import native, records, watching
from tilewright.profiling.profile import Profile

pytestmark = pytest.mark.skipif(
    not native.possible() or sys.platform != "linux", reason="an interpreter or clock that machine code does not know")


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    """A driver; launches are learnt after the third that Python makes. Blocks of records are small."""
    fake_cuda.learning_soon(monkeypatch)
    monkeypatch.setattr(records, "FIRST", 16)
    monkeypatch.setattr(records, "MORE", 8)
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels of launches that Python has recorded."""
    names: list[str] = []
    launch = Profile._launch

    def counted(self: Any, *args: Any) -> Any:
        names.append(args[1].name)
        return launch(self, *args)

    monkeypatch.setattr(Profile, "_launch", counted)
    return names


def make_scale() -> Any:
    @tw.tile_kernel
    def scale(x, factor, times: int, twice: bool):
        i = tw.bid(0)
        t = tw.load(x, (i,), (16,)) * factor
        tw.store(x, (i,), tw.where(twice, t * 2.0, t) + times)

    return scale


def taught(launch: Any) -> None:
    for _ in range(5):
        launch()


def test_known_launches_are_recorded_without_python(cuda: FakeCuda, by_python: list[str]) -> None:
    cuda.step_ms = lambda: 0.25
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    with tw.profile() as p:
        for number in range(10):
            add[(7,)](*args, stream=number % 2)
    assert by_python == ["add"], "the first, which the profile learns"
    assert len(p.launches) == 10 and [row.launches for row in p.rows] == [10] and p.rows[0].kind.kernel == "add"
    assert p.rows[0].devices == [250_000] * 10 and [launch.stream for launch in p.launches] == [0, 1] * 5
    assert {launch.thread for launch in p.launches} == {threading.get_ident()}
    times = [t for launch in p.launches for t in (launch.start, launch.end)]
    assert times == sorted(times) and p.start <= times[0] and times[-1] <= p.end
    events = len(cuda.events)
    add[(7,)](*args)
    assert len(p.launches) == 10 and len(cuda.events) == events
    with tw.profile() as again:
        add[(7,)](*args)
        add[(7,)](*args)
    assert len(again.launches) == 2 and by_python == ["add"] * 2, "another profile learns anew"


def test_records_grow(cuda: FakeCuda, by_python: list[str]) -> None:
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    with tw.profile() as p:
        for _ in range(100):
            add[(7,)](*args)
    assert len(p.launches) == 100 and all(launch.device is not None for launch in p.launches)
    assert len(by_python) == 1 + 10, "one in nine, where a block of eight is full"


def test_other_ints_are_another_kind(cuda: FakeCuda, by_python: list[str]) -> None:
    scale, [x, _, _] = make_scale(), three()
    taught(lambda: scale[(7,)](x, 0.5, 3, True))
    with tw.profile() as p:
        for times, twice, factor in [(3, True, 0.5), (3, True, 0.25), (3, True, 0.5), (4, True, 0.5), (4, True, 0.5),
                                     (4, False, 0.5), (4, False, 0.75), (-1, False, 0.5), (-1, False, 0.5)]:
            scale[(7,)](x, factor, times, twice)
    found = {row.kind.specialisation.split(", ", 2)[2]: row.launches for row in p.rows}
    assert found == {"3, True": 3, "4, True": 2, "4, False": 2, "-1, False": 2}
    assert len(by_python) == 4 and len(p.launches) == 9


def test_bound_launches(cuda: FakeCuda, by_python: list[str]) -> None:
    add = make_add()
    bound = add.bind(7, *three(), 16)
    with tw.profile() as p:
        for _ in range(20):
            bound()
    called = len(by_python)
    assert len(p.launches) == 20 and [row.launches for row in p.rows] == [20] and called < 10, "it is learnt here, too"
    with tw.profile() as p:
        bound()
        bound(stream=9)
    assert len(by_python) == called + 1 and [launch.stream for launch in p.launches] == [0, 9]
    empty = add.bind(0, *three(), 16)
    with tw.profile() as p:
        empty()
    assert len(p.launches) == 1


def test_several_watchers_see_every_launch(cuda: FakeCuda) -> None:
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    seen: list[str] = []

    def watcher(launch: Any, launcher: Any, *rest: Any) -> Any:
        seen.append(launcher.name)
        return launch(launcher, *rest)

    with tw.profile() as outer:
        for _ in range(3):
            add[(7,)](*args)
        with tw.profile() as inner:
            for _ in range(3):
                add[(7,)](*args)
        watching.watch(watcher)
        try:
            for _ in range(3):
                add[(7,)](*args)
        finally:
            watching.unwatch(watcher)
        for _ in range(3):
            add[(7,)](*args)
    assert (len(outer.launches), len(inner.launches), seen) == (12, 3, ["add"] * 3)


def test_a_launch_that_the_driver_refuses(cuda: FakeCuda, by_python: list[str]) -> None:
    """Python makes it again, and it is recorded once."""
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    with tw.profile() as p:
        add[(7,)](*args)
        add[(7,)](*args)
        cuda.refused = 719
        add[(7,)](*args)
        cuda.refused = 0
        add[(7,)](*args)
    assert len(p.launches) == 4 and len(by_python) >= 2 and all(launch.device for launch in p.launches)


def test_threads(cuda: FakeCuda) -> None:
    add = make_add()
    sets: list[Any] = [(*three(100 + k), 16) for k in range(4)]
    for args in sets:
        taught(lambda args=args: add[(7,)](*args))

    together = threading.Barrier(4)  # else one may end before another begins, and leave it its number

    def run(k: int) -> None:
        together.wait()
        for _ in range(100):
            add[(7,)](*sets[k])

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    with tw.profile() as p:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(row.launches for row in p.rows) == [100] * 4 and all(launch.device for launch in p.launches)
    by_thread = {thread.ident: f"f32[{100 + k}]" for k, thread in enumerate(threads)}
    assert all(launch.kind.specialisation.startswith(by_thread[launch.thread]) for launch in p.launches)


def test_a_profile_that_ends_while_the_driver_works(cuda: FakeCuda) -> None:
    """What the launch still writes is there until it has ended; then its events are freed."""
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    freed: list[int] = []
    cuda.cuEventDestroy = freed.append
    p = tw.profile()
    p.__enter__()
    add[(7,)](*args)
    seen: list[int] = []

    def meanwhile() -> None:
        if not seen:
            p.__exit__(None, None, None)
            gc.collect()
            seen.append(len(freed))

    cuda.meanwhile = meanwhile
    add[(7,)](*args)
    assert len(p.launches) == 1, "the profile has what had been made when it ended"
    assert len(freed) == seen[0] + 32, "those of the block of records"
