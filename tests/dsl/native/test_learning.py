"""Which launches machine code knows, how long, and who sees them: a recorded driver, threads, profiles."""

from __future__ import annotations

import gc
import importlib
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from support.fake_cuda import FakeCuda
from support.launched import make_add, three
from support.learnt import by_code, taught

import tilewright as tw
from tilewright.launching import launcher, learning, native

pytestmark = pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")


def test_watchers_and_checks_see_every_launch(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    add = make_add()
    args = *three(), 16
    bound = add.bind(7, *args)
    taught(lambda: add[(7,)](*args))
    taught(bound)
    with tw.profile() as p:
        assert by_code(cuda, lambda: add[(7,)](*args)) and by_code(cuda, bound), "behind the watcher it is as fast"
        assert not by_code(cuda, lambda: add[(7,)](*three(96), 16))
    assert len(p.launches) == 3 and all(launch.device is not None for launch in p.launches)
    assert by_code(cuda, lambda: add[(7,)](*args)) and by_code(cuda, bound)
    from tilewright.launching.checking import checking

    before = len(cuda.launches)
    try:
        launcher.check_launches(checking(True, "collect"))
        add[(6,)](*args)
        bound()
    finally:
        launcher.check_launches(None)
    assert len(cuda.launches) == before


def test_many_shapes_are_forgotten(cuda: FakeCuda) -> None:
    """The oldest of many shapes goes back to Python, and is learnt again."""
    add = make_add()
    sets: list[Any] = [(*three(n), 16) for n in range(100, 100 + learning._MOST + 4)]
    for _ in range(2):
        for args in sets:
            taught(add[(7,)], *args)
            assert cuda.launches[-1].params[0] == args[0].pointer


def test_a_grid_is_one_however_it_is_written(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a second way to write it would stay with Python, for which the first one's function launches."""
    add = make_add()
    first, args = add[(7,)], (*three(), 16)
    assert all(add[grid] is first for grid in (7, (7, 1), (7, 1, 1), np.int64(7))) and add[8] is not first
    taught(first, *args)
    monkeypatch.setattr(importlib.import_module("tilewright.kernel"), "_MAX_GRIDS", 1)
    assert add[9] is not add[(7,)] is not first
    assert not by_code(cuda, add[(7,)], *args), "a new one learns by itself"
    taught(add[(7,)], *args)
    assert by_code(cuda, add[(7,)], *args)


def test_the_shapes_of_a_model_stay_known(cuda: FakeCuda) -> None:
    add = make_add()
    sets: list[Any] = [(*three(n), 16) for n in range(100, 120)]
    for args in sets:
        taught(add[(7,)], *args)
    assert all(by_code(cuda, add[(7,)], *args) for args in sets)


def test_threads(cuda: FakeCuda) -> None:
    add = make_add()
    sets: list[Any] = [(*three(100 + k), 16) for k in range(4)]
    taught(lambda: add[(7,)](*sets[0]))
    errors: list[BaseException] = []

    def run(k: int) -> None:
        try:
            for _ in range(200):
                add[(7,)](*sets[k])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    pointers = {args[0].pointer: 100 + k for k, args in enumerate(sets)}
    assert all(pointers[launch.params[0]] == launch.params[1] for launch in cuda.launches)


@pytest.mark.parametrize("refused", [0, 700])
def test_a_call_keeps_what_it_reads(cuda: FakeCuda, refused: int) -> None:
    """Another thread may teach a kernel more launches while the driver works: then its function is another one."""
    add, args = make_add(), (*three(), 16)
    grid: Any = add[(7,)]
    taught(grid, *args)
    head = weakref.ref(grid.func.__module__[0])
    seen: list[bool] = []

    def meanwhile() -> None:
        grid.__setstate__((print, (), {}, vars(grid)))
        gc.collect()
        seen.append(head() is not None)

    cuda.meanwhile, cuda.refused = meanwhile, refused
    launches = len(cuda.launches)
    grid(*args)
    assert len(cuda.launches) == launches + 1 and seen[0] and head() is None


@pytest.mark.parametrize("by_bindings", [False, True])
def test_events_are_made_ahead(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, by_bindings: bool) -> None:
    from tilewright.launching import records
    from tilewright.profiling import events

    for name, value in (("FIRST", 16), ("ENOUGH", 4), ("MORE", 4)):
        monkeypatch.setattr(events, name, value)
        monkeypatch.setattr(records, name, value, raising=False)
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    if by_bindings:
        monkeypatch.setattr(native, "ready", lambda: False)
        monkeypatch.setattr(native, "find", lambda: False)
    with tw.profile() as p:
        for _ in range(100):
            add[(7,)](*args)
    assert len(p.launches) == 100 and all(launch.device is not None for launch in p.launches)
    assert 201 <= len(cuda.events) < 300


def test_a_watched_launch_that_is_known_is_not_learnt_again(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch,
) -> None:
    add, args = make_add(), (*three(), 16)
    taught(lambda: add[(7,)](*args))
    learnt: list[int] = []
    monkeypatch.setattr(learning.Learner, "learn", lambda self, describe: learnt.append(1))
    with tw.profile() as p:
        for _ in range(20):
            add[(7,)](*args)
    assert not learnt and len(p.launches) == 20
    other: Any = (*three(96), 16)
    with tw.profile() as p:
        for _ in range(20):
            add[(7,)](*other)
    assert learnt, "one that Python makes is"
