"""KernelSignature: what each parameter of an exported kernel is, how it is passed, and the kernel's symbol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.compilation.constraints import (
    ArrayConstraint,
    ListConstraint,
    ParameterConstraint,
    ParameterConstraintLike,
    TupleConstraint,
    as_constraint,
    with_groups,
)

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel


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


@dataclass(frozen=True, slots=True, init=False)
class KernelSignature:
    """One binary of a kernel: a constraint per parameter, a calling convention, and its symbol.

    `parameters`: constraints in the order of the kernel's parameters; a bool, int or float stands for a
    ConstantConstraint, a tuple for a TupleConstraint. `symbol`: the name in the binary, None to make one of the
    kernel's name and the signature (see mangle_kernel_name).

    Raises TypeError for what is no constraint, ValueError for what the calling convention does not have and for alias
    groups that only one parameter is in.

    Example:
        scalar = ct.compilation.ScalarConstraint(ct.float32)
        v1 = ct.compilation.CallingConvention.cutile_python_v1()
        signature = ct.compilation.KernelSignature([scalar, 16], v1)
        print(signature.parameters[1])  # ConstantConstraint(value=16)
        ct.compilation.KernelSignature([(1, 2)], v1)  # ValueError
    """

    parameters: tuple[ParameterConstraint, ...]
    calling_convention: CallingConvention
    symbol: str | None

    def __init__(
        self, parameters: Sequence[ParameterConstraintLike], calling_convention: CallingConvention,
        symbol: str | None = None,
    ) -> None:
        if not isinstance(calling_convention, CallingConvention):
            raise TypeError("KernelSignature: calling_convention must be a CallingConvention, such as "
                            f"CallingConvention.cutile_python_v1(), not {calling_convention!r}")
        if symbol is not None and not isinstance(symbol, str):
            raise TypeError(f"KernelSignature: symbol must be a string or None, not {symbol!r}")
        made = tuple(as_constraint(parameter) for parameter in parameters)
        _check_groups(made)
        for parameter in made:
            _check_convention(parameter, calling_convention)
        object.__setattr__(self, "parameters", made)
        object.__setattr__(self, "calling_convention", calling_convention)
        object.__setattr__(self, "symbol", symbol)

    @staticmethod
    def from_kernel_args(
        kernel: tile_kernel, kernel_args: Sequence[Any], calling_convention: CallingConvention | None = None, *,
        symbol: str | None = None,
    ) -> KernelSignature:
        """The signature that a launch with these arguments compiles for; abstract arguments (`ct.spec`) work too.

        It promises all that is true of these arguments (alignment, divisors, unit strides): look at it before you
        ship a binary made from it. Without a calling convention it is version 1 where that suffices, else version 2.
        Without a symbol it is the mangled name. Raises what a launch raises for arguments that do not fit.

        Example:
            @ct.tile_kernel
            def scale(x, TILE: ct.Constant[int]):
                ct.store(x, ct.bid(0), ct.load(x, ct.bid(0), TILE) * 2.0)

            signature = ct.compilation.KernelSignature.from_kernel_args(scale, (ct.spec("f32[1024]"), 256))
            print(signature.parameters[0].stride_constant)  # (1,)
        """
        from tilewright.compilation.arguments import constraints_of

        return constraints_of(kernel, tuple(kernel_args), calling_convention, symbol)

    def with_symbol(self, symbol: str | None) -> KernelSignature:
        """The same signature with this symbol.

        Example:
            v1 = ct.compilation.CallingConvention.cutile_python_v1()
            print(ct.compilation.KernelSignature([], v1).with_symbol("start").symbol)  # start
        """
        return replace(self, symbol=symbol)

    def with_mangled_symbol(self, function_name: str) -> KernelSignature:
        """The same signature with the symbol that mangle_kernel_name makes of it and a function's name.

        Example:
            v1 = ct.compilation.CallingConvention.cutile_python_v1()
            scalar = ct.compilation.ScalarConstraint(ct.int32)
            print(ct.compilation.KernelSignature([scalar], v1).with_mangled_symbol("fill").symbol)  # fill_Kt1_Si32
        """
        from tilewright.compilation.mangling import mangle_kernel_name

        return self.with_symbol(mangle_kernel_name(function_name, self))


def _check_convention(parameter: ParameterConstraint, convention: CallingConvention) -> None:
    def refuse(what: str) -> None:
        if convention.version < 2:
            raise ValueError(f"KernelSignature: {what} needs the calling convention cutile_python_v2, "
                             f"not {convention.name}")

    if isinstance(parameter, ListConstraint):
        _check_convention(parameter.element, convention)
    elif isinstance(parameter, ArrayConstraint) and any(n is not None for n in parameter.shape_constant):
        refuse("an array with a constant extent")
    elif isinstance(parameter, TupleConstraint):
        refuse("a tuple")
        for item in parameter.items:
            _check_convention(item, convention)


def _check_groups(parameters: tuple[ParameterConstraint, ...]) -> None:
    uses: Counter[str] = Counter()
    kinds: dict[str, type] = {}
    for constraint, groups in with_groups(parameters):
        for name in groups:
            uses[name] += 1
            if kinds.setdefault(name, type(constraint)) is not type(constraint):
                raise ValueError(f"KernelSignature: alias group {name!r} holds an array and a list; the table of a "
                                 "list cannot overlap an array")
    for name, count in uses.items():
        if count == 1:
            raise ValueError(f"KernelSignature: only one parameter is in alias group {name!r}; write alias_groups=() "
                             "for an array that overlaps no other")
