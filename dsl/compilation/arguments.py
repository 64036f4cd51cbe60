"""Between constraints and what the compiler is given: types and constants of a signature, and constraints of arguments.

An argument of an export has a name and a type; the frontend asks for no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.arguments.annotations import PLAIN_ARRAY, ArrayAnnotation, Param
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, Tuple
from tilewright.arguments.facts import is_small
from tilewright.compilation.constraints import (
    ArrayConstraint,
    ConstantConstraint,
    ListConstraint,
    ParameterConstraint,
    ScalarConstraint,
    TupleConstraint,
)
from tilewright.compilation.convention import CallingConvention
from tilewright.tileir.types import ArrayType, ListType, Type

if TYPE_CHECKING:
    from tilewright.kernel import tile_kernel


@dataclass(slots=True)
class Exported:
    """A parameter of which only the type is known; as an argument of a launch is to the frontend."""

    name: str
    known: Type

    def type(self, facts: bool) -> Type:
        return self.known

    def key(self, facts: bool) -> Any:
        return self.known


def arguments_of(kernel: tile_kernel, constraints: Sequence[ParameterConstraint]) -> list[Any]:
    """The arguments that the kernel is translated for.

    Raises TypeError or ValueError, with the parameter's name, where a constraint does not fit the annotation.
    """
    params = kernel.specialiser.params
    if any(p.starred for p in params):
        return []  # the frontend refuses such a kernel
    if len(params) != len(constraints):
        names = ", ".join(p.name for p in params)
        raise TypeError(f"kernel {kernel.__name__} takes {len(params)} parameters ({names}), but the signature has "
                        f"{len(constraints)}")
    return [_argument(p, p.name, c) for p, c in zip(params, constraints, strict=True)]


def _argument(param: Param, name: str, constraint: ParameterConstraint) -> Any:
    if isinstance(constraint, TupleConstraint):
        return _tuple(param, name, constraint)
    if param.items is not None:
        raise TypeError(f"parameter {name!r} must be a TupleConstraint, as its annotation says, "
                        f"not {_kind(constraint)}")
    if param.constant != isinstance(constraint, ConstantConstraint):
        raise TypeError(f"parameter {name!r} is annotated as Constant and needs a constant, not {_kind(constraint)}"
                        if param.constant else
                        f"parameter {name!r} gets a constant, but is not annotated as Constant")
    if isinstance(constraint, ConstantConstraint):
        return Const(name, constraint.value)
    if isinstance(constraint, ScalarConstraint):
        return _scalar(param, name, constraint)
    if isinstance(constraint, ListConstraint):
        _refuse(param.scalar or param.array, param, name, constraint)
        annotation = param.list.element if param.list is not None else PLAIN_ARRAY
        return Exported(name, ListType(_array_type(name, constraint.element, annotation)))
    _refuse(param.scalar or param.list, param, name, constraint)
    return Exported(name, _array_type(name, constraint, param.array or PLAIN_ARRAY))


def _tuple(param: Param, name: str, constraint: TupleConstraint) -> Tuple:
    count = len(constraint.items)
    if param.constant:
        rules = [Param(name, constant=True)] * count
    elif param.items is None:
        _refuse(param.kind, param, name, constraint)
        rules = [Param(name)] * count
    else:
        rules = [param.items[0]] * count if param.repeat else list(param.items)
    if len(rules) != count:
        raise TypeError(f"parameter {name!r} must be a tuple of {len(rules)}, as its annotation says, not of {count}")
    pairs = zip(rules, constraint.items, strict=True)
    return Tuple(name, [_argument(rule, f"{name}[{i}]", item) for i, (rule, item) in enumerate(pairs)])


def _scalar(param: Param, name: str, constraint: ScalarConstraint) -> Scalar:
    _refuse(param.array or param.list, param, name, constraint)
    if param.scalar is not None and constraint.dtype is not param.scalar.dtype:
        raise TypeError(f"parameter {name!r} is annotated as a scalar of {param.scalar.dtype}, but its constraint "
                        f"says {constraint.dtype}")
    return Scalar(name, constraint.dtype, None)


def _array_type(name: str, constraint: ArrayConstraint, annotation: ArrayAnnotation) -> ArrayType:
    """The type with all that the constraint promises."""
    c = constraint
    if c.index_dtype is not annotation.index_dtype and annotation is not PLAIN_ARRAY:
        raise TypeError(f"parameter {name!r} is annotated with index_dtype {annotation.index_dtype}, but its "
                        f"constraint says {c.index_dtype}")
    try:
        declared = (tuple(annotation.axes(annotation.static_shape_dims, c.ndim, "static_shape_dims")),
                    tuple(annotation.axes(annotation.static_stride_dims, c.ndim, "static_stride_dims")))
    except ValueError as error:
        raise ValueError(f"parameter {name!r}: {error}") from None
    for axes, constants, field in ((declared[0], c.shape_constant, "shape_constant"),
                                   (declared[1], c.stride_constant, "stride_constant")):
        for axis in axes:
            if constants[axis] is None:
                raise ValueError(f"parameter {name!r}: axis {axis} is static, as its annotation says; give its value "
                                 f"in {field}")
    extents = [n for n in c.shape_constant if n is not None]
    strides = [s for s in c.stride_constant if s is not None]
    small = len(extents) == len(strides) == c.ndim and is_small(c.dtype, tuple(extents), tuple(strides))
    return ArrayType(
        c.dtype, c.shape_constant, c.stride_constant, c.shape_divisible_by, c.stride_divisible_by,
        align=max(c.dtype.bytes, _power_of_two(c.base_addr_divisible_by)), disjoint=not c.may_alias_internally,
        small=small, index=c.index_dtype, declared=declared)


def _power_of_two(divisor: int) -> int:
    """The largest power of two that divides: what hardware knows as alignment."""
    return divisor & -divisor


def _refuse(condition: object, param: Param, name: str, constraint: ParameterConstraint) -> None:
    if condition:
        raise TypeError(f"parameter {name!r} is annotated with {param.kind}, but the signature has "
                        f"{_kind(constraint)}")


def _kind(constraint: ParameterConstraint) -> str:
    name = type(constraint).__name__
    return f"{'an' if name[0] in 'A' else 'a'} {name}"


# ---- constraints of arguments ---------------------------------------------------------------------------------------


def constraints_of(
    kernel: tile_kernel, args: tuple[Any, ...], convention: CallingConvention | None
) -> tuple[list[ParameterConstraint], CallingConvention]:
    """What a launch with these arguments promises of each, and the convention: by default the first that suffices."""
    arguments = kernel.specialiser.bind(args)
    if convention is None:
        convention = next(c for c in (CallingConvention.cutile_python_v1(), CallingConvention.cutile_python_v2())
                          if c.version == 2 or not _needs_v2(arguments))
    return [_constraint(argument, convention.version) for argument in arguments], convention


def _needs_v2(arguments: Sequence[Argument]) -> bool:
    def static(item: ArrayArgument | ArrayList) -> bool:
        type = item.type(True)
        return bool((type.element if isinstance(type, ListType) else type).declared[0])

    return any(isinstance(a, Tuple) or (isinstance(a, (ArrayArgument, ArrayList)) and static(a)) for a in arguments)


def _constraint(argument: Argument, version: int) -> ParameterConstraint:
    if isinstance(argument, Const):
        return ConstantConstraint(argument.value)
    if isinstance(argument, Scalar):
        return ScalarConstraint(argument.dtype)
    if isinstance(argument, Tuple):
        return TupleConstraint([_constraint(item, version) for item in argument.items])
    if isinstance(argument, ArrayList):
        return ListConstraint(_of_type(argument.type(True).element, version), alias_groups=(), elements_may_alias=True)
    return _of_type(argument.type(True), version)


def _of_type(type: ArrayType, version: int) -> ArrayConstraint:
    # Version 1 has no constant extents. Those that the user asked for raise; that an extent happens to be 1 is a fact
    # like its divisors, and is left out.
    extents = type.extents if version >= 2 else tuple(
        n if k in type.declared[0] else None for k, n in enumerate(type.extents))
    return ArrayConstraint(
        type.dtype, type.rank, index_dtype=type.index, stride_lower_bound_incl=0 if type.disjoint else None,
        alias_groups=(), may_alias_internally=not type.disjoint, stride_constant=type.strides, shape_constant=extents,
        stride_divisible_by=type.stride_div, shape_divisible_by=type.extent_div, base_addr_divisible_by=type.align)
