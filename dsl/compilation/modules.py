"""Several kernels in one text, as exports need them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.backend_ptx.compile import Compiled, Look, Watch, compile_kernel
from tilewright.backend_ptx.llvm.compile import LOCK, llvm_binding, llvm_to_ptx, refused
from tilewright.backend_ptx.targets import Target
from tilewright.tileir.core import Function
from tilewright.tileir.plan import PLAIN, Hints, Limits, Switches


@dataclass(frozen=True, slots=True)
class Module:
    """The PTX of all kernels, and each kernel on its own (name, ABI, threads, shared memory)."""

    ptx: str
    kernels: tuple[Compiled, ...]


def compile_module(functions: Sequence[Function], target: Target, watch: Watch | None, hints: Hints,
                   limits: Limits = Limits(), switches: Switches = PLAIN) -> Module:
    """Compile functions of different names for one target; they stay as they are. `hints`, `limits` and `switches` hold
    for all."""
    watch = watch or Look()
    kernels = [compile_kernel(f, target, Look(watch.function), hints=hints, limits=limits, switches=switches)
               for f in functions]
    text = link_texts([kernel.llvm_text for kernel in kernels], target)
    watch.text("kernel.ll", text)
    ptx, _ = llvm_to_ptx(text, target.at_least(max(kernel.abi.ptx for kernel in kernels)))
    watch.text("kernel.ptx", ptx)
    return Module(ptx, tuple(kernels))


def link_texts(texts: list[str], target: Target) -> str:
    """Modules with kernels of different names as one. What several declare becomes one, private names are made unique.

    Raises TileCompilerExecutionError when LLVM refuses: that is a defect of the lowering.
    """
    if len(texts) == 1:
        return texts[0]
    binding = llvm_binding()
    with LOCK:
        linked = None
        for text in texts:
            try:
                module = binding.parse_assembly(text)
                if linked is not None:
                    linked.link_in(module)
            except RuntimeError as error:
                raise refused(str(error), text, target) from None
            linked = module if linked is None else linked
        return str(linked)
