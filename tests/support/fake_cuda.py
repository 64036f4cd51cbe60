"""A stand-in for cuda.bindings.driver: host memory as device memory, PTX as cubin, launches recorded.

It reads a launch's parameters by the signature in the PTX, so that what the launcher packs is held against what the
compiler declared.
"""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from support.fake_driver.launches import Launches
from support.fake_driver.results import CUresult
from support.fake_driver.tensor_maps import TensorMap

__all__ = ["CUresult", "FakeCuda", "TensorMap", "in_place", "install", "learning_soon", "uninstall"]

_ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)
_LAUNCH = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
_RECORD = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_CREATE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint)
_CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_SET_CURRENT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)
_REPLACE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@dataclass
class FakeCuda(Launches):
    """The functions of cuda.bindings.driver that Tilewright calls, and those of the driver itself, by address."""

    called: int = 0  # launches through the driver's function itself
    refused: int = 0  # what that function answers
    meanwhile: Any = lambda: None  # what other threads do while it works
    encoded: list[TensorMap] = field(default_factory=list)
    callbacks: list[Any] = field(default_factory=list)

    def cuGetProcAddress(self, symbol: bytes, version: int, flags: int) -> Any:
        assert version >= (12000 if symbol.startswith(b"cuTensorMap") else 4000)
        self.callbacks.append({
            b"cuTensorMapEncodeTiled": lambda: _ENCODE(self._encode_tiled),
            b"cuTensorMapReplaceAddress": lambda: _REPLACE(self._replace_address),
            b"cuLaunchKernel": lambda: _LAUNCH(self._launch),
            b"cuCtxGetCurrent": lambda: _CURRENT(self._current),
            b"cuCtxSetCurrent": lambda: _SET_CURRENT(self._set_current),
            b"cuEventRecord": lambda: _RECORD(self._record),
            b"cuEventCreate": lambda: _CREATE(self._create)}[symbol]())
        return CUresult(0), ctypes.cast(self.callbacks[-1], ctypes.c_void_p).value, 0

    def _launch(self, function: int, *rest: int | None) -> int:
        self.meanwhile()
        if self.refused:
            return self.refused
        [found] = [known for known in self.functions if id(known) == function]
        self.called += 1
        return int(self.cuLaunchKernel(found, *(number or 0 for number in rest))[0])

    def _record(self, event: int | None, stream: int | None) -> int:
        return int(self.cuEventRecord(event or 0, stream or 0)[0])

    def _create(self, out: int, flags: int) -> int:
        status, event = self.cuEventCreate(flags)
        ctypes.c_uint64.from_address(out).value = event
        return int(status)

    def _current(self, out: int) -> int:
        ctypes.c_void_p.from_address(out).value = self.context
        return 0

    def _set_current(self, context: int | None) -> int:
        return int(self.cuCtxSetCurrent(context or 0)[0])

    def _encode_tiled(
        self, out: int, kind: int, rank: int, pointer: int | None, dims: int, strides: int, box: int, steps: int,
        interleave: int, swizzle: int, l2: int, fill: int,
    ) -> int:
        if not self.context:
            return CUresult.CUDA_ERROR_INVALID_CONTEXT
        wide, narrow = ctypes.c_uint64 * rank, ctypes.c_uint32 * rank
        assert list(narrow.from_address(steps)) == [1] * rank and (interleave, fill) == (0, 0)
        made = TensorMap(
            pointer or 0, {0: 1, 1: 2, 2: 4, 4: 8}[kind], tuple(wide.from_address(dims)),
            tuple(wide.from_address(strides))[: rank - 1], tuple(narrow.from_address(box)), (0, 32, 64, 128)[swizzle])
        if out % 64 or made.complaint():
            return CUresult.CUDA_ERROR_INVALID_VALUE
        self.encoded.append(made)
        ctypes.memmove(out, made.pack(), 128)
        return 0

    def _replace_address(self, out: int, pointer: int | None) -> int:
        made = replace(TensorMap.unpack(ctypes.string_at(out, 128)), pointer=pointer or 0)
        if out % 64 or made.complaint():
            return CUresult.CUDA_ERROR_INVALID_VALUE
        ctypes.memmove(out, made.pack(), 128)
        return 0


def install(patch: pytest.MonkeyPatch, **options: Any) -> FakeCuda:
    """Let Tilewright find this driver, for the length of a test."""
    from tilewright.backend_ptx.runtime import driver, tensor_map

    fake = FakeCuda(**options)
    bindings = types.ModuleType("cuda.bindings")
    bindings.driver = fake  # type: ignore[attr-defined]
    patch.setitem(sys.modules, "cuda.bindings", bindings)
    patch.setattr(driver, "_devices", {})
    patch.setattr(tensor_map, "_spare", {})
    _forget()
    return fake


def in_place(patch: pytest.MonkeyPatch, cache: Path | str) -> Iterator[FakeCuda]:
    """The whole of a fixture: this driver for the length of a test, with a cache of its own, and no table that graphs
    of earlier tests have captured. Each block has a CTA, as those of larger tiles than a test's."""
    from tilewright.backend_ptx.passes.clusters import pack_blocks
    from tilewright.backend_ptx.runtime import tables

    patch.setattr(pack_blocks, "WARPS", 1)
    patch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    patch.setattr(tables, "_captured", [])
    yield install(patch)
    _forget()


def learning_soon(patch: pytest.MonkeyPatch) -> None:
    """Launches are learnt by machine code after the third that Python makes."""
    from tilewright.launching import learning, native

    patch.setattr(learning, "_AT_FIRST", 3)
    patch.setattr(learning, "_BETWEEN", 1)
    native.build()
    assert native.ready()


def uninstall() -> None:
    """Forget what was asked of the fake driver."""
    _forget()


def _forget() -> None:
    from tilewright.backend_ptx.runtime import driver, memory, tensor_map

    for cached in (driver.driver, driver.driver_version, driver.device_count, tensor_map._encode_function,
                   memory._has_pool):
        cached.cache_clear()
