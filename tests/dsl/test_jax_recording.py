"""Launches that XLA records into command buffers: compiled before that. JAX is not needed."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support import fake_cuda
from support.compilation import scale
from support.fake_cuda import FakeCuda

from tilewright.arguments.arrays import ArrayInfo
from tilewright.jax import ffi, registry
from tilewright.jax.entries import InputOutput, OutputPlaceholder
from tilewright.jax.registry import BOTH, INPUT, OUTPUT, Constant, Record
from tilewright.tileir.dtypes import float32


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeCuda]:
    yield from fake_cuda.in_place(monkeypatch, tmp_path / "cache")


def memory(address: int, readonly: bool = False) -> ArrayInfo:
    return ArrayInfo(float32, address, (128,), (1,), 0, readonly)


@pytest.mark.parametrize("in_place", [False, True])
def test_recording_compiles_nothing(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, in_place: bool) -> None:
    kinds = (BOTH, OUTPUT) if in_place else (INPUT, OUTPUT)
    record = Record(scale.replace_hints(), (2,), (*kinds, Constant(2.0), Constant(64)))
    x, out = np.zeros(128, np.float32), OutputPlaceholder((128,), np.float32)
    registry.compile_ahead(record, (InputOutput(x) if in_place else x, out, 2.0, 64), [0])
    assert len(cuda.linked) == 1 and not cuda.launches
    monkeypatch.setattr(registry, "_records", [record])
    for low in (4096, 8192, 16384):
        if low == 16384:  # from now on the short way, which binds nothing
            monkeypatch.delattr(record.kernel.launcher, "_specialiser")
        given, result = memory(low, not in_place), memory(low + 1024)
        registry.run(0, ffi.Handed([given], [given, result] if in_place else [result], 7))
        assert (cuda.launches[-1].stream, cuda.launches[-1].grid) == (7, (2, 1, 1))
        assert cuda.launches[-1].params[0] == low
    assert len(cuda.linked) == 1


@pytest.mark.parametrize("recordable, on_gpu, traits", [(True, True, 1), (False, True, 0), (True, False, 0)])
def test_what_handlers_say_of_themselves(recordable: bool, on_gpu: bool, traits: int) -> None:
    metadata = ffi._Metadata(traits=9)
    extension = ffi._MetadataExtension(ffi._Base(0, ffi.METADATA, None), ctypes.pointer(metadata))
    frame = ffi._Frame(extension=ctypes.addressof(extension))
    handler = ffi.make_handler(lambda number, handed: None, on_gpu, recordable)
    assert handler(ctypes.pointer(frame)) is None
    assert (metadata.traits, metadata.version.major, metadata.version.minor) == (traits, ffi.MAJOR, ffi.MINOR)
