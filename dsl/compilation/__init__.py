"""`ct.compilation`: kernels compiled ahead of time, for programs that launch them without Python.

A signature says what each parameter is and what may be relied on; `export_kernel` writes PTX or machine code for it.
"""

from tilewright.compilation.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
)
from tilewright.compilation.convention import CallingConvention
from tilewright.compilation.export import export_kernel
from tilewright.compilation.output import ExportedKernel, ExportedParameter
from tilewright.compilation.signature import KernelSignature, demangle_kernel_name, mangle_kernel_name

__all__ = [
    "export_kernel", "ExportedKernel", "ExportedParameter", "KernelSignature", "CallingConvention", "ScalarConstraint",
    "ArrayConstraint", "ListConstraint", "TupleConstraint", "ConstantConstraint", "ParameterConstraint",
    "mangle_kernel_name", "demangle_kernel_name",
]
