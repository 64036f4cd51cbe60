"""Tensor maps of a launch, on a recorded driver: what is encoded, how often, and what the kernel gets to see."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import fake_cuda
from support.bulk_kernels import copy_text, lowered
from support.fake_cuda import FakeCuda, TensorMap

from tilewright.arguments.annotations import PLAIN_ARRAY
from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import ArrayArgument
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.runtime.driver import CudaError, get_device
from tilewright.backend_ptx.runtime.kernel import load_entry
from tilewright.backend_ptx.targets import get_target
from tilewright.launching.device_plans import DevicePlan
from tilewright.launching.grid import make_grid
from tilewright.tileir.cache import Entry
from tilewright.tileir.dtypes import bfloat16

ADDRESS, OUT = 0x7000_0000_0100, 0x7100_0000_0000


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A kernel that copies [64, 64] tiles of bfloat16, as a cache entry."""
    target = get_target("sm_90a")
    made = lowered(copy_text("bf16", (64, 64), (0, 1), 1), target, monkeypatch)
    ptx, _ = llvm_to_ptx(made.llvm_text, target)
    meta = {"abi": made.abi.to_json(), "threads": made.threads, "shared_bytes": made.shared_bytes,
            "opt_level": 3, "cluster": made.cluster}
    return Entry(meta, ptx)


def plan_of(entry: Entry, shape: tuple[int, ...], strides: tuple[int, ...]) -> DevicePlan:
    kernel = load_entry(entry, get_device(0))
    assert kernel is not None
    out = ArrayInfo(bfloat16, OUT, (128, 64), (64, 1), 0)
    infos = {"a": ArrayInfo(bfloat16, ADDRESS, shape, strides, 0), "out": out}
    return DevicePlan(kernel, [ArrayArgument(n, i, PLAIN_ARRAY) for n, i in infos.items()], frozenset({1}))


def launch(plan: DevicePlan, pointer: int = ADDRESS) -> None:
    plan.launch(make_grid((2,)), [pointer, OUT], [], 0)


def last_map(cuda: FakeCuda) -> TensorMap:
    params: list[Any] = cuda.launches[-1].params
    assert params[0] == ADDRESS or params[0] == ADDRESS + 4096
    return TensorMap.unpack(params[-1])


def test_what_is_encoded(cuda: FakeCuda, entry: Entry) -> None:
    launch(plan_of(entry, (100, 200), (208, 1)))
    assert last_map(cuda) == TensorMap(ADDRESS, 2, (200, 100), (416,), (64, 64), 128)
    assert cuda.launches[-1].params[1:5] == [100, 200, 208, 1]


def test_clusters_make_the_grid_longer(cuda: FakeCuda, entry: Entry) -> None:
    plan = plan_of(Entry({**entry.meta, "cluster": 4}, entry.ptx), (100, 200), (208, 1))
    plan.launch(make_grid((3, 5)), [ADDRESS, OUT], [], 0)
    assert cuda.launches[-1].grid == (12, 5, 1)


def test_each_address_is_encoded_once(cuda: FakeCuda, entry: Entry) -> None:
    plan = plan_of(entry, (100, 200), (208, 1))
    for pointer in (ADDRESS, ADDRESS, ADDRESS + 4096, ADDRESS, ADDRESS + 4096):
        launch(plan, pointer)
        assert last_map(cuda).pointer == pointer
    assert len(cuda.encoded) == 2


def test_new_addresses_do_not_pile_up(cuda: FakeCuda, entry: Entry, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.backend_ptx.runtime import tensor_map

    monkeypatch.setattr(tensor_map, "MAX_KEPT", 3)
    plan = plan_of(entry, (100, 200), (208, 1))
    for k in range(20):
        launch(plan, ADDRESS + 16 * k)
        assert TensorMap.unpack(cuda.launches[-1].params[-1]).pointer == ADDRESS + 16 * k
        assert len(plan._plan.maps[0]._kept) <= 3


@pytest.mark.parametrize("shape, strides", [((0, 64), (64, 1)), ((64, 0), (1, 1)), ((0, 0), (1, 1))])
def test_an_empty_array_reads_as_zero(
    cuda: FakeCuda, entry: Entry, shape: tuple[int, ...], strides: tuple[int, ...],
) -> None:
    plan = plan_of(entry, shape, strides)
    plan.launch(make_grid((2,)), [0, OUT], [], 0)
    made = TensorMap.unpack(cuda.launches[-1].params[-1])
    assert made.dims == (1, 1)
    zeros = cuda.memory[made.pointer].raw
    assert len(zeros) >= 256 and not any(zeros)
    assert cuda.launches[-1].params[1:3] == list(shape)


def test_the_stride_of_a_single_row_is_free(cuda: FakeCuda, entry: Entry) -> None:
    launch(plan_of(entry, (1, 200), (3, 1)))
    assert last_map(cuda) == TensorMap(ADDRESS, 2, (200, 1), (400,), (64, 64), 128)


def test_a_refusal_names_the_argument_and_the_code(cuda: FakeCuda, entry: Entry) -> None:
    with pytest.raises(CudaError, match=r"argument 'a'.*CUDA_ERROR_INVALID_VALUE \(1\)") as caught:
        launch(plan_of(entry, (100, 200), (201, 1)))
    assert caught.value.code == 1


def test_a_thread_without_a_context(cuda: FakeCuda, entry: Entry) -> None:
    plan = plan_of(entry, (100, 200), (208, 1))
    cuda.context = 0
    thread = threading.Thread(target=launch, args=(plan,))
    thread.start()
    thread.join()
    assert last_map(cuda).pointer == ADDRESS and cuda.context == 100


def test_many_threads(cuda: FakeCuda, entry: Entry) -> None:
    plan = plan_of(entry, (100, 200), (208, 1))
    get_device(0).make_current()

    def work(k: int) -> None:
        for _ in range(50):
            launch(plan, ADDRESS + 16 * k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cuda.launches) == 200
    assert all(TensorMap.unpack(x.params[-1]).pointer == x.params[0] for x in cuda.launches)


def test_what_is_stored_to_an_empty_array_goes_nowhere(cuda: FakeCuda, entry: Entry) -> None:
    """A map has no extent 0, and the zeros that loads get must stay."""
    abi = str(entry.meta["abi"]).replace('"stored": false', '"stored": true')
    stored = Entry({**entry.meta, "abi": abi}, entry.ptx)
    seen = []
    for code in (entry, stored):
        plan_of(code, (0, 64), (64, 1)).launch(make_grid((2,)), [0, OUT], [], 0)
        made = TensorMap.unpack(cuda.launches[-1].params[-1])
        assert made.dims == (1, 1) and len(cuda.memory[made.pointer].raw) >= 256
        seen.append(made.pointer)
    assert seen[0] != seen[1]
