"""`import cuda.tile` after `tilewright.cutile.install()`, in processes of their own, which it changes for good."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tilewright.cutile import torch_cpu
from tilewright.cutile.cupy_cpu import cupy

STUBS = Path(__file__).parent / "stubs"


def fresh(program: str, **variables: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=os.environ | variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_imports() -> None:
    assert fresh("""
import sys, tilewright, tilewright.cutile
tilewright.cutile.install(cpu=False)
assert not {"numpy", "llvmlite", "torch", "cupy", "cuda"} & sys.modules.keys()
tilewright.cutile.install(cpu=False)
import cuda.tile as ct
import cuda.tile.tune
from cuda.tile import RoundingMode, tune
from cuda.tile._stub import mma_scaled
from cuda.tile._memory_model import MemoryOrder
from cuda.tile.compilation import KernelSignature
print(ct is tilewright, cuda.tile.tune is tilewright.tune, mma_scaled is ct.mma_scaled, MemoryOrder is ct.MemoryOrder)
print(tilewright.__name__, tilewright.__spec__.name, tilewright.tune.__spec__.name)
for name in ("cuda.tile.kernel", "cuda.tile._cext", "cuda.tile.tune.search", "cuda.tile_experimental", "cuda.odd"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        print(error.name)
import cuda.bindings
print(cuda.bindings.__name__, len([f for f in sys.meta_path if type(f).__module__.startswith("tilewright")]))
""") == ["True True True True", "tilewright tilewright tilewright.tune", "cuda.tile.kernel", "cuda.tile._cext",
         "cuda.tile.tune.search", "cuda.tile_experimental", "cuda.odd", "cuda.bindings 2"]


def test_without_a_package_cuda() -> None:
    assert fresh("""
import importlib.machinery, sys, tilewright.cutile
tilewright.cutile.install(cpu=False)
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *rest: None if name == "cuda" else find(name, *rest)
import cuda.tile, tilewright
print(cuda.tile is tilewright)
""") == ["True"]


def test_another_cuda_tile_is_not_replaced() -> None:
    assert fresh("""
import sys, types, tilewright.cutile
sys.modules["cuda.tile"] = types.ModuleType("cuda.tile")
try:
    tilewright.cutile.install()
except RuntimeError as error:
    print(error)
""") == ["cuda.tile is imported already; call tilewright.cutile.install() before that"]


def test_torch_that_is_there_already_is_patched_and_a_missing_one_stays_missing() -> None:
    program = """
import torch, tilewright.cutile
tilewright.cutile.install(cpu=True)
print(torch.zeros(3, device="cuda").shape, torch.zeros(3, device=0).device.type, torch.cuda.is_available())
print(torch.compile(len) is len, torch.compile(mode="max-autotune")(len) is len, torch.zeros(3, pin_memory=True).shape)
with torch.cuda.nvtx.range("all"):
    torch.cuda.nvtx.range_push("part")
    torch.cuda.cudart().cudaProfilerStart()
    try:
        torch.cuda.CUDAGraph()
    except RuntimeError as error:
        assert str(error).startswith("CUDA graphs need a GPU; "), error
    print(torch.cuda.get_device_properties(0).shared_memory_per_block_optin)
"""
    path = os.pathsep.join([str(STUBS), os.environ.get("PYTHONPATH", "")])
    assert fresh(program, PYTHONPATH=path) == ["(3,) cpu True", "True True (3,)", "232448"]
    with pytest.raises(AssertionError, match="No module named 'no_torch'"):
        fresh("import tilewright.cutile as c; c.install(cpu=True); import no_torch")


def test_nothing_is_substituted_unasked() -> None:
    path = os.pathsep.join([str(STUBS), os.environ.get("PYTHONPATH", "")])
    assert fresh("""
import tilewright.cutile, torch
tilewright.cutile.install(cpu=False)
import cuda.tile
try:
    torch.zeros(3, device="cuda")
except RuntimeError as error:
    print(error)
""", PYTHONPATH=path) == ["this torch has no CUDA"]


@pytest.mark.parametrize("value, expected", [("cuda", True), ("cuda:1", True), ("cpu", False), ("cudax", False),
                                             (0, False), (None, False)])
def test_names_of_cuda_devices(value: object, expected: bool) -> None:
    assert torch_cpu.is_cuda(value) is expected


def test_cupy_s_profiler() -> None:
    assert fresh("""
import tilewright.cutile
tilewright.cutile.install(cpu=True)
import cupy as cp
from cupyx.profiler import benchmark
from cupy.cuda import nvtx
calls = []
nvtx.RangePush("all")
times = benchmark(calls.append, (1,), n_repeat=500, n_warmup=20)
nvtx.RangePop()
cp.cuda.profiler.stop()
print(len(calls), times.gpu_times.shape, times.cpu_times.shape, str(times).startswith("append: CPU"))
""") == ["11 (1, 10) (10,) True"]


def test_what_cupy_tells_of_the_device() -> None:
    runtime, device = cupy.cuda.runtime, cupy.cuda.Device(cupy.cuda.get_device_id())
    told = runtime.getDeviceProperties(0)
    assert (told["name"], told["major"], told["multiProcessorCount"]) == (b"CPU (Tilewright's interpreter)", 9, 8)
    assert device.attributes["L2CacheSize"] == told["l2CacheSize"] == runtime.deviceGetAttribute(38, 0)
    with pytest.raises(ValueError, match="does not know attribute 1000 of a device"):
        runtime.deviceGetAttribute(1000, 0)


def test_scatters_of_cupyx() -> None:
    assert fresh("""
import tilewright.cutile
tilewright.cutile.install(cpu=True)
import cupy as cp, cupyx
counts = cp.zeros(3, dtype=cp.int32)
cupyx.scatter_add(counts, cp.array([0, 2, 2]), 1)
cupyx.scatter_max(counts, cp.array([1, 1]), cp.array([5, 4]))
print(counts.tolist())
""") == ["[1, 5, 2]"]


def test_arrays_of_the_stand_in() -> None:
    x = cupy.arange(6, dtype=cupy.float32).reshape(2, 3)
    for made in (x, x.T, x[0], x[0, 0], x.sum(), x.mean(axis=0), x @ x.T, cupy.sum(x), cupy.exp(x), cupy.zeros_like(x),
                 cupy.random.rand(3, dtype=cupy.float16), cupy.random.randint(0, 9, (4,)), cupy.linalg.norm(x),
                 cupy.random.default_rng(1).normal(size=3), *cupy.broadcast_arrays(x, x[0])):
        assert isinstance(made, cupy.ndarray), made
    assert type(cupy.asnumpy(x)) is type(x.get()) is np.ndarray
    assert f"{x[1, 2]:.1f}" == "5.0" and int(x.sum()) == 15 and cupy.random.rand(3, dtype=cupy.float16).dtype == "f2"
    x[0, 0].set(7)
    assert x.get()[0, 0] == 7  # an element is a view, as it is with CuPy
    copy = x.get()
    x += 1
    assert copy[0, 0] == 7
    assert cupy.get_array_module(x) is cupy and cupy.get_array_module(copy) is np
    shared = cupy.fromDlpack(x.toDlpack())
    shared[0, 0] = 3
    assert isinstance(shared, cupy.ndarray) and x[0, 0] == 3
    assert x.data.ptr == x.ctypes.data and cupy.fuse(len) is cupy.fuse(kernel_name="n")(len) is len
    with pytest.raises(AttributeError, match="stand-in for cupy has no 'RawKernel': CUDA C\\+\\+ needs a GPU"):
        cupy.RawKernel  # noqa: B018
