"""Of a tensor that a launch writes: torch's counter of its versions, and whether it has a record of gradients.

Through Python both take longer than all else that a launch asks of three tensors. torch's conversion of an argument
(`load`, whose name carries its types) puts the tensor of a Python object into a cell of ours, of which torch's own
functions are asked. All is looked for and tried once, on tensors of several kinds, in memory where anything written
behind the cell would show; where something differs, Python is asked as before.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.arguments.torch_versions import VersionHandles

# The symbols by the names that machine code has for them, in two libraries of torch.
_IN_PYTHON = {"load": "_ZN8pybind116detail11type_casterIN2at6TensorEvE4loadENS_6handleEb"}
_IN_CPU = {
    "assign": "aoti_torch_assign_tensors",
    "is_inference": "_ZN2at6native12is_inferenceERKNS_6TensorE",
    "autograd": "_ZN5torch8autograd4impl17get_autograd_metaERKN2at10TensorBaseE",
    "raise": "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE",
}
_NEW = "aoti_torch_new_uninitialized_tensor"
_LOAD = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.py_object, ctypes.c_bool)
_ASSIGN = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_ASK = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_RAISE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_ROOM = 32  # words of eight bytes for a cell, which has one


class CellFunctions:
    """The functions' addresses by name, with those of the `cell` and of `nothing`, a tensor that is none."""

    def __init__(self, words: Mapping[str, int], room: Any) -> None:
        self.words = dict(words)
        self.room = room  # the cell's memory

    def load(self, tensor: Any) -> bool:
        return bool(_LOAD(self.words["load"])(self.words["cell"], tensor, False))

    def empty(self) -> bool:
        """Let go of the tensor; whether that went well."""
        return not _ASSIGN(self.words["assign"])(self.words["nothing"], self.words["cell"])

    def is_inference(self) -> bool:
        return bool(_ASK(self.words["is_inference"])(self.words["cell"]))

    def has_record(self) -> bool:
        """Whether the tensor has a record of gradients, which may still say that it requires none."""
        return _POINTER(self.words["autograd"])(self.words["cell"]) is not None

    def raise_version(self) -> None:
        _RAISE(self.words["raise"])(self.words["cell"])


@cache
def cell_functions() -> CellFunctions | None:
    """Those of this process's torch; None where one is missing or does not do what it is for."""
    try:
        torch = sys.modules["torch"]
        functions = _found(Path(str(torch.__file__)).parent / "lib")
        return functions if _works(functions, torch) else None
    except Exception:  # another version of torch, another system, a stand-in for torch
        return None


def _found(folder: Path) -> CellFunctions:
    words = {**_addresses(folder / "libtorch_python.so", _IN_PYTHON), **_addresses(folder / "libtorch_cpu.so", _IN_CPU)}
    made = ctypes.c_void_p()
    new = _ASK(_addresses(folder / "libtorch_cpu.so", {"new": _NEW})["new"])
    if new(ctypes.addressof(made)) or made.value is None:
        raise ValueError("torch makes no tensor")
    room = (ctypes.c_uint64 * _ROOM)(ctypes.c_uint64.from_address(made.value).value)
    return CellFunctions({**words, "cell": ctypes.addressof(room), "nothing": made.value}, room)


def _addresses(path: Path, symbols: Mapping[str, str]) -> dict[str, int]:
    library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)  # torch has loaded it
    return {name: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0 for name, symbol in symbols.items()}


def _works(functions: CellFunctions, torch: Any) -> bool:
    with torch.inference_mode(False), torch.no_grad():
        tried = [torch.empty(3, 4), torch.empty(1, requires_grad=True)]
    with torch.inference_mode():
        tried.append(torch.empty(2))
    nothing, asked = list(functions.room), []
    for tensor in tried:
        handles = VersionHandles([tensor])
        loaded = functions.load(tensor)
        word = ctypes.c_uint64.from_address(handles.addresses[0]).value
        if not loaded or list(functions.room) != [word, *nothing[1:]]:
            return False
        asked.append((functions.is_inference(), functions.has_record()))
        if tensor is tried[0]:
            before = tensor._version
            functions.raise_version()
            if tensor._version != before + 1:
                return False
        if not functions.empty() or list(functions.room) != nothing:
            return False
    return asked == [(False, False), (False, True), (True, False)]
