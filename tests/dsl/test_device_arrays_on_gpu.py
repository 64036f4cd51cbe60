"""Device arrays on a GPU: streams, page-locked memory, pools, and torch, CuPy and Numba in both directions."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.gpu
SIZE = 1 << 20
LONG = 2_000_000  # iterations, some 70 ms


@tw.tile_kernel
def slow(x, rounds):
    """Takes a while, and adds 1."""
    i = tw.bid(0)
    t = tw.load(x, i, 1024)
    for _ in range(rounds):
        t = t * 0.5 + 1.0
    tw.store(x, i, t * 0.0 + tw.load(x, i, 1024) + 1.0)


def add_one(x: Any, rounds: int = 1, **where: Any) -> None:
    slow[SIZE // 1024](x, rounds, **where)


def test_a_pipeline_on_one_stream_waits_for_nothing() -> None:
    host, stream = np.arange(SIZE, dtype=np.float32), tw.Stream(non_blocking=True)
    source, target = (tw.empty(SIZE, tw.float32, pinned=True) for _ in range(2))
    source[:] = host
    add_one(tw.zeros(SIZE, tw.float32, device=0))  # compiled before anything is timed
    with stream:
        d = tw.empty(SIZE)
        tw.copy(d, source)
        add_one(d, LONG)
        tw.copy(target, d)
        also = d.to_host(pinned=True)
        moved = tw.to_device(host, pinned=True)
        add_one(moved)
        halves = tw.full(SIZE, 0.5, tw.float32, stream=stream)
        add_one(halves)
    assert not stream.query(), "the host has queued all of it while the kernel ran"
    stream.synchronize()
    assert (target == host + 1).all() and (also == host + 1).all()
    assert (moved.to_host(stream=stream) == host + 1).all() and (halves.to_host() == 1.5).all()


def test_memory_of_arrays_that_are_gone_is_not_given_away_too_early() -> None:
    own, other = tw.Stream(non_blocking=True), tw.Stream(non_blocking=True)
    out = tw.zeros(SIZE, tw.float32, device=0)
    for step in range(20):
        x = tw.full(SIZE, float(step), tw.float32, stream=own)
        other.wait(own)
        add_one(x, 2000, stream=other)
        tw.copy(out, x, stream=other)
        x.record_stream(other)
        del x
        again = tw.full(SIZE, -1.0, tw.float32, stream=own)  # takes that memory, as soon as it may
        other.synchronize()
        assert (out.to_host() == step + 1).all()
        del again


def test_the_pool_gives_memory_again() -> None:
    stream = tw.Stream()
    seen = set()
    for _ in range(50):
        x = tw.empty(SIZE, stream=stream)
        seen.add(x.pointer)
        x.free()
    gc.collect()
    assert len(seen) < 5


def test_torch_in_both_directions() -> None:
    torch = pytest.importorskip("torch")
    stream = tw.Stream(non_blocking=True)
    x = tw.zeros(SIZE, tw.float32, stream=stream)
    add_one(x, 40000, stream=stream)
    with stream:
        tensor = torch.from_dlpack(x)  # torch's stream waits for ours
    assert float((tensor + 0).sum()) == SIZE and tensor.data_ptr() == x.pointer
    seen = tw.from_dlpack(torch.arange(SIZE, device="cuda", dtype=torch.float32))
    add_one(seen)
    assert (seen.to_host() == np.arange(SIZE) + 1).all()
    pinned = torch.empty(SIZE).pin_memory()
    tw.copy(pinned, seen, stream=stream)
    tw.copy(tensor, seen)
    stream.synchronize()
    assert float(pinned[5]) == 6 and float(tensor[7]) == 8
    half = torch.zeros(4, dtype=torch.bfloat16, device="cuda")
    tw.copy(half, tw.full(4, 1.5, tw.bfloat16, device=0))
    assert half.tolist() == [1.5] * 4


def test_cupy_in_both_directions() -> None:
    cupy = pytest.importorskip("cupy")
    stream = tw.Stream(non_blocking=True)
    x = tw.zeros(SIZE, tw.float32, stream=stream)
    add_one(x, 40000, stream=stream)
    with stream:
        theirs = cupy.from_dlpack(x)
    assert float(theirs.sum()) == SIZE and theirs.data.ptr == x.pointer
    assert float(cupy.asarray(x).sum()) == SIZE, "by the CUDA array interface"
    mine = tw.from_dlpack(cupy.arange(SIZE, dtype=cupy.float32))
    add_one(mine)
    assert (mine.to_host() == np.arange(SIZE) + 1).all()
    pool = cupy.cuda.MemoryAsyncPool()
    with cupy.cuda.using_allocator(pool.malloc), cupy.cuda.Stream() as queue:
        y = cupy.zeros(SIZE, cupy.float32)
        add_one(y)  # on CuPy's current stream, in memory of its pool
        assert float(y.sum()) == SIZE
        queue.synchronize()


def test_numba_in_both_directions() -> None:
    cuda = pytest.importorskip("numba.cuda")
    x = tw.to_device(np.arange(SIZE, dtype=np.float32))
    add_one(x)
    theirs = cuda.as_cuda_array(x)
    assert (theirs.copy_to_host() == np.arange(SIZE) + 1).all()
    mine = cuda.to_device(np.zeros(SIZE, np.float32))
    add_one(mine)
    seen = tw.from_dlpack(mine)
    add_one(seen)
    assert (seen.to_host() == 2).all() and (mine.copy_to_host() == 2).all()


def test_cuda_core_takes_streams_and_arrays() -> None:
    core, utils = pytest.importorskip("cuda.core"), pytest.importorskip("cuda.core.utils")
    device = core.Device()
    device.set_current()
    ours, x = tw.Stream(), tw.full((4, 6), 2.0, tw.float32, device=0)
    theirs = device.create_stream(ours)
    assert int(theirs.handle) == ours.handle
    view = utils.StridedMemoryView.from_any_interface(x, stream_ptr=-1)
    assert view.ptr == x.pointer and tuple(view.shape) == (4, 6) and view.is_device_accessible
    buffer = device.allocate(4 * SIZE, stream=theirs)
    theirs.sync()
    seen = tw.from_dlpack(buffer)  # bytes
    assert seen.nbytes == 4 * SIZE and seen.pointer == int(buffer.handle)


def test_copies_between_gpus() -> None:
    from tilewright.backend_ptx.runtime.driver import device_count

    if device_count() < 2:
        pytest.skip("needs two GPUs")
    here, there = tw.to_device(np.arange(8.0)), tw.zeros(8, tw.float64, device=1)
    tw.copy(there, here)
    assert (there.to_host() == np.arange(8.0)).all()
