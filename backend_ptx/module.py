"""Several kernels in one PTX module, for export: LLVM links their texts, and renames what is private to each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.backend_ptx.compile import FunctionObserver, TextObserver, lower_kernel, prepare
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function, clone_function
from tilewright.tileir.plan import PLAIN, Hints

if TYPE_CHECKING:
    from tilewright.backend_ptx.lower import Lowered


@dataclass(frozen=True, slots=True)
class Module:
    """The PTX of all kernels, and each kernel as lowered (name, ABI, threads, shared memory)."""

    ptx: str
    kernels: tuple[Lowered, ...]


def compile_module(
    functions: Sequence[Function], target: Target, *, hints: Hints,
    observer: FunctionObserver | None = None, text_observer: TextObserver | None = None,
) -> Module:
    """Compile functions of different names for one target; they stay as they are. `hints` hold for all."""
    from tilewright.backend_ptx.llvm.compile import link_texts, llvm_to_ptx

    kernels: list[Lowered] = []
    for function in functions:
        own = clone_function(function)
        prepare(own, hints, PLAIN)
        kernels.append(lower_kernel(own, target, observer))
    text = link_texts([kernel.llvm_text for kernel in kernels], target)
    if text_observer is not None:
        text_observer("kernel.ll", text)
    ptx, _ = llvm_to_ptx(text, target)
    if text_observer is not None:
        text_observer("kernel.ptx", ptx)
    return Module(ptx, tuple(kernels))
