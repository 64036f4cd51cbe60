"""A stand-in for torch on the fake driver: tensors in host memory, with DLPack's table of C functions."""

from __future__ import annotations

import ctypes
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from tilewright.arguments.torch_cells import CellFunctions
from tilewright.arguments.torch_handles import TensorFunctions

_READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)
_TELL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_ASK = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)
_RAISE = ctypes.PYFUNCTYPE(None, ctypes.py_object)
_LOAD = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.py_object, ctypes.c_bool)
_ASSIGN = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_OF_CELL = [ctypes.PYFUNCTYPE(result, ctypes.c_void_p) for result in (ctypes.c_bool, ctypes.c_void_p, None)]
_BITS = {"float32": (2, 32), "int32": (0, 32), "float16": (2, 16), "bool": (6, 8)}
# A prototype of its own: the types of ctypes.pythonapi's functions are everybody's.
_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))


class Dtype:
    """An element type, which prints as torch's do."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return f"torch.{self.name}"


DTYPES = {name: Dtype(name) for name in _BITS}


class Device:
    """`tensor.device`."""

    def __init__(self, ordinal: int) -> None:
        self.type = "cuda"
        self.index = ordinal


class Tensor:
    """A view of memory that somebody else keeps."""

    layout = "torch.strided"
    __dlpack_c_exchange_api__: Any

    def __init__(self, pointer: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str = "float32",
                 device: int = 0) -> None:
        self.pointer, self.shape, self.strides = pointer, shape, strides
        self.dtype, self.ordinal = DTYPES[dtype], device
        self.device = Device(device)
        self.requires_grad = False
        self.broken = self.negated = self.inference = False
        self.versions = 0
        self.extents = (ctypes.c_int64 * max(1, len(shape)))(*shape)
        self.steps = (ctypes.c_int64 * max(1, len(shape)))(*strides)

    def data_ptr(self) -> int:
        return self.pointer

    def get_device(self) -> int:
        return self.ordinal

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return self.negated


Tensor.__module__ = "torch"


class FakeTorch:
    """What Tilewright asks of torch."""

    def __init__(self) -> None:
        self.stream = 0
        self.reads = self.asked = self.loads = 0
        self.meanwhile: Callable[[], object] = lambda: None  # what happens while a tensor is read
        self.noted: list[Tensor] = []
        self.cell: Any = [0]
        self.read_in_cell: list[bool] = []
        self._functions: tuple[Any, ...] = _READ(self._read), _STREAM(self._current)
        words = [1 | 3 << 32, 0, 0, 0, 0, *(ctypes.cast(f, ctypes.c_void_p).value for f in self._functions)]
        self._table = (ctypes.c_uint64 * 7)(*words)
        self.capsule = _capsule(ctypes.addressof(self._table), b"dlpack_exchange_api", None)

    def _read(self, tensor: Tensor, out: int) -> int:
        self.reads += 1
        self.read_in_cell.append(self.cell[0] == id(tensor))
        self.meanwhile()
        if tensor.broken:
            return -1
        words = (ctypes.c_uint64 * 6).from_address(out)
        code, bits = _BITS[tensor.dtype.name]
        words[0], words[1] = tensor.pointer, 2 | tensor.ordinal << 32
        words[2] = len(tensor.shape) | code << 32 | bits << 40 | 1 << 48
        words[3], words[4] = ctypes.addressof(tensor.extents), ctypes.addressof(tensor.steps)
        words[5] = 0
        return 0

    def _current(self, kind: int, device: int, out: int) -> int:
        ctypes.c_uint64.from_address(out).value = self.stream
        return 0

    def increment(self, tensors: Any) -> None:
        self.noted.extend(tensors)

    def functions(self) -> TensorFunctions:
        """What torch's own functions on handles are: a tensor's handle is its object."""
        tell: dict[str, Callable[[Tensor], int]] = {
            "dtype": lambda t: list(DTYPES).index(t.dtype.name), "rank": lambda t: len(t.shape), "place": lambda t: 1,
            "ordinal": lambda t: t.ordinal, "sizes": lambda t: ctypes.addressof(t.extents),
            "strides": lambda t: ctypes.addressof(t.steps), "data": lambda t: t.pointer}

        def telling(answer: Callable[[Tensor], int]) -> Any:
            def function(tensor: Tensor, out: int) -> int:
                self.asked += 1
                ctypes.c_uint64.from_address(out).value = answer(tensor)
                return -1 if tensor.broken else 0

            return _TELL(function)

        made = {**{name: telling(answer) for name, answer in tell.items()}, "is_neg": _ASK(lambda t: t.negated),
                "is_inference": _ASK(lambda t: t.inference), "raise": _RAISE(lambda t: self.noted.append(t)),
                "autograd": _POINTER(lambda t: id(t) if t.requires_grad else None)}
        self._functions += tuple(made.values())
        return TensorFunctions({"offset": 0, **{
            name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in made.items()}})

    def cells(self) -> CellFunctions:
        """torch's functions on a cell, which holds the address of an object, or 0."""
        def load(cell: int, tensor: Tensor, convert: bool) -> bool:
            assert not convert
            self.loads += 1
            word(cell).value = id(tensor)
            return True

        def assign(source: int, cell: int) -> int:
            word(cell).value = word(source).value
            return 0

        def held(cell: int) -> Tensor:
            made: Tensor = ctypes.cast(word(cell).value or 0, ctypes.py_object).value
            return made

        word = ctypes.c_uint64.from_address
        asks, points, raises = _OF_CELL
        self.cell = room = (ctypes.c_uint64 * 2)()
        made = {"load": _LOAD(load), "assign": _ASSIGN(assign), "is_inference": asks(lambda cell: held(cell).inference),
                "autograd": points(lambda cell: 1 if held(cell).requires_grad else None),
                "raise": raises(lambda cell: self.noted.append(held(cell)))}
        self._functions += tuple(made.values())
        places = {"cell": ctypes.addressof(room), "nothing": ctypes.addressof(room) + 8}
        return CellFunctions({**places, **{
            name: ctypes.cast(f, ctypes.c_void_p).value or 0 for name, f in made.items()}}, room)


def install(patch: pytest.MonkeyPatch, way: str = "table") -> FakeTorch:
    """Let this be the module torch, for the length of a test. Machine code finds its functions on "handles", those on
    "cells", or DLPack's table alone."""
    from tilewright.arguments import torch_tensors
    from tilewright.launching import streams, words

    fake = FakeTorch()
    module: Any = types.ModuleType("torch")
    module.Tensor = Tensor
    module._C = types.SimpleNamespace(
        _increment_version=fake.increment, _cuda_getCurrentRawStream=lambda device: fake.stream)
    module.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=fake.increment))
    module.is_grad_enabled = lambda: True
    for name, dtype in DTYPES.items():
        setattr(module, name, dtype)
    patch.setitem(sys.modules, "torch", module)
    patch.setattr(Tensor, "__dlpack_c_exchange_api__", fake.capsule, raising=False)
    patch.setattr(streams, "_reader", None)
    streams._of_torch.cache_clear()
    torch_tensors._increment.cache_clear()
    functions = fake.functions() if way == "handles" else None
    address = words.functions_at(functions) if functions else 0
    cells = words.functions_at(fake.cells()) if way != "table" else 0  # no torch has handles alone
    patch.setattr(words, "tensor_functions", lambda: functions)
    patch.setattr(words, "_functions", lambda: address)
    patch.setattr(words, "_cells", lambda: cells)
    return fake
