"""`device_function`: a function from LLVM's bitcode, or from PTX, as a function of kernels."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tilewright.linking import probe, ptx
from tilewright.linking.functions import DeviceFunction, check_signature, llvm_type
from tilewright.tileir.dtypes import DType
from tilewright.tracebacks import public

Code = str | os.PathLike[str] | bytes
_TRIPLE = 'target triple = "nvptx64'


class LinkedFunction(DeviceFunction):
    """A function whose code becomes a part of the kernel's, under a name that no other code has."""

    __slots__ = ("symbol", "text")

    def __init__(self, label: str, text: str, *signature: Any) -> None:
        super().__init__(label, text, *signature)
        self.symbol = f"{label}_{self.digest}"
        self.text = self.renamed(text)

    def renamed(self, text: str) -> str:
        raise NotImplementedError

    def emit(self, builder: Any, *lanes: Any) -> Any:
        return builder.call(self.symbol, llvm_type(self.result), lanes)

    def called_by(self, llvm_text: str) -> bool:
        return f"@{self.symbol}(" in llvm_text


class BitcodeFunction(LinkedFunction):
    """A function of a module of LLVM's, inlined."""

    __slots__ = ()

    def renamed(self, text: str) -> str:
        return probe.renamed(text, self.label, self.symbol)

    def link(self, binding: Any, module: Any) -> None:
        other = binding.parse_assembly(self.text)
        for value in (*other.functions, *other.global_variables):
            if not value.is_declaration and value.name != self.symbol:
                value.linkage = binding.Linkage.internal  # names of its own, whatever other code has
        for function in other.functions:
            if not function.is_declaration:
                function.add_function_attribute("alwaysinline")
        module.link_in(other)
        module.get_function(self.symbol).linkage = binding.Linkage.internal
        manager = binding.create_new_module_pass_manager()
        manager.add_always_inliner_pass()
        manager.add_sroa_pass()
        manager.add_global_dead_code_eliminate_pass()
        target = binding.Target.from_triple(module.triple).create_target_machine()
        manager.run(module, binding.create_pass_builder(target, binding.PipelineTuningOptions(speed_level=1)))


class PtxFunction(LinkedFunction):
    """A function of a text of PTX."""

    __slots__ = ()

    def renamed(self, text: str) -> str:
        return ptx.renamed(text, self.label, self.symbol)

    def merge(self, text: str) -> str:
        ptx.check_target(self.label, text, ptx.target_of(self.text))
        return ptx.with_functions(ptx.with_version(text, ptx.version_of(self.text)), self.symbol, self.text)


@public
def device_function(
    code: Code | Sequence[Code], name: str, operands: Sequence[DType], result: DType, /, *,
    reference: Callable[..., Any] | None = None,
) -> DeviceFunction:
    """A function that another compiler has compiled for GPUs, as a function of kernels, which computes each element.

    Arguments: `code`, a file or its contents: LLVM's bitcode (`clang -c -emit-llvm --cuda-device-only`, a .bc file such
        as libdevice), its text (.ll), or PTX (`nvcc -ptx -rdc=true`), or a list of bitcodes that need each other;
        `name`, the function's in the code: write extern "C" in C++; `operands` and `result`, the dtypes of its
        parameters and its result, which are passed by value.
    Options: `reference`, a function of NumPy arrays that says what it computes: the interpreter and the simulator call
        it, and refuse the kernel without.
    Result: a function. In kernels it takes tiles and scalars of these dtypes, which broadcast, and constants. It must
        touch no memory of others, and no other threads.
    Errors: TypeError for what is no signature; ValueError for code that LLVM cannot read, that does not define the
        function, or defines it with other parameters; OSError for a file that is not there; in kernels TileTypeError
        for arguments of other dtypes.

    Example:
        smooth = ct.device_function('''
            target triple = "nvptx64-nvidia-cuda"
            define float @smooth(float %t) {
              %double = fmul float %t, -2.0
              %rest = fadd float %double, 3.0
              %square = fmul float %t, %t
              %result = fmul float %square, %rest
              ret float %result
            }''', "smooth", [ct.float32], ct.float32, reference=lambda t: t * t * (3 - 2 * t))

        @ct.tile_kernel
        def ease(x, out):
            ct.store(out, 0, smooth(ct.load(x, 0, 4)))

        x, out = np.array([0, 0.25, 0.5, 1], np.float32), np.zeros(4, np.float32)
        ease[(1,)](x, out)
        print(out)  # [0.      0.15625 0.5     1.     ]
        ct.device_function("define i32 @f() { ret i32 0 }", "g", [ct.int32], ct.int32)  # ValueError
    """
    check_signature("device_function", operands, result, reference)
    parts = [_read(part) for part in _several(code)]
    what = f"device_function: the code of {name}"
    if len(parts) == 1 and b".version" in parts[0][:4096] and not parts[0].startswith(b"BC"):
        text = parts[0].decode()
        _check_ptx(what, text, name, operands, result)
        return PtxFunction(name, text, operands, result, reference)
    text = probe.as_text(tuple(parts), what)
    if _TRIPLE not in text:
        raise ValueError(f"{what} is not for GPUs: its target is not nvptx64-nvidia-cuda")
    if name not in probe.defined(text):
        known = ", ".join(probe.defined(text)) or "no function"
        raise ValueError(f"{what} defines {known}, and not {name}; C++ writes types into names: declare it extern "
                         '"C"')
    wanted = llvm_type(result), [llvm_type(dtype) for dtype in operands]
    _check_types(what, probe.types_of(text, name), wanted)
    return BitcodeFunction(name, text, operands, result, reference)


def _several(code: Code | Sequence[Code]) -> Sequence[Code]:
    return code if isinstance(code, (list, tuple)) else [code]  # type: ignore[list-item]  # a str is no list of them


def _read(code: Code) -> bytes:
    """The contents of a file, or a text or bytes as they are."""
    if isinstance(code, bytes):
        return code
    if isinstance(code, str) and ("\n" in code.strip() or "{" in code):
        return textwrap.dedent(code).encode()
    return Path(code).read_bytes()


def _check_ptx(what: str, text: str, name: str, operands: Sequence[DType], result: DType) -> None:
    found = ptx.parameter_bits(text, name)
    if found is None:
        raise ValueError(f'{what} does not define it; C++ writes types into names: declare it extern "C", and compile '
                         "with -rdc=true, which keeps functions that no kernel calls")
    ptx.target_of(text)
    wanted = [ptx.parameter_width(result)], [ptx.parameter_width(dtype) for dtype in operands]
    _check_types(what, tuple([f"b{bits}" for bits in side] for side in found),
                 tuple([f"b{bits}" for bits in side] for side in wanted))


def _check_types(what: str, found: Any, wanted: Any) -> None:
    def told(types: Any) -> str:
        result = types[0] if isinstance(types[0], str) else ", ".join(types[0]) or "nothing"
        return f"({', '.join(types[1])}) -> {result}"

    if (found[0], list(found[1])) != (wanted[0], list(wanted[1])):
        raise ValueError(f"{what} is a function {told(found)}, and the signature says {told(wanted)}")
