"""Launches that are recorded and not run, and tensors of torch that a launch refuses, without torch."""

from __future__ import annotations

import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.arguments import torch_tensors
from tilewright.launching import tracing
from tilewright.launching.recording import recorded


@tw.tile_kernel
def fill(out, value=7.0):
    tw.store(out, tw.bid(0), value)


@tw.tile_kernel(grid="2")
def fill_two(out):
    tw.store(out, tw.bid(0), 5.0)


class Symbol:
    """A size that is a symbol: it cannot be hashed, and has no value."""

    __hash__ = None


def test_launches_are_recorded() -> None:
    out, symbol = np.zeros(2, np.float32), Symbol()
    with recorded() as launches:
        fill[(2,)](out)
        fill[(symbol, 3)](out, value=1.0)
        tw.launch(None, (1,), fill, (out, 2.0))
        fill_two(out)
        fill_two[(9,)](out)
        with recorded() as inner:
            fill[(2,)](out)
    assert not out.any() and len(inner) == 1
    assert [launch.grid for launch in launches] == [(2,), (symbol, 3), (1,), None, (9,)]
    assert [launch.args[1:] for launch in launches] == [(7.0,), (1.0,), (2.0,), (), ()]
    assert launches[0].launcher is fill.launcher and launches[3].launcher is fill_two.launcher
    fill[(2,)](out)
    assert out.tolist() == [7, 7]
    with recorded() as launches:
        fill[(2,)](out, 0.0)  # of a grid that is known already
    assert launches[0].grid == (2, 1, 1) and out.all()


def test_other_threads_run_their_launches() -> None:
    import threading

    out = np.zeros(2, np.float32)
    with recorded() as launches:
        thread = threading.Thread(target=lambda: fill[(2,)](out))
        thread.start()
        thread.join()
    assert out.all() and not launches


class Tensor:
    """A stand-in for torch.Tensor, whose message is torch's."""

    def data_ptr(self) -> int:
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


class FakeTensor(Tensor):
    def data_ptr(self) -> int:
        return 0


class Broken(Tensor):
    def data_ptr(self) -> int:
        raise RuntimeError("CUDA error")


@pytest.mark.parametrize("kind", [Tensor, FakeTensor])
def test_tensors_without_memory(kind: type[Tensor]) -> None:
    with pytest.raises(TypeError) as caught:
        torch_tensors.address(kind())
    assert str(caught.value) == (
        "a tensor that has no memory of its own cannot be passed: the program is traced (FakeTensorMode, "
        "torch.compile, torch.export, torch.vmap), and kernels do not run; make the function that launches the kernel "
        'an operator, @tw.torch.op("my::name"), and call that')
    with pytest.raises(RuntimeError, match="CUDA error"):
        torch_tensors.address(Broken())


class Output:
    """A stand-in for a tensor with autograd."""

    def __init__(self, requires_grad: bool, base: Output | None = None) -> None:
        self.requires_grad, self.is_leaf, self._base = requires_grad, base is None, base

    def _is_view(self) -> bool:
        return self._base is not None


def test_outputs_and_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    graph = types.SimpleNamespace(increment_version=counted.extend)
    enabled = [True]
    torch = types.SimpleNamespace(is_grad_enabled=lambda: enabled[0], autograd=types.SimpleNamespace(graph=graph))
    monkeypatch.setitem(sys.modules, "torch", torch)
    torch_tensors._increment.cache_clear()
    plain, leaf = Output(False), Output(True)
    torch_tensors.note_writes([plain])
    for tensor, words in ((leaf, "a leaf"), (Output(True, leaf), "a view of a leaf")):
        with pytest.raises(RuntimeError) as caught:
            torch_tensors.note_writes([plain, tensor])
        assert str(caught.value) == f"{words} Variable that requires grad is being used in an in-place operation."
    assert counted == [plain]
    enabled[0] = False
    torch_tensors.note_writes([leaf])
    assert counted == [plain, leaf]
    torch_tensors._increment.cache_clear()


def test_marks_for_torch_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """The attributes that torch.compiler.disable sets, and the folders whose frames are left alone."""
    for function in (type(fill).__getitem__, type(fill).__call__, fill[(1,)].func, tw.launch):
        marked: Any = function
        assert marked._torchdynamo_disable is True
        assert '@tw.torch.op("my::name")' in marked._torchdynamo_disable_msg
    added: list[str] = []
    monkeypatch.setitem(sys.modules, "torch._dynamo.trace_rules", types.SimpleNamespace(add=added.append))
    monkeypatch.setattr(tracing, "_kept_apart", False)
    tracing.keep_apart_from_dynamo()
    tracing.keep_apart_from_dynamo()
    assert len(added) == len(set(added)) == 6 and "tilewright.launching" in added


def test_an_operator_needs_torch() -> None:
    program = """
import sys, tilewright as tw
assert "torch" not in sys.modules
sys.modules["torch"] = None
try:
    tw.torch.op("my::name")
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "tw.torch needs PyTorch; install it with: pip install torch\n"
