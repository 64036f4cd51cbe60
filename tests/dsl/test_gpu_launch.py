"""Launches on a recorded driver: parameters as the PTX declares them, plans, streams, contexts, checks, cache."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.launched import make_add, three

import tilewright as tw
from tilewright.backend_ptx.runtime import driver
from tilewright.launching.grid import make_grid
from tilewright.tileir.diagnostics import TileCompilerExecutionError, TileUnsupportedFeatureError
from tilewright.tune.job import make_job


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def make_scale() -> Any:
    @tw.tile_kernel
    def scale(x, a, b, k: tw.ScalarInt64, flag):
        i = tw.bid(0)
        t = tw.load(x, (i,), (16,)) * a + b
        tw.store(x, (i,), tw.where(flag, t + tw.astype(k, tw.float32), t))

    return scale


def test_parameters(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    for _ in range(4):  # the long way, the long way that makes a key, the short way twice
        add[(7,)](x, y, z, 16)
    assert len(cuda.linked) == 1 and len(cuda.launches) == 4
    for launch in cuda.launches:
        assert launch.name == "add" and launch.grid == (7, 1, 1) and launch.stream == 0
        assert launch.params == [x.pointer, 100, 1, y.pointer, 100, 1, z.pointer, 100, 1]


def test_short_blocks_share_ctas(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CTA has four of one warp, the last one fewer; the kernel sees the grid of the launch."""
    monkeypatch.setattr("tilewright.backend_ptx.passes.clusters.pack_blocks.WARPS", 4)
    add = make_add()
    x, y, z = three()
    for blocks in (7, 8, 1, 8):
        add[(blocks, 2)](x, y, z, 16)
        launch = cuda.launches[-1]
        assert launch.grid == (-(-blocks // 4), 2, 1) and launch.threads == 128
        assert launch.params == [x.pointer, 100, 1, y.pointer, 100, 1, z.pointer, 100, 1, blocks, 2, 1]


def test_scalars(cuda: FakeCuda) -> None:
    scale = make_scale()
    [x, _, _] = three()
    for a, b, k, flag in [(2, 0.5, 7, True), (-3, 1e300, -1, False), (5, -0.25, 1 << 40, True), (2, 0.5, 7, True)]:
        scale[(1,)](x, a, b, k, flag)
        got = cuda.launches[-1].params
        assert got[:3] == [x.pointer, 100, 1]
        assert got[3:] == [a, np.float32(b) if abs(b) < 1e30 else np.inf, k % (1 << 64), int(flag)]
    assert len(cuda.linked) == 1
    with pytest.raises(OverflowError, match="'a'"):
        scale[(1,)](x, 1 << 31, 0.5, 7, True)
    scale[(1,)](x, 2.0, 0.5, 7, True)
    assert len(cuda.linked) == 2, "another kind of scalar is another kernel"


def test_constants_and_facts_specialise(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    for _ in range(3):
        add[(7,)](x, y, z, 16)
        add[(4,)](x, y, z, 32)
        add[(4,)](*three(200), 32)
    assert len(cuda.linked) == 2, "100 and 200 elements have the same facts, 16 and 32 are two constants"
    add[(4,)](*three(256), 32)
    assert len(cuda.linked) == 3, "256 is a multiple of 16"


def test_linear_grid(cuda: FakeCuda) -> None:
    add = make_add()
    x, y, z = three()
    for _ in range(3):
        add[(2, 70000, 3)](x, y, z, 16)
        assert cuda.launches[-1].grid == (420000, 1, 1)
        assert cuda.launches[-1].params[-3:] == [2, 70000, 3]
        add[(2, 3)](x, y, z, 16)
        assert cuda.launches[-1].grid == (2, 3, 1) and len(cuda.launches[-1].params) == 9
    with pytest.raises(ValueError, match="at most 2147483647"):
        add[(1 << 20, 70000)](x, y, z, 16)


def make_product() -> Any:
    @tw.tile_kernel
    def product(a, c):
        i, acc = tw.bid(0), tw.zeros((128, 32), tw.float32)
        for k in range(tw.num_tiles(a, 1, (128, 32))):
            acc = tw.mma(tw.load(a, (i, k), (128, 32)), tw.load(a, (k, 0), (32, 32)), acc)
        tw.store(c, (i, 0), acc)

    return product


def test_fewer_blocks_that_loop_over_those_of_the_grid(cuda: FakeCuda) -> None:
    """As many as run at once: two on each of 132 SMs."""
    product = make_product()
    a, c = tw.to_device(np.zeros((64, 64), np.float16)), tw.to_device(np.zeros((64, 32), np.float32))
    for grid in ((5, 3), (300,), (2, 3, 44), (70000, 2, 1), (5, 3)):
        for _ in range(3):
            product[grid](a, c)
            assert cuda.launches[-1].grid == (min(np.prod(grid), 264), 1, 1)
            assert cuda.launches[-1].params[-3:] == [*grid, 1, 1][:3]
    with pytest.raises(ValueError, match="more blocks than this kernel can number, 2147483383"):
        product[(1 << 20, 60000)](a, c)
    assert len(cuda.linked) == 1
    assert make_job(product, make_grid((5, 3)), (a, c), None).meta["looped"]  # a tuner's process launches it alike


@pytest.mark.parametrize("spare, grid", [("", 264), ("20", 224), ("131", 2)])
def test_sms_for_others(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, spare: str, grid: int) -> None:
    """A launch that loops over its blocks leaves as many SMs as the environment asks for."""
    monkeypatch.setenv("TILEWRIGHT_SPARE_SMS", spare)
    a, c = tw.to_device(np.zeros((64, 64), np.float16)), tw.to_device(np.zeros((64, 32), np.float32))
    make_product()[(300,)](a, c)
    assert cuda.launches[-1].grid == (grid, 1, 1) and cuda.launches[-1].params[-3:] == [300, 1, 1]


@pytest.mark.parametrize("spare", ["132", "-1", "some"])
def test_sms_that_are_not_there(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, spare: str) -> None:
    monkeypatch.setenv("TILEWRIGHT_SPARE_SMS", spare)
    a, c = tw.to_device(np.zeros((64, 64), np.float16)), tw.to_device(np.zeros((64, 32), np.float32))
    with pytest.raises(ValueError, match=f"SPARE_SMS must be a number of SMs below the GPU's 132, not '{spare}'"):
        make_product()[(300,)](a, c)


def test_blocks_that_become_one(cuda: FakeCuda) -> None:
    """Where a launch has so many that each of 132 SMs gets some, and an even number of them along the axis. A process
    with the cache of another one knows it, too."""

    def made() -> Any:
        @tw.tile_kernel
        def product(a, c):
            i, acc = tw.bid(0), tw.zeros((64, 32), tw.float32)
            for k in range(tw.num_tiles(a, 1, (64, 64))):
                acc = tw.mma(tw.load(a, (i, k), (64, 64)), tw.load(a, (k, 0), (64, 32)), acc)
            tw.store(c, (i, 0), acc, allow_tma=False)

        return product

    a, c = tw.to_device(np.zeros((64, 64), np.float16)), tw.to_device(np.zeros((64, 32), np.float32))
    for kernel in (made(), made()):
        for grid, joined in (((262,), False), ((265,), False), ((264,), True), ((6, 100), True), ((264,), True)):
            for _ in range(3):
                kernel[grid](a, c)
                assert cuda.launches[-1].params[-3:] == [grid[0] // (1 + joined), *grid[1:], 1, 1][:3]
    assert len(set(cuda.linked)) == 2


def test_empty_grids_and_arrays_run_nothing(cuda: FakeCuda) -> None:
    add = make_add()
    for _ in range(3):
        add[(0,)](*three(), 16)
    assert not cuda.launches
    empty = [tw.to_device(np.zeros(0, np.float32)) for _ in range(3)]
    add[(1,)](*empty, 16)
    assert cuda.launches[-1].params == [0, 0, 1] * 3


def test_streams(cuda: FakeCuda) -> None:
    class Stream:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 77

    class Torch:
        cuda_stream = 78

    class Cupy:
        ptr = 79

    add = make_add()
    args = *three(), 16
    for _ in range(3):
        for stream, handle in ((None, 0), (5, 5), (Stream(), 77), (Torch(), 78), (Cupy(), 79)):
            add[(1,)](*args, stream=stream)
            assert cuda.launches[-1].stream == handle
            tw.launch(stream, (1,), add, args)
            assert cuda.launches[-1].stream == handle
    for bad in ("stream", 1.5, True):
        with pytest.raises(TypeError, match="the stream must be"):
            add[(1,)](*args, stream=bad)


def test_a_thread_without_context_gets_one(cuda: FakeCuda) -> None:
    add = make_add()
    args = *three(), 16
    for _ in range(3):
        add[(1,)](*args)
    cuda.context = 0
    add[(1,)](*args)
    assert cuda.context == 100 and len(cuda.launches) == 4


def test_two_devices(cuda: FakeCuda) -> None:
    cuda.devices = 2
    add = make_add()
    first, second = ([tw.to_device(np.zeros(64, np.float32), device=d) for _ in range(3)] for d in (0, 1))
    for _ in range(3):
        for device, args in enumerate((first, second)):
            add[(1,)](*args, 16)
            assert cuda.context == 100 + device
    with pytest.raises(ValueError, match="'x' is on GPU 0, but 'y' is on GPU 1"):
        add[(1,)](first[0], second[1], second[2], 16)


def test_cache_across_processes(cuda: FakeCuda, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx import compile as module

    compiled: list[object] = []
    whole = module.compile_kernel

    def counted(*args: Any, **options: Any) -> Any:
        compiled.append(args)
        return whole(*args, **options)

    monkeypatch.setattr(module, "compile_kernel", counted)
    args = *three(), 16
    make_add()[(1,)](*args)
    assert len(compiled) == 1 and len(list((tmp_path / "cache").rglob("*.twk"))) == 1
    make_add()[(1,)](*args)
    assert len(compiled) == 1, "a second process finds the entry"
    assert len(cuda.linked) == 2 and cuda.linked[0] == cuda.linked[1], "the driver's own cache has its machine code"
    [entry] = (tmp_path / "cache").rglob("*.twk")
    entry.write_bytes(entry.read_bytes()[:-1])
    make_add()[(1,)](*args)
    assert len(compiled) == 2, "a truncated entry is compiled anew"
    make_add()[(1,)](*args)
    assert len(compiled) == 2, "and rewritten"
    make_add().replace_hints(occupancy=4)[(1,)](*args)
    assert len(compiled) == 3, "hints are part of the key"
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "off")
    make_add()[(1,)](*args)
    assert len(compiled) == 4


def test_many_threads_compile_once_per_kernel(cuda: FakeCuda) -> None:
    add = make_add()
    arrays = [three(n) for n in (100, 256)]
    gate = threading.Barrier(8)

    def work(number: int) -> None:
        gate.wait()
        for step in range(20):
            add[(1,)](*arrays[(number + step) % 2], 16)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(cuda.linked) == 2 and len(cuda.launches) == 160
    wanted = [[p for a in three_of for p in (a.pointer, a.shape[0], 1)] for three_of in arrays]
    assert all(launch.params in wanted for launch in cuda.launches)


def test_refused_ptx_names_the_kernel(cuda: FakeCuda) -> None:
    cuda.fail_link = True
    with pytest.raises(TileCompilerExecutionError) as caught:
        make_add()[(1,)](*three(), 16)
    assert "the assembler refused the PTX of kernel add" in str(caught.value)
    assert "PTX line 5:" in str(caught.value) and "oops" in str(caught.value)


@pytest.mark.parametrize("has_pools", [True, False])
def test_memory_comes_from_the_drivers_pool(cuda: FakeCuda, has_pools: bool) -> None:
    cuda.has_pools = has_pools
    d, e = (tw.to_device(np.ones(4, np.float32)) for _ in range(2))
    assert cuda.pools == ({0: (1 << 64) - 1} if has_pools else {}) and len(cuda.memory) == 2
    cuda.context = 0  # as in a thread of another library
    del d
    assert len(cuda.memory) == 1 and not cuda.context and not cuda.pushed
    assert np.array_equal(e.to_host(), np.ones(4, np.float32))


def test_a_pool_that_keeps_memory_already_is_left_alone(cuda: FakeCuda) -> None:
    cuda.pools[0] = 1 << 20
    tw.to_device(np.ones(4, np.float32))
    assert cuda.pools == {0: 1 << 20}


def test_old_gpu(cuda: FakeCuda) -> None:
    cuda.capability = (7, 0)
    with pytest.raises(TileUnsupportedFeatureError, match="capability 7.0"):
        three()


def test_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fake_cuda.install(monkeypatch)
    monkeypatch.setattr(fake_cuda.FakeCuda, "cuInit", lambda self, flags: (fake_cuda.CUresult(719),))
    try:
        assert not driver.available()
        with pytest.raises(TileUnsupportedFeatureError, match="no NVIDIA GPU can be used here"):
            tw.to_device(np.zeros(3, np.float32), 0)
        assert tw.to_device(np.zeros(3, np.float32)).device == -1
    finally:
        fake_cuda.uninstall()
    assert not fake.launches


def test_interpret_copies_device_arrays(cuda: FakeCuda) -> None:
    x, y, z = three()
    make_add().interpret((7,), x, y, z, 16)
    assert np.array_equal(z.to_host(), 2 * np.arange(100, dtype=np.float32))
    assert not cuda.launches


def test_ptx_version_follows_the_driver(cuda: FakeCuda) -> None:
    add = make_add()
    args = *three(), 16
    assert ".version 9.0\n.target sm_90a" in add.ptx(*args)
    assert ".version 8.1\n.target sm_90a" in add.ptx(*args, target="sm_90a")
    add[(1,)](*args)
    code, _, mark = cuda.linked[0].rpartition("// ")  # new to the driver's own cache
    assert code == add.ptx(*args) and len(mark.strip()) == 16


def test_device_array(cuda: FakeCuda) -> None:
    a = np.arange(12, dtype=np.int16).reshape(3, 4)[:, ::2]
    d = tw.to_device(a)
    assert (d.shape, d.strides, d.dtype, d.ndim, d.nbytes) == ((3, 2), (2, 1), tw.int16, 2, 12)
    assert np.array_equal(d.to_host(), a) and d.__dlpack_device__() == (2, 0)
    assert d.__cuda_array_interface__["typestr"] == "<i2"
    assert d.pointer % 16 == 0
    e = tw.to_device(a, keep_strides=True)
    assert e.strides == (4, 2) and np.array_equal(e.to_host(), a)
    assert e.__cuda_array_interface__["strides"] == (8, 4)
    for view in (np.arange(300, dtype=np.float32)[1:], np.arange(300, dtype=np.float32)[::-3],
                 np.broadcast_to(np.float32(3), (4, 5)), np.zeros((0, 3), np.float32)):
        kept, plain = tw.to_device(view, keep_strides=True), tw.to_device(view)
        assert np.array_equal(kept.to_host(), view) and np.array_equal(plain.to_host(), view)
        if view.size:
            reach = sum((n - 1) * s for n, s in zip(view.shape, view.strides, strict=True))
            lowest = min(view.ctypes.data, view.ctypes.data + reach)
            low = kept._info().span[0]
            assert low % 256 == lowest % 256 and plain.pointer % 256 == 0
    pointer = d.pointer
    del d
    assert pointer not in cuda.memory, "freed"
    with pytest.raises(TypeError, match="on a GPU already"):
        tw.to_device(tw.to_device(a))
