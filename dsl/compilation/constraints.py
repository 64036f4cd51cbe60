"""What a parameter of an exported kernel is promised to be: scalar, array, list, tuple or constant."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tilewright.tileir.dtypes import DType, float4_e2m1fn, int32, int64, uint64

Optional = Sequence[int | None] | int | None
Divisors = Sequence[int] | int


@dataclass(frozen=True, slots=True)
class ScalarConstraint:
    """A scalar of this dtype, known at launch only. TypeError for what is no dtype, ValueError for four-bit floats.

    Example:
        print(ct.compilation.ScalarConstraint(ct.int64).dtype)  # int64
        ct.compilation.ScalarConstraint("int64")  # TypeError
    """

    dtype: DType

    def __post_init__(self) -> None:
        _check_dtype("ScalarConstraint", self.dtype)


@dataclass(frozen=True, slots=True, init=False)
class ArrayConstraint:
    """An array, and what the kernel may rely on. A launch that breaks a promise is undefined behaviour.

    `dtype`, `ndim`: element type and number of axes. `index_dtype`: int32 or int64, the type of its extents and
    strides. Everything per axis is a sequence of `ndim` entries, or one value for all axes; strides are in elements.

    - `stride_lower_bound_incl`: the least value of a stride, None for no bound; 0 says that no stride is negative.
    - `alias_groups`: names of groups. Two parameters may overlap in memory if they share one; () overlaps none.
    - `may_alias_internally`: whether two indices inside the bounds may name the same element, as with a stride of 0.
    - `stride_constant`, `shape_constant`: strides and extents known while compiling, None for the others. Constant
      extents need the calling convention cutile_python_v2.
    - `stride_divisible_by`, `shape_divisible_by`: divisors of strides and extents; 1 promises nothing.
    - `base_addr_divisible_by`: a divisor of the base address in bytes.

    Raises TypeError and ValueError for values that make no sense or contradict each other.

    Example:
        array = ct.compilation.ArrayConstraint(
            ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
            stride_constant=[1], base_addr_divisible_by=16)

        print(array.ndim, array.shape_divisible_by)  # 1 (1,)
    """

    dtype: DType
    ndim: int
    index_dtype: DType
    stride_lower_bound_incl: tuple[int | None, ...]
    alias_groups: tuple[str, ...]
    may_alias_internally: bool
    stride_constant: tuple[int | None, ...]
    shape_constant: tuple[int | None, ...]
    stride_divisible_by: tuple[int, ...]
    shape_divisible_by: tuple[int, ...]
    base_addr_divisible_by: int

    def __init__(
        self, dtype: DType, ndim: int, *, index_dtype: DType, stride_lower_bound_incl: Optional,
        alias_groups: Sequence[str], may_alias_internally: bool, stride_constant: Optional = None,
        shape_constant: Optional = None, stride_divisible_by: Divisors = 1, shape_divisible_by: Divisors = 1,
        base_addr_divisible_by: int = 1,
    ) -> None:
        _check_dtype("ArrayConstraint", dtype)
        rank = _integer("ndim", ndim, 0)
        if index_dtype not in (int32, int64):
            raise ValueError(f"ArrayConstraint: index_dtype must be int32 or int64, not {index_dtype}")
        strides = _per_axis("stride_constant", stride_constant, rank)
        extents = _per_axis("shape_constant", shape_constant, rank, low=0)
        bounds = list(_per_axis("stride_lower_bound_incl", stride_lower_bound_incl, rank))
        for axis, (stride, bound) in enumerate(zip(strides, bounds, strict=True)):
            if stride is None or bound is None:
                continue
            if stride < bound:
                raise ValueError(f"ArrayConstraint: the stride of axis {axis} is {stride}, which is below its "
                                 f"stride_lower_bound_incl of {bound}")
            bounds[axis] = None  # the constant says more
        values: dict[str, Any] = {
            "dtype": dtype, "ndim": rank, "index_dtype": index_dtype, "stride_lower_bound_incl": tuple(bounds),
            "alias_groups": _groups("ArrayConstraint", alias_groups),
            "may_alias_internally": _flag("may_alias_internally", may_alias_internally),
            "stride_constant": strides, "shape_constant": extents,
            "stride_divisible_by": _divisors("stride_divisible_by", stride_divisible_by, "stride", strides),
            "shape_divisible_by": _divisors("shape_divisible_by", shape_divisible_by, "extent", extents),
            "base_addr_divisible_by": _integer("base_addr_divisible_by", base_addr_divisible_by, 1),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, slots=True, init=False)
class ListConstraint:
    """A list of arrays that all satisfy `element`.

    `alias_groups` are those of the list's own table of arrays, `elements_may_alias` says whether two of its arrays may
    overlap in memory. TypeError for an element that is no ArrayConstraint.

    Example:
        array = ct.compilation.ArrayConstraint(
            ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
            stride_constant=[1], base_addr_divisible_by=16)

        arrays = ct.compilation.ListConstraint(array, alias_groups=(), elements_may_alias=False)
        print(arrays.element.dtype)  # float32
    """

    element: ArrayConstraint
    alias_groups: tuple[str, ...]
    elements_may_alias: bool

    def __init__(self, element: ArrayConstraint, *, alias_groups: Sequence[str], elements_may_alias: bool) -> None:
        if not isinstance(element, ArrayConstraint):
            raise TypeError(f"ListConstraint: element must be an ArrayConstraint, not {element!r}")
        object.__setattr__(self, "element", element)
        object.__setattr__(self, "alias_groups", _groups("ListConstraint", alias_groups))
        object.__setattr__(self, "elements_may_alias", _flag("elements_may_alias", elements_may_alias))


@dataclass(frozen=True, slots=True, init=False)
class TupleConstraint:
    """A tuple; `items` are constraints, or constants and tuples that stand for them. Needs cutile_python_v2.

    Example:
        pair = ct.compilation.TupleConstraint([ct.compilation.ScalarConstraint(ct.float32), 4])
        print(pair.items[1].value)  # 4
    """

    items: tuple[ParameterConstraint, ...]

    def __init__(self, items: Sequence[ParameterConstraintLike]) -> None:
        object.__setattr__(self, "items", tuple(as_constraint(item) for item in items))


@dataclass(frozen=True, slots=True, eq=False)
class ConstantConstraint:
    """The value of a Constant parameter: bool, int (of 64 bits) or float. 1, 1.0 and True are different constants.

    Raises TypeError for other values, OverflowError for an int that fits neither int64 nor uint64.

    Example:
        one, true = ct.compilation.ConstantConstraint(1), ct.compilation.ConstantConstraint(True)
        print(one == true)  # False
    """

    value: bool | int | float

    def __post_init__(self) -> None:
        if type(self.value) not in (bool, int, float):
            raise TypeError(f"ConstantConstraint takes a bool, int or float, not {type(self.value).__name__}")
        if isinstance(self.value, int) and not int64.int_range[0] <= self.value <= uint64.int_range[1]:
            raise OverflowError(f"ConstantConstraint: {self.value} fits neither int64 nor uint64")

    def _key(self) -> tuple[type, object]:
        # NaN equals itself here, and 0.0 is not -0.0: what counts is the bits.
        return type(self.value), struct.pack("<d", self.value) if isinstance(self.value, float) else self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantConstraint) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


ConstantValue: TypeAlias = bool | int | float
ParameterConstraint: TypeAlias = (
    ScalarConstraint | ArrayConstraint | ListConstraint | TupleConstraint | ConstantConstraint)
ParameterConstraintLike: TypeAlias = ParameterConstraint | ConstantValue | tuple[Any, ...]


def as_constraint(value: ParameterConstraintLike) -> ParameterConstraint:
    """The constraint itself, or the one that a constant or a tuple stands for. TypeError for anything else."""
    if isinstance(value, (ScalarConstraint, ArrayConstraint, ListConstraint, TupleConstraint, ConstantConstraint)):
        return value
    if type(value) in (bool, int, float):
        return ConstantConstraint(value)  # type: ignore[arg-type]
    if isinstance(value, tuple):
        return TupleConstraint(value)
    raise TypeError(f"a parameter of a signature is a constraint, a constant or a tuple of those, not {value!r}")


def with_groups(
    parameters: Sequence[ParameterConstraint],
) -> Iterator[tuple[ArrayConstraint | ListConstraint, tuple[str, ...]]]:
    """Everything that has alias groups, in the order of the parameters; a list before its element."""
    for parameter in parameters:
        if isinstance(parameter, (ArrayConstraint, ListConstraint)):
            yield parameter, parameter.alias_groups
        if isinstance(parameter, ListConstraint):
            yield parameter.element, parameter.element.alias_groups
        if isinstance(parameter, TupleConstraint):
            yield from with_groups(parameter.items)


# ---- checks of arguments --------------------------------------------------------------------------------------------


def _check_dtype(what: str, dtype: object) -> None:
    if not isinstance(dtype, DType):
        raise TypeError(f"{what}: dtype must be a dtype such as float32, not {dtype!r}")
    if dtype is float4_e2m1fn:
        raise ValueError(f"{what}: four-bit floats have no address of their own; pass them as uint8")


def _integer(name: str, value: object, low: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if low is not None and value < low:
        raise ValueError(f"{name} must be at least {low}, not {value}")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {value!r}")
    return value


def _per_axis(name: str, value: Optional, rank: int, low: int | None = None) -> tuple[int | None, ...]:
    given = (value,) * rank if value is None or isinstance(value, int) else tuple(value)
    if len(given) != rank:
        raise ValueError(f"{name} has {len(given)} entries, but the array has {rank} axes")
    return tuple(None if v is None else _integer(f"{name}[{k}]", v, low) for k, v in enumerate(given))


def _divisors(name: str, value: Divisors, what: str, constants: tuple[int | None, ...]) -> tuple[int, ...]:
    given = (value,) * len(constants) if isinstance(value, int) else tuple(value)
    if len(given) != len(constants):
        raise ValueError(f"{name} has {len(given)} entries, but the array has {len(constants)} axes")
    out: list[int] = []
    for axis, (divisor, constant) in enumerate(zip(given, constants, strict=True)):
        _integer(f"{name}[{axis}]", divisor, 1)
        if constant is not None and constant % divisor:
            raise ValueError(f"ArrayConstraint: the {what} of axis {axis} is {constant}, which is no multiple of its "
                             f"{name} of {divisor}")
        out.append(1 if constant is not None else divisor)  # the constant says more
    return tuple(out)


def _groups(what: str, names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise TypeError(f"{what}: alias_groups is a sequence of names, not one string; write ({names!r},)")
    out = tuple(names)
    for name in out:
        if not isinstance(name, str):
            raise TypeError(f"{what}: alias_groups holds names, not {name!r}")
        if out.count(name) > 1:
            raise ValueError(f"{what}: alias_groups lists {name!r} twice")
    return out
