"""Launches that wait: TILEWRIGHT_SYNC and tw.settings(synchronize=True), on a recorded driver and on a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import CUresult, FakeCuda

import tilewright as tw
from tilewright.launching import settings
from tilewright.launching.held import HELD


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")
    assert not any(HELD)


def make_double() -> Any:
    @tw.tile_kernel
    def double(x):
        i = tw.bid(0)
        tw.store(x, i, tw.load(x, i, 16) * 2.0)

    return double


def test_each_launch_waits_for_its_stream(cuda: FakeCuda) -> None:
    double, x, stream = make_double(), tw.to_device(np.ones(64, np.float32)), tw.Stream()
    bound = double.bind(4, x)
    with tw.graph() as g:
        double[4](x)
        double[2](x)
    double[4](x)
    cuda.synchronised.clear()
    double[4](x)
    assert not cuda.synchronised, "a launch does not wait"
    with tw.settings(synchronize=True) as now:
        assert repr(now) == "Settings(math='default', synchronize=True)"
        for _ in range(3):
            double[4](x)
        double[4](x, stream=5)
        with stream:
            bound()
        g()
        double[0](x)
        assert cuda.synchronised == [0, 0, 0, 5, stream.handle, 0, 0] and len(cuda.launches) == 9
        with tw.settings(synchronize=False):
            double[4](x)
        assert len(cuda.synchronised) == 7
        double[4](x)
    double[4](x)
    assert len(cuda.synchronised) == 8 and not tw.settings().synchronize


def test_a_fault_is_that_of_the_launch(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    double, x = make_double(), tw.to_device(np.ones(64, np.float32))
    double[4](x)
    monkeypatch.setattr(FakeCuda, "cuStreamSynchronize", lambda self, stream: (CUresult.CUDA_ERROR_LAUNCH_FAILED,))
    double[4](x)
    with tw.settings(synchronize=True), pytest.raises(RuntimeError) as caught:
        double[4](x)
    words = "kernel double, launched over the grid (4, 1, 1), failed: CUDA_ERROR_LAUNCH_FAILED (719)"
    assert str(caught.value) == words and caught.value.code == 719  # type: ignore[attr-defined]


def test_a_stream_that_is_captured_is_not_waited_for(cuda: FakeCuda) -> None:
    double, x = make_double(), tw.to_device(np.ones(64, np.float32))
    double[4](x)
    cuda.cuStreamBeginCapture(9, "global")
    with tw.settings(synchronize=True):
        double[4](x, stream=9)
    assert 9 not in cuda.synchronised and len(cuda.graphs[9]) == 1


def test_the_interpreter_has_nothing_to_wait_for() -> None:
    double, x = make_double(), np.ones(64, np.float32)

    @tw.tile_kernel
    def nothing():
        tw.static_assert(True)

    with tw.settings(synchronize=True):
        double[4](x)
        nothing[1]()
    assert (x == 2).all()
    with pytest.raises(TypeError, match="settings: synchronize must be True or False, not 1"):
        tw.settings(synchronize=1)  # type: ignore[arg-type]


def test_the_environment_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for words, wanted in (("1", True), ("0", False), ("off", False), ("", False)):
        monkeypatch.setenv("TILEWRIGHT_SYNC", words)
        settings.synchronise_if_wanted.cache_clear()
        with tw.settings():  # its end puts back what was
            make_double()
            assert tw.settings().synchronize == wanted
    settings.synchronise_if_wanted.cache_clear()


@pytest.mark.gpu
def test_a_fault_on_a_gpu_names_its_kernel(tmp_path: Path) -> None:
    """In a process of its own, whose context is lost."""
    script = tmp_path / "fault.py"
    script.write_text(textwrap.dedent("""
        import numpy as np
        import tilewright as tw

        @tw.tile_kernel
        def fine(x):
            tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), 16) + 1)

        @tw.tile_kernel
        def wrong(x):
            tw.assert_(tw.bid(0) < 2)
            tw.store(x, tw.bid(0), tw.load(x, tw.bid(0), 16) + 1)

        x = tw.to_device(np.ones(64, np.float32))
        for step in range(20):
            fine[4](x)
        try:
            wrong[4](x)
        except RuntimeError as error:
            print("found", error)
    """))
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env={
        **os.environ, "TILEWRIGHT_SYNC": "1"}, timeout=60)
    assert "found kernel wrong, launched over the grid (4, 1, 1), failed: CUDA_ERROR_" in ran.stdout, ran.stderr
