"""Drivers and stand-ins for torch that the tests of launches in machine code share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import fake_cuda, fake_torch
from support.fake_cuda import FakeCuda
from support.fake_torch import FakeTorch

from tilewright.arguments import torch_tensors


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    """A driver; launches are learnt after the third that Python makes."""
    fake_cuda.learning_soon(monkeypatch)
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


@pytest.fixture(params=["table", "cells", "handles"])
def torch(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[FakeTorch]:
    """Tensors that machine code reads by DLPack's table, raising versions by Python or in a cell, or by torch's
    functions on their handles."""
    yield fake_torch.install(monkeypatch, request.param)
    torch_tensors._increment.cache_clear()
