"""torch's counters of versions, raised without Python for tensors that a bound launch writes again and again.

A version counter is a field of the tensor behind a Python object. The one way there that needs no layout of torch's is
its own function `torch::autograd::impl::bump_version`, whose name carries the types of its arguments, on a handle that
`torch._C._aoti` gives. Both are looked for and tried once; without them, and for tensors that count no versions,
`torch._C._increment_version` is called, which takes three times as long as all else that a bound launch does.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tilewright.arguments.dlpack import pointer_in

_RAISE = "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE"  # bump_version(const at::Tensor&)


class VersionHandles:
    """Handles of tensors, at `addresses`: C++ references, which share the tensors as long as this object lives."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        aoti = sys.modules["torch"]._C._aoti
        self._free = aoti.alloc_tensors_by_stealing_from_void_ptrs
        self._capsules = aoti.unsafe_alloc_void_ptrs_from_tensors(list(tensors))
        self.addresses = [pointer_in(capsule, None) for capsule in self._capsules]

    def __del__(self) -> None:
        if hasattr(self, "_capsules"):
            self._free(self._capsules)


def version_handles(tensors: Sequence[Any]) -> VersionHandles | None:
    """The handles of tensors; None where torch's function cannot be used for them."""
    if not tensors or raising_function() is None or any(tensor.is_inference() for tensor in tensors):
        return None
    return VersionHandles(tensors)


@cache
def raising_function() -> int | None:
    """The address of torch's function, which takes the address of a handle; None where there is none that works."""
    torch = sys.modules["torch"]
    try:
        path = Path(str(torch.__file__)).parent / "lib" / "libtorch_cpu.so"
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)  # torch has loaded it
        function = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)((_RAISE, library))
        with torch.inference_mode(False):
            tried = torch.empty(0)
        before, handles = tried._version, VersionHandles([tried])
        function(handles.addresses[0])
        works = tried._version == before + 1
    except Exception:  # another version of torch, another system, a stand-in for torch
        return None
    return ctypes.cast(function, ctypes.c_void_p).value if works else None
