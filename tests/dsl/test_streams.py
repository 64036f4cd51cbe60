"""tw.Stream and tw.Event: on a recorded driver, and without a GPU."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.backend_ptx.runtime import driver
from tilewright.launching import native
from tilewright.launching.held import HELD


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "available", lambda: False)


@pytest.fixture(autouse=True)
def _nothing_stays() -> Iterator[None]:
    yield
    assert not any(HELD)


def make_double() -> Any:
    @tw.tile_kernel
    def double(x):
        i = tw.bid(0)
        tw.store(x, i, tw.load(x, i, 16) * 2.0)

    return double


def ones(n: int = 64, device: int = 0) -> tw.DeviceArray:
    return tw.to_device(np.ones(n, np.float32), device)


# ---- on a recorded driver --------------------------------------------------------------------------------------------

def test_streams_are_made_with_their_options(cuda: FakeCuda) -> None:
    plain, first = tw.Stream(), tw.Stream(priority=-3, non_blocking=True)
    assert cuda.streams == {plain.handle: (0, 0), first.handle: (1, -3)}
    assert plain.device == 0 and first.priority == -3 and plain.__cuda_stream__() == (0, plain.handle)
    assert repr(plain) == f"<Stream {plain.handle:#x} on GPU 0>"
    with pytest.raises(ValueError, match="must be from -5 .first. to 0 on this GPU, not 1"):
        tw.Stream(priority=1)
    with pytest.raises(TypeError, match="priority must be int, not True"):
        tw.Stream(priority=True)
    with pytest.raises(TypeError, match="non_blocking must be bool, not 1"):
        tw.Stream(non_blocking=1)  # type: ignore[arg-type]
    handle = plain.handle
    del plain
    gc.collect()
    assert handle not in cuda.streams and first.handle in cuda.streams


def test_streams_of_other_libraries(cuda: FakeCuda) -> None:
    cuda.devices = 3
    torch, cupy = SimpleNamespace(cuda_stream=78, device_index=1), SimpleNamespace(ptr=79, device_id=2)
    core = SimpleNamespace(__cuda_stream__=lambda: (0, 77), device=SimpleNamespace(device_id=1))
    numba = SimpleNamespace(handle=SimpleNamespace(value=80))
    for external, handle, device in ((torch, 78, 1), (cupy, 79, 2), (core, 77, 1), (numba, 80, 0), (5, 5, 0)):
        seen = tw.Stream(external)
        assert (seen.handle, seen.cuda_stream, seen.device) == (handle, handle, device)
    assert tw.Stream(tw.Stream(5, device=2)).device == 2 and tw.Stream(5, device=2).device == 2
    assert not cuda.streams, "none was made"
    mine = tw.Stream()
    again = tw.Stream(mine)
    del mine
    gc.collect()
    assert again.handle in cuda.streams, "what is seen is kept"
    for bad in ("stream", 1.5, True):
        with pytest.raises(TypeError, match="the stream must be"):
            tw.Stream(bad)
    with pytest.raises(ValueError, match="options of a new stream"):
        tw.Stream(torch, priority=-1)


def test_launches_go_to_the_current_stream(cuda: FakeCuda) -> None:
    double, x, outer, inner = make_double(), ones(), tw.Stream(), tw.Stream(99)

    def went_to(*launches: Any) -> list[int]:
        before = len(cuda.launches)
        for launch in launches:
            launch()
        return [launch.stream for launch in cuda.launches[before:]]

    def plain() -> None:
        double[4](x)

    for _ in range(3):
        assert went_to(plain) == [0]
        with outer:
            assert went_to(plain, lambda: double[4](x, stream=7)) == [outer.handle, 7]
            with inner:
                assert went_to(plain, lambda: tw.launch(None, (4,), double, (x,))) == [99, 99]
            with tw.profile() as p:
                assert went_to(plain) == [outer.handle]
            assert [launch.stream for launch in p.launches] == [outer.handle]
            assert went_to(plain) == [outer.handle]
    with pytest.raises(ZeroDivisionError), outer:
        raise ZeroDivisionError
    assert went_to(plain, lambda: double[4](x, stream=outer)) == [0, outer.handle]


def test_bound_launches_and_graphs_too(cuda: FakeCuda) -> None:
    double, x, stream = make_double(), ones(), tw.Stream()
    bound = double.bind(4, x)
    with tw.graph() as g:
        double[4](x)
        double[2](x)
    bound()
    with stream:
        bound()
        g()
        bound(stream=3)
        g(stream=4)
    bound()
    assert [launch.stream for launch in cuda.launches] == [0, *[stream.handle] * 3, 3, 4, 4, 0]


@pytest.mark.skipif(not native.possible(), reason="an interpreter for which there is no machine code")
def test_machine_code_leaves_them_to_python(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cuda.learning_soon(monkeypatch)
    double, stream, x = make_double(), tw.Stream(), ones()
    bound, on_four = double.bind(4, x), double[4]
    for _ in range(40):
        on_four(x)
        bound()
    assert cuda.called > 40, "by machine code"
    before = len(cuda.launches)
    with stream:
        on_four(x)
        bound()
    on_four(x)
    bound()
    on_four(x, stream=stream)
    bound(stream=stream)
    assert [n.stream for n in cuda.launches[before:]] == [*[stream.handle] * 2, 0, 0, *[stream.handle] * 2]


def test_a_stream_is_current_in_its_thread_alone(cuda: FakeCuda) -> None:
    double, x, y = make_double(), ones(), ones()
    double[4](x)
    thread = threading.Thread(target=lambda: double[4](y))
    with tw.Stream():
        thread.start()
        thread.join()
    assert cuda.launches[-1].stream == 0


def test_a_stream_of_another_gpu_is_refused(cuda: FakeCuda) -> None:
    cuda.devices = 2
    double, x, there = make_double(), ones(), tw.Stream(device=1)
    with pytest.raises(ValueError, match=r"the stream is on GPU 1, but the arrays are on GPU 0; make one there: "
                                         r"tw.Stream\(device=0\)"):
        double[4](x, stream=there)

    @tw.tile_kernel
    def nothing():
        tw.printf("%d", tw.bid(0))

    nothing[1](stream=there)
    assert cuda.context == 101, "a launch without arrays runs where its stream is"


def test_streams_wait(cuda: FakeCuda) -> None:
    first, second = tw.Stream(), tw.Stream()
    second.wait(first)
    second.wait(tw.Event().record(5))
    second.wait(9)
    second.wait(tw.Event())  # of no moment: nothing to wait for
    assert cuda.waits == [(second.handle, n) for n in (first.handle, 5, 9)]
    cuda.busy.add(first.handle)
    assert not first.query() and second.query()
    first.synchronize()
    assert cuda.synchronised[-1] == first.handle
    cuda.busy.clear()
    cuda.broken = True
    with pytest.raises(RuntimeError, match=r"an earlier kernel on the stream failed: CUDA_ERROR_LAUNCH_FAILED \(719\)"):
        first.query()
    with pytest.raises(TypeError, match="the stream must be"):
        second.wait("first")


def test_events(cuda: FakeCuda) -> None:
    cuda.step_ms = lambda: 0.25
    stream = tw.Stream()
    before, after, quiet = tw.Event(), tw.Event(blocking=True), tw.Event(timing=False)
    assert before.handle is None and before.query() and repr(before) == "<Event not recorded>"
    assert before.record(stream) is before
    with stream:
        after.record()
    quiet.record()
    handles = [e.handle for e in (before, after, quiet) if e.handle is not None]
    assert [cuda.events[n][1] for n in handles] == [stream.handle, stream.handle, 0]
    assert [cuda.flags_of[n] for n in handles] == [0, 1, 2]
    assert before.elapsed(after) == 0.25 and after.elapsed(before) == -0.25
    cuda.busy.add(stream.handle)
    assert not before.query() and quiet.query() and repr(before) == "<Event pending>"
    cuda.broken = True
    with pytest.raises(RuntimeError, match="an earlier kernel on the stream, or waiting for it, failed"):
        before.synchronize()
    handle = before.handle
    del before
    gc.collect()
    assert cuda.destroyed[-1] == handle


def test_wrong_uses_of_events(cuda: FakeCuda) -> None:
    cuda.devices = 2
    one, other = tw.Event().record(), tw.Event().record(tw.Stream(device=1))
    with pytest.raises(ValueError, match="on different GPUs, 0 and 1, whose clocks differ"):
        one.elapsed(other)
    with pytest.raises(ValueError, match="belongs to GPU 0, the stream to GPU 1"):
        one.record(tw.Stream(device=1))
    with pytest.raises(RuntimeError, match=r"event.record\(stream\)"):
        one.elapsed(tw.Event())
    with pytest.raises(ValueError, match="timing=False has no time"):
        one.elapsed(tw.Event(timing=False).record())
    with pytest.raises(TypeError, match="elapsed takes an Event, not int"):
        one.elapsed(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="timing must be True or False, not 1"):
        tw.Event(timing=1)  # type: ignore[arg-type]


# ---- without a GPU ---------------------------------------------------------------------------------------------------

def test_programs_with_streams_run_without_a_gpu(no_gpu: None) -> None:
    double, x = make_double(), np.ones(64, np.float32)
    first, second = tw.Stream(priority=-2, non_blocking=True), tw.Stream(78)
    assert first.device is None and repr(first) == "<Stream without a GPU>" and second.handle == 78
    start = first.record()
    with first:
        double[4](x)
    time.sleep(0.002)
    second.wait(first)
    double[4](x, stream=second)
    tw.launch(first, (4,), double, (x,))
    end = tw.Event().record(second)
    assert second.query() and end.query()
    end.synchronize()
    second.synchronize()
    assert start.elapsed(end) > 2 and end.elapsed(start) < -2 and x[0] == 8

    @tw.tile_kernel
    def nothing():
        tw.static_assert(True)

    nothing[1](stream=first)  # in the interpreter, as there are neither arrays nor a GPU


def test_a_device_that_is_not_there(no_gpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Any:
        raise tw.TileUnsupportedFeatureError("no NVIDIA GPU can be used here")

    monkeypatch.setattr(driver, "driver", none)
    with pytest.raises(tw.TileUnsupportedFeatureError, match="no NVIDIA GPU"):
        tw.Stream(device=0)
