"""What the benchmarks' quick choice among kernels goes by; without a GPU."""

from __future__ import annotations

import contextlib
import gc
import sys
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from benchmarks import _timing


def test_the_host_has_no_say_in_which_kernel_is_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the GPU runs faster wins, though its launches take longer; one that fails drops out."""
    launched, on_the_gpu = {"small": 2.0, "large": 9.0}, {"small": 1.8, "large": 1.1}

    def kernel(name: str) -> Callable[[], Any]:
        return lambda: on_the_gpu[name]

    def alternate(runs: dict[str, Callable[[], Any]], **_: Any) -> dict[str, float]:
        return {name: run() if run in graphs else launched[name] for name, run in runs.items()}

    def graph_of(run: Callable[[], Any]) -> Callable[[], Any]:
        graphs.append(run)
        return run

    graphs: list[Any] = []
    monkeypatch.setattr(_timing, "graph_of", graph_of)
    monkeypatch.setattr(_timing, "alternate", alternate)
    choices = {name: kernel(name) for name in on_the_gpu}
    found = _timing.fastest({**choices, "refused": lambda: 1 // 0})
    assert found is choices["large"]


def test_a_graph_keeps_the_arrays_of_its_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay writes where the captured run wrote: memory that was freed may hold the code of a kernel by then."""
    class Array:
        pass

    def run_of(array: Array) -> Callable[[], Any]:
        return lambda: array

    stream, replays = SimpleNamespace(wait_stream=lambda other: None), []
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=SimpleNamespace(
        Stream=lambda: stream, current_stream=lambda: stream, stream=contextlib.nullcontext,
        graph=contextlib.nullcontext, CUDAGraph=lambda: SimpleNamespace(replay=lambda: replays.append(1)))))
    array = Array()
    kept = weakref.ref(array)
    graph = _timing.graph_of(run_of(array))
    del array
    gc.collect()
    graph()
    assert replays == [1] and kept() is not None
    del graph
    gc.collect()
    assert kept() is None
