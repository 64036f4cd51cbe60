"""Arrays of our own and copies: on a recorded driver in the order of streams, and without a GPU."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda

import tilewright as tw
from tilewright.arguments.dlpack import export
from tilewright.backend_ptx.runtime import driver
from tilewright.streams import memory

X = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setattr(memory, "_in_flight", [])
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "available", lambda: False)


def make_double() -> Any:
    @tw.tile_kernel
    def double(x):
        i = tw.bid(0)
        tw.store(x, i, tw.load(x, i, 8) * 2)

    return double


# ---- on a recorded driver --------------------------------------------------------------------------------------------

def test_memory_comes_and_goes_in_the_order_of_a_stream(cuda: FakeCuda) -> None:
    stream = tw.Stream()
    with stream:
        a = tw.empty((3, 5), tw.float16)
    b, c = tw.empty(7, np.int64, stream=stream), tw.empty((), "uint8")
    assert [cuda.allocated_on[x.pointer] for x in (a, b, c)] == [stream.handle, stream.handle, 0]
    assert (a.shape, a.strides, a.dtype, b.dtype, c.nbytes, a.device) == ((3, 5), (5, 1), tw.float16, tw.int64, 1, 0)
    assert a.__cuda_array_interface__["stream"] == stream.handle and c.__cuda_array_interface__["stream"] is None
    places, handle = [a.pointer, b.pointer], stream.handle
    view = a.T
    del a, b, stream
    gc.collect()
    assert cuda.freed == [(places[1], handle)] and handle in cuda.streams, "the view keeps memory and stream"
    del view
    gc.collect()
    assert cuda.freed[1] == (places[0], handle) and handle not in cuda.streams


def test_other_streams_that_use_memory_are_waited_for(cuda: FakeCuda) -> None:
    own, other = tw.Stream(), tw.Stream()
    x = tw.empty(4, stream=own)
    x.record_stream(other)
    x.record_stream(other)
    x.record_stream(own)
    del x
    assert cuda.waits == [(own.handle, other.handle)] and len(cuda.freed) == 1


def test_filled_arrays(cuda: FakeCuda) -> None:
    stream = tw.Stream()
    zero, two = tw.zeros((2, 3), tw.bfloat16, stream=stream), tw.full((2, 2), 2.5, tw.float32, device=0)
    assert np.array_equal(zero.to_host(), np.zeros((2, 3), ml_dtypes.bfloat16))
    assert np.array_equal(two.to_host(), np.full((2, 2), 2.5))
    assert np.array_equal(tw.to_host(tw.ones(3, tw.int8)), [1] * 3)
    assert not cuda.synchronised.count(stream.handle) and tw.to_host(tw.zeros((0, 3), tw.int32)).shape == (0, 3)
    for value, dtype in ((1.5, tw.float64), (0.0, tw.float64), (-3, tw.int64), (7, tw.int64), (300, tw.uint16),
                         (0.5, tw.bfloat16), (True, tw.bool_), (-2.5, tw.float32)):
        made = tw.to_host(tw.full((2, 3), value, dtype, stream=stream))
        assert made.shape == (2, 3) and (made == value).all(), dtype
    assert np.signbit(tw.to_host(tw.full(1, -0.0, tw.float32)))[0]


def test_copies_to_and_from_a_gpu(cuda: FakeCuda) -> None:
    stream = tw.Stream()
    cuda.copies.clear()
    d = tw.to_device(X, stream=stream)
    assert cuda.copies == [(96, stream.handle)] and not cuda.synchronised
    assert np.array_equal(d.to_host(stream=stream), X) and cuda.synchronised == [stream.handle]
    with stream:
        assert np.array_equal(tw.to_host(d), X)
    assert np.array_equal(tw.to_host(d.T), X.T) and np.array_equal(tw.to_host(tw.from_dlpack(X[:, ::2])), X[:, ::2])
    assert {n for _, n in cuda.copies[:3]} == {stream.handle} and cuda.copies[3][1] == 0


def test_page_locked_memory(cuda: FakeCuda) -> None:
    stream = tw.Stream()
    cuda.busy.add(stream.handle)
    d = tw.to_device(X, stream=stream, pinned=True)
    assert len(cuda.pinned) == 1 and len(memory._in_flight) == 1, "kept until the GPU has read it"
    staging = tw.empty((4, 6), tw.float32, pinned=True)
    assert isinstance(staging, np.ndarray) and staging.ctypes.data in cuda.pinned
    cuda.synchronised.clear()
    tw.copy(staging, d, stream=stream)
    out = d.to_host(stream=stream, pinned=True)
    assert not cuda.synchronised, "both return before the copy is done"
    assert np.array_equal(staging, X) and np.array_equal(out, X)
    cuda.busy.clear()
    tw.to_device(X, stream=stream, pinned=True)
    assert len(memory._in_flight) == 1, "what is done has gone"
    place = out.ctypes.data
    part = out[1:, 2:]
    del out
    gc.collect()
    assert place in cuda.pinned and np.array_equal(part, X[1:, 2:])
    del part
    gc.collect()
    assert place not in cuda.pinned
    assert d.to_host(pinned=True)[3, 5] == 23


def test_copies_into_arrays_that_are_there(cuda: FakeCuda) -> None:
    d, e = tw.empty((4, 6)), tw.empty((4, 6))
    tw.copy(d, X)
    tw.copy(e, d)
    out = np.zeros((4, 6), np.float32)
    tw.copy(out, e)
    assert np.array_equal(out, X)
    turned = np.zeros((6, 4), np.float32).T
    tw.copy(turned, d)  # another order of elements on the host
    assert np.array_equal(turned, X)
    tw.copy(d, np.asfortranarray(X * 2))
    assert np.array_equal(d.to_host(), X * 2)
    tw.copy(d.T, X.T)
    assert np.array_equal(d.to_host(), X)
    half = np.zeros((4, 12), np.float32)[:, ::2]
    tw.copy(half, d)
    assert np.array_equal(half, X)
    tw.copy(d, d)
    host = np.zeros_like(X)
    tw.copy(host, X.T.copy().T)
    assert np.array_equal(host, X)


def test_copies_between_gpus(cuda: FakeCuda) -> None:
    cuda.devices = 2
    here, there = tw.to_device(X), tw.zeros((4, 6), tw.float32, device=1)
    tw.copy(there, here)
    assert there.device == 1 and np.array_equal(there.to_host(), X)
    with tw.Stream(device=1):
        assert tw.empty(3).device == 1
    with pytest.raises(ValueError, match="the stream is on GPU 1, but the array shall be on GPU 0"):
        tw.empty(3, device=0, stream=tw.Stream(device=1))


def gaps() -> Any:
    return tw.to_device(np.zeros((4, 12), np.float32)[:, ::2], keep_strides=True)


def test_wrong_copies(cuda: FakeCuda) -> None:
    d = tw.to_device(X)
    read_only = X.copy()
    read_only.flags.writeable = False
    flat = np.zeros(10, np.float32)
    for dst, src, error, words in [
        (d, X.T, ValueError, r"copy: dst has the shape \(4, 6\), src \(6, 4\)"),
        (d, X.astype(np.float16), TypeError, "dst is float32, src float16, and a copy converts nothing"),
        (read_only, d, ValueError, "copy: dst is read-only"),
        (d, 3, TypeError, "copy: src must be an array, not int"),
        ("x", d, TypeError, "copy: dst must be an array, not str"),
        (gaps(), X, ValueError, r"on GPU 0 of shape \(4, 6\) and strides \(12, 2\) has gaps"),
        (d, gaps(), ValueError, "has gaps between its elements"),
        (flat[1:], flat[:-1], ValueError, "overlap without being equal"),
        (tw.empty((6, 4)).T, d, ValueError, r"strides \(1, 4\), are in another order than those of src, of \(6, 1\)"),
    ]:
        with pytest.raises(error, match=words):
            tw.copy(dst, src)
    with pytest.raises(TypeError, match="to_host: array must be an array, not int"):
        tw.to_host(3)


def test_wrong_arrays(cuda: FakeCuda) -> None:
    with pytest.raises(ValueError, match=r"the shape \(2, -3\) has a negative extent"):
        tw.empty((2, -3))
    with pytest.raises(TypeError, match="the shape must be an int or a tuple of ints, not 2.5"):
        tw.empty(2.5)
    for dtype in ("complex64", np.complex64, np.dtype("complex64")):
        with pytest.raises(TypeError, match="complex64 cannot be passed"):
            tw.empty(2, dtype)
    with pytest.raises(TypeError, match="the stream must be"):
        tw.empty(2, stream="mine")


def test_freed_arrays(cuda: FakeCuda) -> None:
    double, x, kept = make_double(), tw.to_device(np.ones(32, np.float32)), tw.to_device(np.ones(32, np.float32))
    for _ in range(3):
        double[4](x)
    bound = double.bind(4, kept)
    with tw.graph() as g:
        double[4](kept)
    place, pointer = kept.pointer, x.pointer
    kept.free()
    x.free()
    assert pointer not in cuda.memory and place in cuda.memory, "the bound launch and the graph hold it"
    bound()
    g()
    assert repr(x) == "DeviceArray(shape=(32,), dtype=float32, device=freed)"
    before = len(cuda.launches)
    for use in (lambda: double[4](x), lambda: double.bind(4, x), lambda: tw.copy(x, x), x.to_host, lambda: x.T,
                lambda: export(x), lambda: x.__cuda_array_interface__, lambda: tw.from_dlpack(x), x.record_stream):
        with pytest.raises(ValueError, match=r"the DeviceArray of shape \(32,\) was freed"):
            use()
    assert len(cuda.launches) == before
    x.free()
    del bound, g
    gc.collect()
    assert place not in cuda.memory


def test_a_consumer_of_dlpack_waits_on_its_stream(cuda: FakeCuda) -> None:
    own, work = tw.Stream(), tw.Stream()
    x, plain = tw.empty(4, stream=own), tw.empty(4)
    for stream in (None, 1):
        export(x, stream)
        assert cuda.waits.pop() == (0, own.handle) and not cuda.waits
        export(plain, stream)
        assert not cuda.waits
    export(x, -1)
    assert not cuda.waits
    export(x, own.handle)
    assert cuda.waits.pop() == (own.handle, 0), "launches without a stream went to the default one"
    with work:
        export(x, 77)
    assert cuda.waits == [(77, own.handle), (77, work.handle)] and not cuda.synchronised


def test_arrays_of_others_as_ours(cuda: FakeCuda) -> None:
    class Exported:
        def __init__(self, array: tw.DeviceArray, readonly: bool = False) -> None:
            self._kept = array
            self.__cuda_array_interface__ = {**array.__cuda_array_interface__}
            self.__cuda_array_interface__["data"] = array.pointer, readonly

    x = tw.to_device(X)
    seen = tw.from_dlpack(Exported(x))
    make_double()[3](seen.reshape((24,)))
    assert cuda.launches[-1].params[0] == x.pointer == seen.pointer and np.array_equal(seen.to_host(), X)
    seen.record_stream(tw.Stream())
    place = x.pointer
    del x
    gc.collect()
    assert place in cuda.memory, "it keeps what it shows"
    with pytest.raises(ValueError, match="from_dlpack: the array is read-only, but a DeviceArray can be written"):
        tw.from_dlpack(Exported(seen, readonly=True))
    with pytest.raises(TypeError, match="from_dlpack takes an array, not list"):
        tw.from_dlpack([1])


# ---- without a GPU ---------------------------------------------------------------------------------------------------

def test_programs_run_without_a_gpu(no_gpu: None) -> None:
    stream = tw.Stream()
    d = tw.to_device(X, stream=stream, pinned=True)
    with stream:
        make_double()[3](d.reshape((24,)))
        out = d.to_host(pinned=True)
    assert d.device == -1 and np.array_equal(out, 2 * X) and repr(d).endswith("device=host)")
    assert d.pointer % 256 == 0 and d.__dlpack_device__() == (1, 0)
    assert np.array_equal(np.asarray(d), out) and np.array_equal(np.from_dlpack(d), out)
    seen = np.asarray(d)
    seen[0, 0] = 5
    assert d.to_host()[0, 0] == 5 and tw.from_dlpack(d).to_host()[0, 0] == 5
    assert not hasattr(d, "__cuda_array_interface__")
    d.record_stream(stream)
    d.free()
    assert seen[0, 0] == 5 and seen[3, 5] == 46, "a view of NumPy keeps the memory"
    with pytest.raises(ValueError, match="was freed"):
        make_double()[3](d)
    zeros, halves = tw.zeros((2, 3), tw.float16, stream=stream), tw.full(3, 0.5, tw.bfloat16)
    assert not zeros.to_host().any() and np.array_equal(tw.to_host(halves).astype(np.float32), [0.5] * 3)
    staging = tw.empty((2, 3), tw.float16, pinned=True)
    tw.copy(staging, zeros, stream=stream)
    assert isinstance(staging, np.ndarray) and not staging.any()
    strided = tw.to_device(X[:, ::-2], keep_strides=True)
    assert strided.strides == (6, -2) and np.array_equal(strided.to_host(), X[:, ::-2])


def test_a_gpu_that_is_asked_for_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_cuda.install(monkeypatch)
    monkeypatch.setattr(FakeCuda, "cuInit", lambda self, flags: (fake_cuda.CUresult(719),))
    try:
        for make in (lambda: tw.empty(3, device=0), lambda: tw.to_device(X, 0), lambda: tw.zeros(3, tw.int8, device=0)):
            with pytest.raises(tw.TileUnsupportedFeatureError, match="no NVIDIA GPU can be used here"):
                make()
    finally:
        fake_cuda.uninstall()


def test_functions_of_tiles_are_still_refused_on_the_host() -> None:
    with pytest.raises(RuntimeError, match="cannot be called on the host"):
        tw.arange(4, dtype=tw.int32)


@pytest.mark.parametrize("name, value", [
    ("sys.is_finalizing", lambda: True), ("tilewright.backend_ptx.runtime.memory.sys", None)])
def test_a_process_that_ends_frees_nothing(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, name: str,
                                           value: Any) -> None:
    """The driver frees all, and its Python module may be gone by then, as may the names of ours."""
    x = tw.to_device(np.ones(32, np.float32))
    pointer = x.pointer
    with monkeypatch.context() as ending:
        ending.setattr(name, value)
        x.free()
    assert pointer in cuda.memory
