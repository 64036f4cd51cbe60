"""Target records: which one a device gets, PTX versions, what LLVM and ptxas say to each."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tilewright.backend_ptx import targets
from tilewright.backend_ptx.llvm.compile import llvm_to_ptx
from tilewright.backend_ptx.runtime.ptxas import assemble, ptxas_version
from tilewright.tileir.diagnostics import TileUnsupportedFeatureError, TileValueError

EMPTY_KERNEL = 'target triple = "nvptx64-nvidia-cuda"\ndefine ptx_kernel void @k() { ret void }\n'


@pytest.mark.parametrize("capability, name", [
    ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((8, 7), "sm_86"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"),
    ((10, 0), "sm_100a"), ((10, 9), "sm_89"), ((12, 0), "sm_120a"), ((12, 9), "sm_89"),
])
def test_device_gets_the_best_target_that_runs_on_it(capability: tuple[int, int], name: str) -> None:
    assert targets.for_device(capability).name == name


def test_old_devices_are_refused() -> None:
    with pytest.raises(TileUnsupportedFeatureError, match="7.5 are not supported"):
        targets.for_device((7, 5))


def test_every_record_is_listed() -> None:
    records = {word: value for word, value in vars(targets).items() if isinstance(value, targets.Target)}
    lacking = [word for word, value in records.items() if value not in targets.TARGETS.values()]
    said = [f"{word} is a record of backend_ptx/targets.py that TARGETS lacks: add it there" for word in lacking]
    assert not said, "\n".join(said)


def test_names() -> None:
    assert targets.get_target("sm_90") is targets.SM_90A
    assert targets.get_target(targets.SM_80) is targets.SM_80
    with pytest.raises(TileValueError, match="unknown target 'sm_75'"):
        targets.get_target("sm_75")


@pytest.mark.parametrize("driver, ptx", [(12000, 80), (12040, 84), (12060, 85), (12080, 87), (13000, 90), (13020, 90)])
def test_ptx_version_follows_the_driver(driver: int, ptx: int) -> None:
    assert targets.ptx_version_of_driver(driver) == ptx


def test_old_drivers_are_refused() -> None:
    with pytest.raises(TileUnsupportedFeatureError, match="CUDA 11.8"):
        targets.ptx_version_of_driver(11080)


@pytest.mark.parametrize("capability, driver, ptx", [
    ((8, 0), 12000, 80), ((9, 0), 12010, 81), ((9, 0), 13000, 90), ((12, 0), 12080, 87),
])
def test_target_of_driver(capability: tuple[int, int], driver: int, ptx: int) -> None:
    found = targets.target_of_driver(capability, driver)
    assert (found.capability, found.ptx) == (capability, ptx)


@pytest.mark.parametrize("capability, driver, needed", [
    ((8, 9), 12000, "12.1"), ((9, 0), 12000, "12.1"), ((10, 0), 12040, "12.7"), ((12, 0), 12060, "12.8"),
])
def test_driver_that_does_not_know_the_gpu(capability: tuple[int, int], driver: int, needed: str) -> None:
    with pytest.raises(TileUnsupportedFeatureError, match="too old for this GPU") as caught:
        targets.target_of_driver(capability, driver)
    assert f"CUDA {needed} or later" in str(caught.value)


def test_with_ptx_keeps_floor_and_ceiling() -> None:
    assert targets.SM_120A.with_ptx(80).ptx == 87
    assert targets.SM_80.with_ptx(200).ptx == targets.NEWEST_PTX


@pytest.mark.parametrize("name", targets.TARGETS)
def test_llvm_takes_the_floor(name: str) -> None:
    """In a process of its own, because LLVM ends it where the PTX version is too low for the processor."""
    program = ("from tilewright.backend_ptx.llvm.compile import llvm_to_ptx\n"
               "from tilewright.backend_ptx.targets import get_target\n"
               f"llvm_to_ptx({EMPTY_KERNEL!r}, get_target({name!r}))")
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, f"LLVM does not take PTX {targets.TARGETS[name].ptx / 10} for {name}: {run.stderr}"


@pytest.mark.parametrize("name", targets.TARGETS)
def test_each_target_compiles_and_assembles(name: str) -> None:
    assert ptxas_version() == "13.0"
    for target in (targets.TARGETS[name], targets.TARGETS[name].with_ptx(90)):
        ptx, timings = llvm_to_ptx(EMPTY_KERNEL, target)
        assert f".version {target.ptx / 10}" in ptx and f".target {name}" in ptx
        assert set(timings) == {"llvm parse", "llvm verify", "llvm passes", "llvm codegen"}
        assert assemble(ptx, target).cubin[:4] == b"\x7fELF"
