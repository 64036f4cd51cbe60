"""torch's own functions on the handle of a tensor: what a launch in machine code asks them.

DLPack's table takes four times as long: its function holds the GIL once more, owns the tensor meanwhile and describes
all of it. The C interface of AOTInductor, and functions of torch for inference mode, records of gradients and counters
of versions, take an at::Tensor by its address, which lies in the Python object of a tensor. Where it lies is no promise
of torch's, so a process asks for this by TILEWRIGHT_TORCH_HANDLES=1: it is found by search, in this process, and all is
tried on tensors of which Python says the same. Where anything differs, or nobody asked, DLPack's table is read.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.arguments.torch_versions import VersionHandles
from tilewright.tileir.environment import switched_on

# The symbols in libtorch_cpu.so, by the names that machine code has for them.
_SYMBOLS = {
    **{name: f"aoti_torch_get_{symbol}" for name, symbol in (
        ("dtype", "dtype"), ("rank", "dim"), ("sizes", "sizes"), ("strides", "strides"), ("place", "device_type"),
        ("ordinal", "device_index"), ("data", "data_ptr"))},
    "is_neg": "_ZN2at6native6is_negERKNS_6TensorE",
    "is_inference": "_ZN2at6native12is_inferenceERKNS_6TensorE",
    "autograd": "_ZN5torch8autograd4impl17get_autograd_metaERKN2at10TensorBaseE",
    "raise": "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE",
}
_TELL = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
_ASK = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p)
_POINTER = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
_RAISE = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_NONE = (1 << 32) - 1  # the number of the host's device: -1 of 32 bits


class Told(NamedTuple):
    """What the functions tell of a tensor: `dtype` and `place` by torch's numbers, strides in elements."""

    dtype: int
    rank: int
    place: int
    ordinal: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    data: int
    is_neg: bool


class TensorFunctions:
    """The functions' addresses by name, and the `offset` of the handle in a tensor's object."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = dict(words)

    def told(self, tensor: Any) -> Told:
        """Of a tensor of torch. ValueError where a function fails, as for tensors without memory."""
        rank = self._number(tensor, "rank")
        sizes, strides = (tuple((ctypes.c_int64 * rank).from_address(self._number(tensor, name)) if rank else ())
                          for name in ("sizes", "strides"))
        dtype, place, ordinal, data = (self._number(tensor, name) for name in ("dtype", "place", "ordinal", "data"))
        return Told(dtype, rank, place, ordinal, sizes, strides, data, bool(self._ask(_ASK, tensor, "is_neg")))

    def _number(self, tensor: Any, name: str) -> int:
        out = ctypes.c_int64(0)
        if _TELL(self.words[name])(id(tensor) + self.words["offset"], ctypes.addressof(out)):
            raise ValueError(f"torch does not tell {name}")
        return out.value

    def _ask(self, kind: Any, tensor: Any, name: str) -> Any:
        return kind(self.words[name])(id(tensor) + self.words["offset"])

    def raise_version(self, tensor: Any) -> None:
        self._ask(_RAISE, tensor, "raise")

    def is_inference(self, tensor: Any) -> bool:
        return bool(self._ask(_ASK, tensor, "is_inference"))

    def has_record(self, tensor: Any) -> bool:
        """Whether the tensor has a record of gradients, which may still say that it requires none."""
        return self._ask(_POINTER, tensor, "autograd") is not None


@cache
def tensor_functions() -> TensorFunctions | None:
    """Those of this process's torch; None where one is missing or does not do what it is for, or unless
    TILEWRIGHT_TORCH_HANDLES asks for them."""
    if not switched_on("TILEWRIGHT_TORCH_HANDLES"):
        return None
    try:
        torch = sys.modules["torch"]
        path = Path(str(torch.__file__)).parent / "lib" / "libtorch_cpu.so"
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)  # torch has loaded it
        found = {name: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0
                 for name, symbol in _SYMBOLS.items()}
        tried = _tried(torch)
        offset = _offset(tried, torch.Tensor.__basicsize__)
        functions = TensorFunctions({**found, "offset": offset})
        return functions if _works(functions, tried) else None
    except Exception:  # another version of torch, another system, a stand-in for torch
        return None


def _tried(torch: Any) -> tuple[Any, ...]:
    """Tensors that differ in all that is asked: a view, one of another dtype, a negated one, a leaf that requires grad,
    one of inference mode."""
    with torch.inference_mode(False), torch.no_grad():
        made = (torch.empty(4, 6, 5, dtype=torch.float16)[1:3, ::2], torch.empty(7, dtype=torch.int32),
                torch._neg_view(torch.empty(3, 2).T), torch.empty(1, requires_grad=True))
    with torch.inference_mode():
        return *made, torch.empty(2)


def _offset(tensors: Sequence[Any], size: int) -> int:
    """Where the objects of these tensors, of `size` bytes, have what a handle of them is: one pointer, in one place.
    ValueError where there is none such."""
    handles = VersionHandles(tensors)
    words = [list((ctypes.c_uint64 * (size // 8)).from_address(id(tensor))) for tensor in tensors]
    wanted = [ctypes.c_uint64.from_address(address).value for address in handles.addresses]
    [place] = {place for place in range(size // 8)
               if all(found[place] == handle for found, handle in zip(words, wanted, strict=True))}
    return 8 * place


def _works(functions: TensorFunctions, tried: tuple[Any, ...]) -> bool:
    _, plain, _, leaf, uncounted = tried
    told = [functions.told(tensor) for tensor in tried]
    right = all((t.rank, t.sizes, t.strides, t.data, t.is_neg, t.place, t.ordinal) == (
        tensor.dim(), tuple(tensor.shape), tensor.stride(), tensor.data_ptr(), tensor.is_neg(), 0, _NONE)
        for t, tensor in zip(told, tried, strict=True))
    kinds = len({t.dtype for t in told}) == 3 and told[2].is_neg
    before = plain._version
    functions.raise_version(plain)
    asked = [(functions.is_inference(t), functions.has_record(t)) for t in (plain, uncounted, leaf)]
    return right and kinds and plain._version == before + 1 and asked == [(False, False), (True, False), (False, True)]
