"""Streams and events on a GPU: order, times, and streams of torch, CuPy and Numba in both directions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.gpu
SIZE = 1 << 22


@tw.tile_kernel
def slow(x, rounds):
    """Multiplies for a while, and adds 1."""
    i = tw.bid(0)
    t = tw.load(x, i, 1024)
    for _ in range(rounds):
        t = t * 0.5 + 1.0
    tw.store(x, i, t * 0.0 + tw.load(x, i, 1024) + 1.0)


@tw.tile_kernel
def copy(x, out):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, 1024))


def zeros() -> tw.DeviceArray:
    return tw.to_device(np.zeros(SIZE, np.float32))


@pytest.mark.parametrize("non_blocking", [False, True])
def test_one_stream_waits_for_another(non_blocking: bool) -> None:
    first, second = (tw.Stream(non_blocking=non_blocking, priority=p) for p in (0, -1))
    x, out = zeros(), zeros()
    for launch in range(1, 21):
        with first:
            slow[SIZE // 1024](x, 40000)
        second.wait(first)
        copy[SIZE // 1024](x, out, stream=second)
        first.wait(second)
        if launch in (1, 20):
            second.synchronize()
            assert (out.to_host() == launch).all()


def test_events_tell_the_time_of_a_kernel() -> None:
    x, stream = zeros(), tw.Stream()
    slow[SIZE // 1024](x, 10)
    times = {}
    for rounds in (20000, 40000):
        with stream:
            start = stream.record()
            slow[SIZE // 1024](x, rounds)
            end = tw.Event().record()
        assert not end.query() and not stream.query(), "the launch does not wait"
        times[rounds] = start.elapsed(end)
        assert end.query() and stream.query()
    assert times[40000] > times[20000] > 0, "other processes may use the GPU, too: by how much more is not asked"


def test_graphs_and_bound_launches_on_a_stream() -> None:
    x, stream = zeros(), tw.Stream(non_blocking=True)
    bound = slow.bind(SIZE // 1024, x, 10)
    with tw.graph() as g:
        slow[SIZE // 1024](x, 10)
        slow[SIZE // 1024](x, 10)
    with stream:
        for _ in range(30):
            bound()
            g()
    stream.synchronize()
    assert (x.to_host() == 90).all()


def torch_streams() -> Any:
    torch = pytest.importorskip("torch")
    return torch.cuda.Stream(), lambda handle: torch.cuda.ExternalStream(handle), lambda s: s.synchronize()


def cupy_streams() -> Any:
    cupy = pytest.importorskip("cupy")
    return cupy.cuda.Stream(), cupy.cuda.ExternalStream, lambda s: s.synchronize()


def numba_streams() -> Any:
    cuda = pytest.importorskip("numba.cuda")
    return cuda.stream(), cuda.external_stream, lambda s: s.synchronize()


def core_streams() -> Any:
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    return device.create_stream(), core.Stream.from_handle, lambda s: s.sync()


@pytest.mark.parametrize("library", [torch_streams, cupy_streams, numba_streams, core_streams])
def test_streams_of_libraries(library: Any) -> None:
    theirs, external, synchronise = library()
    for kernel, args in ((slow, (zeros(), 1)), (copy, (zeros(), zeros()))):  # compiled before anything is to be late
        kernel[SIZE // 1024](*args)
    x, out = zeros(), zeros()
    seen = tw.Stream(theirs)
    with seen:
        slow[SIZE // 1024](x, 40000)
        copy[SIZE // 1024](x, out)
    assert not seen.query()
    synchronise(theirs)
    assert seen.query() and (out.to_host() == 1).all()
    ours = tw.Stream()
    slow[SIZE // 1024](x, 40000, stream=external(ours.handle))
    assert not ours.query()
    synchronise(external(ours.handle))
    assert ours.query() and (x.to_host() == 2).all()


def test_tensors_of_torch_on_a_stream_of_ours() -> None:
    torch = pytest.importorskip("torch")
    stream = tw.Stream(non_blocking=True)
    x = torch.zeros(SIZE, device="cuda")
    out = torch.empty_like(x)
    for launch in range(1, 31):
        stream.wait(torch.cuda.current_stream())
        with stream:
            slow[SIZE // 1024](x, 1000)
            copy[SIZE // 1024](x, out)
        seen = torch.cuda.ExternalStream(stream.handle)
        torch.cuda.current_stream().wait_stream(seen)
        assert float((out + 0).min()) == launch
