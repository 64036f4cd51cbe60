"""Launches on a real GPU: arrays of every origin, streams, threads, large grids, shared memory, the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.gpu


@tw.tile_kernel
def add(x, y, z, n: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(z, (i,), tw.load(x, (i,), (n,)) + tw.load(y, (i,), (n,)))


@tw.tile_kernel
def block_ids(out):
    i, j, k = tw.bid(0), tw.bid(1), tw.bid(2)
    where = (i * tw.num_blocks(1) + j) * tw.num_blocks(2) + k
    tw.store(out, (i, j, k), tw.full((1, 1, 1), where, tw.int32))


@tw.tile_kernel
def transpose(x, out, n: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    tw.store(out, (j, i), tw.transpose(tw.load(x, (i, j), (n, n))))


@tw.tile_kernel
def list_sum(xs, out):
    i = tw.bid(0)
    acc = tw.zeros((64,), tw.float32)
    for k in range(len(xs)):
        acc = acc + tw.load(xs[k], (i,), (64,))
    tw.store(out, (i,), acc)


@tw.tile_kernel
def scaled(x, a, b, k: tw.ScalarInt64, flag):
    i = tw.bid(0)
    t = tw.load(x, (i,), (64,)) * a + b
    tw.store(x, (i,), tw.where(flag, t + tw.astype(k, tw.float32), t))


@pytest.fixture
def torch(request: pytest.FixtureRequest) -> Any:
    """torch with CUDA; it is no dependency of ours, so its absence is a skip unless GPU tests are required."""
    try:
        import torch as module
    except ImportError:
        module = None
    if module is None or not module.cuda.is_available():
        refuse = pytest.fail if request.config.getoption("--require-gpu") else pytest.skip
        refuse("there is no torch that sees a GPU")
    return module


@pytest.mark.parametrize("dtype", [np.float32, np.int64, ml_dtypes.bfloat16, np.float16, np.uint8])
@pytest.mark.parametrize("n", [1, 63, 64, 1000003])
def test_device_arrays(dtype: Any, n: int) -> None:
    x = (np.arange(n) % 100).astype(dtype)
    d = [tw.to_device(a) for a in (x, x[::-1], np.zeros_like(x))]
    for _ in range(3):
        add[(-(-n // 1024),)](*d, 1024)
    assert np.array_equal(d[2].to_host(), x + x[::-1])


def test_shape_round_trip() -> None:
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, ::2]
    assert np.array_equal(tw.to_device(a).to_host(), a)
    empty = tw.to_device(np.zeros((0, 3), np.float32))
    assert empty.to_host().shape == (0, 3)
    none = tw.to_device(np.zeros(0, np.float32))
    add[(3,)](none, none, none, 64)


def test_large_grid_is_linearised() -> None:
    for shape in ((3, 7, 5), (2, 70000, 3), (3, 2, 66000)):
        out = tw.to_device(np.zeros(shape, np.int32))
        block_ids[shape](out)
        assert np.array_equal(out.to_host().ravel(), np.arange(np.prod(shape), dtype=np.int32)), shape


@pytest.mark.parametrize("n", [16, 64, 128])
def test_shared_memory(n: int) -> None:
    # 128 x 128 floats are 64 KiB: more than a kernel may use without asking.
    x = np.random.default_rng(0).standard_normal((300, 200)).astype(np.float32)
    out = tw.to_device(np.zeros((200, 300), np.float32))
    transpose[(-(-300 // n), -(-200 // n))](tw.to_device(x), out, n)
    assert np.array_equal(out.to_host(), x.T)


def test_lists() -> None:
    xs = [np.random.default_rng(k).standard_normal(100).astype(np.float32) for k in range(5)]
    out = tw.to_device(np.zeros(100, np.float32))
    for count in (5, 2, 5):
        list_sum[(2,)]([tw.to_device(x) for x in xs[:count]], out)
        want = np.zeros(100, np.float32)
        for x in xs[:count]:
            want = want + x
        assert np.array_equal(out.to_host(), want)


def test_scalars() -> None:
    x = np.arange(64, dtype=np.float32)
    for a, b, k, flag in [(2, 0.5, 7, True), (-3, 0.25, -1, False), (5, -0.25, 1 << 40, True)]:
        d = tw.to_device(x)
        scaled[(1,)](d, a, b, k, flag)
        host = x.copy()
        scaled[(1,)](host, a, b, k, flag)
        assert np.array_equal(d.to_host(), host)


def test_many_threads() -> None:
    x = np.arange(4096, dtype=np.float32)
    sets = [[tw.to_device(a) for a in (x, x, np.zeros_like(x))] for _ in range(8)]
    kernel = add.replace_hints()
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for _ in range(50):
                kernel[(4,)](*sets[number], 1024)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for d in sets:
        assert np.array_equal(d[2].to_host(), 2 * x)


def test_refused_before_the_launch() -> None:
    x = tw.to_device(np.zeros(64, np.float32))
    y = tw.to_device(np.zeros(64, np.float32))
    for _ in range(3):
        with pytest.raises(ValueError, match="in host memory"):
            add[(1,)](x, np.zeros(64, np.float32), y, 64)
        add[(1,)](x, x, y, 64)


def test_interpret_on_device_arrays() -> None:
    x = np.arange(100, dtype=np.float32)
    out = tw.to_device(np.zeros(100, np.float32))
    add.interpret((2,), tw.to_device(x), tw.to_device(x), out, 64)
    assert np.array_equal(out.to_host(), 2 * x)


def test_kernel_facts_and_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx import compile as module
    from tilewright.backend_ptx.runtime import driver

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    x = tw.to_device(np.zeros(4096, np.float32))
    out = tw.to_device(np.zeros(4096, np.float32))
    linked: list[object] = []
    whole = module.compile_kernel

    def counted(*args: Any, **options: Any) -> Any:
        linked.append(args)
        return whole(*args, **options)

    monkeypatch.setattr(module, "compile_kernel", counted)
    for _ in range(2):
        kernel = add.replace_hints()
        kernel[(4,)](x, x, out, 1024)
        [(made, _)] = kernel.launcher.gpu._kernels._values.values()
        assert 8 <= made.registers <= 255 and made.local_bytes == 0
    assert len(linked) == 1, "the second one comes from the disk"
    device = driver.get_device(0)
    assert device.target.ptx >= 80
    assert kernel.cubin(x, x, out, 1024)[:4] == b"\x7fELF"


def test_refused_ptx_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx.runtime import driver
    from tilewright.backend_ptx.runtime.link import link_ptx
    from tilewright.tileir.diagnostics import TileCompilerExecutionError

    driver.get_device(0).make_current()
    with pytest.raises(TileCompilerExecutionError) as caught:
        link_ptx(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n frobnicate;\n}\n", "k")
    assert "kernel k" in str(caught.value) and "frobnicate" in str(caught.value)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "int32"])
def test_torch(torch: Any, name: str) -> None:
    dtype = getattr(torch, name)
    base = (torch.arange(3000, device="cuda") % 50).to(dtype)
    for x in (base[:1000], base[1::3][:999], base.view(30, 100)[3]):
        out = torch.zeros(x.shape[0], dtype=dtype, device="cuda")
        for _ in range(3):
            add[(-(-x.shape[0] // 256),)](x, x, out, 256)
        assert torch.equal(out, x + x)


def test_torch_streams(torch: Any) -> None:
    x = torch.ones(1 << 20, device="cuda")
    out = torch.zeros_like(x)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for k in range(20):  # on torch's current stream: in order with torch's own work there
            x.fill_(k)
            add[(1024,)](x, x, out, 1024)
            assert float(out.sum()) == 2 * k * x.numel()
    add[(1024,)](x, x, out, 1024, stream=side)
    tw.launch(side, (1024,), add, (x, x, out, 1024))
    side.synchronize()
    assert float(out[5]) == 38


def test_torch_versions(torch: Any) -> None:
    """Each launch counts once, by Python and by machine code, also of a view."""
    x, out = torch.ones(4096, device="cuda"), torch.zeros(8192, device="cuda")
    bound = add.bind((4,), x, x, out[:4096], 1024)
    for number in range(60):
        assert out._version == 2 * number
        bound()
        add[(4,)](x, x, out, 1024)
    assert x._version == 0


def test_a_graph_with_other_arrays(torch: Any) -> None:
    """Queued calls use what they were queued with; arrays at odd addresses need other kernels."""
    x, y, out = (torch.full((4097,), k, device="cuda", dtype=torch.float32) for k in (1, 2, 0))
    other, more = torch.full_like(x, 10), torch.zeros_like(x)
    with tw.graph() as g:
        add[(4,)](x, y, out, 1024)
        add[(4,)](out, y, out, 1024)
    executable = g._captured._executable
    g()
    g.update((x, other), (out, more))
    g()
    torch.cuda.synchronize()
    assert (float(out[5]), float(more[5])) == (5, 14) and g._captured._executable is executable
    g.update((other, x[1:]), (more, out[1:]))
    out.zero_()
    g()
    assert (float(out[0]), float(out[4096])) == (0, 5) and (float(more[4096]), float(more.sum())) == (0, 14 * 4096)


def test_torch_graph(torch: Any) -> None:
    x, out = torch.ones(4096, device="cuda"), torch.zeros(4096, device="cuda")
    for _ in range(3):
        add[(4,)](x, x, out, 1024)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add[(4,)](x, x, out, 1024)
    x.fill_(21)
    graph.replay()
    torch.cuda.synchronize()
    assert float(out[7]) == 42


def test_torch_thread_without_context(torch: Any) -> None:
    x, out = torch.ones(4096, device="cuda"), torch.zeros(4096, device="cuda")
    for _ in range(3):
        add[(4,)](x, x, out, 1024)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            add[(4,)](x, x, out, 1024, stream=0)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not failures


def test_exchange_with_torch(torch: Any) -> None:
    d = tw.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    shared = torch.from_dlpack(d)
    shared += 1
    torch.cuda.synchronize()
    assert np.array_equal(d.to_host(), np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    assert torch.as_tensor(d, device="cuda").data_ptr() == d.pointer
    del d
    assert float(shared[2, 3]) == 12
    out = tw.to_device(np.zeros(12, np.float32))
    x = torch.arange(12, dtype=torch.float32, device="cuda")
    torch.cuda.synchronize()
    add[(1,)](x, x, out, 16)
    assert np.array_equal(out.to_host(), 2 * np.arange(12, dtype=np.float32))


def test_checked_launches_run_on_copies() -> None:
    """Of arrays on this GPU: results come back, and what is wrong is an error with its line."""
    script = """
import numpy as np
import tilewright as tw
from test_checking import far, halve

x, out = tw.to_device(np.ones(16, np.float32)), tw.to_device(np.zeros(16, np.float32))
halve[(4,)](x, out)
halve[(4,)](out, x)
print(x.to_host().sum())
far[(2,)](x, out)
"""
    places = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "TILEWRIGHT_CHECK": "1", "PYTHONPATH": places}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert ran.stdout == "4.0\n" and ran.returncode == 1 and "CheckError: far: error (bounds)" in ran.stderr, ran.stderr
    assert ran.stderr.count("launches are checked") == 1
