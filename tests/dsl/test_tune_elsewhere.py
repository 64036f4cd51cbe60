"""The processes that compile for a search of many configurations, on a recorded driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from support import fake_cuda
from support.fake_cuda import FakeCuda
from support.tune_kernels import scale

import tilewright as ct
from tilewright.launching.grid import make_grid
from tilewright.tune import elsewhere
from tilewright.tune.candidates import Candidate, Refused, prepared
from tilewright.tune.elsewhere import FEWEST, Compilers
from tilewright.tune.process import RemoteError
from tilewright.tune.space import Config
from tilewright.tune.worker import _compiled

CONFIGS = [Config({"n": n, "warps": warps}) for warps in (4, 8) for n in (16, 32, 64, 128, 256, 512, 1024, 3)]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    monkeypatch.setattr(elsewhere, "cores", lambda: 2)
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


class InPlace:
    """What a process would answer, and what came of all that were begun."""

    answered: ClassVar[list[str]] = []
    broken = False

    def ask(self, message: tuple[Any, ...], seconds: float | None, late: str) -> tuple[Any, ...]:
        if self.broken:
            raise RemoteError("CudaError", "no memory for a context")
        kind, what, how = pickle.loads(pickle.dumps(message))
        assert kind == "compile" and seconds is None
        answer = pickle.loads(pickle.dumps(_compiled(what, how)))
        self.answered.append(answer[0])
        return tuple(answer)

    def end(self) -> None:
        self.answered.append("end")


def make(config: Config) -> Candidate:
    x, y = (ct.to_device(np.ones(256, np.float32)) for _ in range(2))
    kernel = scale.replace_hints(num_worker_warps=config["warps"])
    return Candidate(config, kernel, make_grid((1,)), (x, y, config["n"]))


def refused(configs: Sequence[Config]) -> list[int]:
    """Which of these cannot be compiled."""
    found = enumerate(prepared(configs, make, None))
    return [number for number, one in found if isinstance(one, Refused)]


def test_few_kernels_or_one_core_need_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    for count, cores, wanted in ((2 * FEWEST, 1, 0), (2 * FEWEST - 1, 64, 0), (2 * FEWEST, 2, 2), (2000, 64, 8)):
        monkeypatch.setattr(elsewhere, "cores", lambda cores=cores: cores)
        compilers = Compilers(count)
        with compilers as there:
            assert len(compilers._all) == wanted and (there is not None) is bool(wanted)


@pytest.mark.parametrize("broken", [False, True])
def test_code_of_other_processes_is_loaded_here(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda, broken: bool) -> None:
    """Each text is assembled there once, and loaded here by its mark; without processes it is compiled here."""
    monkeypatch.setattr(elsewhere, "Worker", InPlace)
    monkeypatch.setattr(InPlace, "answered", [])
    monkeypatch.setattr(InPlace, "broken", broken)
    assert refused(CONFIGS) == [7, 15]
    assert InPlace.answered == [*["compiled"] * (0 if broken else 14), "end", "end"]
    assert len(set(cuda.linked)) == 14 and len(cuda.linked) == (14 if broken else 28)


def test_a_process_without_a_gpu_leaves_the_work_here(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    """A real one, which finds no driver; and then none that starts."""
    assert len(CONFIGS) == 2 * FEWEST
    assert refused(CONFIGS) == [7, 15]
    monkeypatch.setattr("sys.executable", "/no/python")
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", "0")
    assert refused(CONFIGS) == [7, 15] and len(cuda.linked) == 28
