"""CallingConvention: how the arguments of an exported kernel are passed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CallingConvention:
    """How the arguments of a kernel become parameters of its binary; get one from the static methods.

    In both versions a scalar is one value of its C type (bool: one byte), an array its address, `ndim` extents and
    `ndim` strides (in elements; int32, or int64 as its index_dtype says), a list the address of a table and an int32
    length; the table has a record of `1 + 2 ndim` int64 per array: address, extents, strides. Constants are not
    passed. Version 2 adds tuples, whose items are passed one after the other, and arrays with constant extents, which
    are passed like the others.

    Example:
        print(ct.compilation.CallingConvention.cutile_python_v1())  # CallingConvention.cutile_python_v1()
    """

    version: int

    @staticmethod
    def cutile_python_v1() -> CallingConvention:
        """Scalars, arrays, lists and constants."""
        return _V1

    @staticmethod
    def cutile_python_v2() -> CallingConvention:
        """The same, and tuples and constant extents."""
        return _V2

    @staticmethod
    def from_code(code: str) -> CallingConvention:
        """The convention of a mangled name. ValueError for an unknown one."""
        for convention in (_V1, _V2):
            if convention.code == code:
                return convention
        raise ValueError(f"there is no calling convention with the code {code!r}")

    @property
    def name(self) -> str:
        return f"cutile_python_v{self.version}"

    @property
    def code(self) -> str:
        """Its short form in mangled names."""
        return f"t{self.version}"

    def __repr__(self) -> str:
        return f"CallingConvention.{self.name}()"


_V1 = CallingConvention(1)
_V2 = CallingConvention(2)
