"""KernelSignature: what each parameter of an exported kernel is, how it is passed, and the kernel's symbol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilewright.compilation.arguments import constraints_of
from tilewright.compilation.constraints import (
    ArrayConstraint,
    ListConstraint,
    ParameterConstraint,
    ParameterConstraintLike,
    TupleConstraint,
    as_constraint,
    with_groups,
)
from tilewright.compilation.convention import CallingConvention
from tilewright.compilation.mangling import demangled, mangled

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel


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
        parameters, convention = constraints_of(kernel, tuple(kernel_args), calling_convention)
        signature = KernelSignature(parameters, convention, symbol)
        return signature if symbol is not None else signature.with_mangled_symbol(kernel.__name__)

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
        return self.with_symbol(mangle_kernel_name(function_name, self))


def mangle_kernel_name(function_name: str, kernel_signature: KernelSignature) -> str:
    """A symbol that says what the binary is for: `add_Kt1_A1f32_1l0_p16_Si32`.

    Different signatures of one kernel have different symbols; names of alias groups are not kept.

    Example:
        v1 = ct.compilation.CallingConvention.cutile_python_v1()
        signature = ct.compilation.KernelSignature([ct.compilation.ScalarConstraint(ct.float32), 16], v1)
        print(ct.compilation.mangle_kernel_name("fill", signature))  # fill_Kt1_Sf32_I16
    """
    return mangled(function_name, kernel_signature.parameters, kernel_signature.calling_convention)


def demangle_kernel_name(symbol: str) -> tuple[str, KernelSignature]:
    """The function's name and the signature of a mangled symbol; alias groups are called group0, group1, ...

    Raises ValueError, with the place, for what mangle_kernel_name has not made.

    Example:
        name, signature = ct.compilation.demangle_kernel_name("fill_Kt1_Si32")
        print(name, signature.parameters[0].dtype)  # fill int32
        ct.compilation.demangle_kernel_name("fill")  # ValueError
    """
    name, parameters, convention = demangled(symbol)
    return name, KernelSignature(parameters, convention, symbol)


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
