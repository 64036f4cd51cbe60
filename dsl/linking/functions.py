"""What a declared function of another compiler is, whatever its code is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from tilewright.tileir import foreign
from tilewright.tileir.diagnostics import KernelFunctionError
from tilewright.tileir.dtypes import BY_IR, DType

# What a register, a parameter of a function and NumPy hold alike; formats of 8 bits and fewer are for storage alone.
DTYPES = tuple(BY_IR[ir] for ir in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64"))
_LLVM = {"f16": "half", "bf16": "bfloat", "f32": "float", "f64": "double"}


def llvm_type(dtype: DType) -> str:
    return _LLVM.get(dtype.ir, f"i{dtype.bitwidth}")


class DeviceFunction:
    """A function of another compiler: kernels call it with tiles or scalars, which broadcast, and it computes each
    element. `inline_ptx` and `device_function` make them.

    Attributes: `label`, `operands`, `result` (dtypes), `reference`.
    Errors: RuntimeError for a call on the host.
    """

    __slots__ = ("name", "label", "operands", "result", "reference", "digest")

    def __init__(
        self, label: str, code: str, operands: Sequence[DType], result: DType, reference: Callable[..., Any] | None,
    ) -> None:
        self.label = label
        self.operands, self.result = tuple(operands), result
        self.reference = reference
        told = repr((type(self).__name__, label, code, [d.ir for d in self.operands], result.ir, _text(reference)))
        self.digest = hashlib.sha256(told.encode()).hexdigest()[:16]
        self.name = f"{label}.{self.digest}"
        foreign.declare(self)

    def __call__(self, *args: Any) -> Any:
        raise KernelFunctionError(f"{self.label} is code for a GPU, which kernels call; on the host call its reference",
                                  self.label)

    def __repr__(self) -> str:
        return f"<device function {self.name}({', '.join(map(str, self.operands))}) -> {self.result}>"

    def compute(self, *arrays: Any) -> Any:
        """The reference's result on arrays of the operands' dtypes, or of as wide bits, as one of the result's."""
        import numpy as np

        assert self.reference is not None
        given = [np.asarray(a) for a in arrays]
        shaped = [a if a.dtype == numpy_type(d) else a.view(numpy_type(d))
                  for a, d in zip(given, self.operands, strict=True)]
        made = np.asarray(self.reference(*shaped)).astype(numpy_type(self.result))
        return np.broadcast_to(made, np.broadcast_shapes(*(a.shape for a in shaped)))

    def emit(self, builder: Any, *lanes: Any) -> Any:
        raise NotImplementedError

    def called_by(self, llvm_text: str) -> bool:
        raise NotImplementedError

    def link(self, binding: Any, module: Any) -> None:
        """Nothing but the call is needed."""

    def merge(self, ptx: str) -> str:
        return ptx


def _text(reference: Any) -> str:
    """What tells one meaning from another, also in another process."""
    code, cells = getattr(reference, "__code__", None), getattr(reference, "__closure__", None)
    name = f"{getattr(reference, '__module__', '')}.{getattr(reference, '__qualname__', reference)}"
    if code is None:
        return name
    return repr((name, code.co_code, code.co_names, [str(c) for c in code.co_consts if not hasattr(c, "co_code")],
                 reference.__defaults__, [repr(cell.cell_contents) for cell in cells or ()]))


def numpy_type(dtype: DType) -> Any:
    import ml_dtypes
    import numpy as np

    return np.dtype(ml_dtypes.bfloat16 if dtype.ir == "bf16" else dtype.name)


def check_signature(what: str, operands: Any, result: Any, reference: Any) -> None:
    """TypeError for what is no signature of scalars."""
    if not isinstance(operands, (list, tuple)) or not operands:
        raise TypeError(f"{what}: operands must be a list of dtypes, such as [tw.float32], not {operands!r}")
    for dtype in (*operands, result):
        if not isinstance(dtype, DType) or dtype not in DTYPES:
            raise TypeError(f"{what}: {dtype} cannot be passed; operands and results are {', '.join(map(str, DTYPES))}")
    if reference is not None and not callable(reference):
        raise TypeError(f"{what}: reference must be a function of NumPy arrays, not {reference!r}")
