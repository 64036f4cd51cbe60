"""Arguments of a launch, matched with the kernel's parameters: constants, scalars, arrays, lists, tuples.

All that a user can get wrong about an argument's kind is found here, in the order of the parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from math import gcd
from typing import Any

from tilewright.arguments.annotations import PLAIN_ARRAY, ArrayAnnotation, Param
from tilewright.arguments.arrays import ArrayInfo, describe, named_dtype
from tilewright.arguments.constants import choose, constant, constant_key, is_namedtuple, is_typed_number
from tilewright.arguments.facts import ALIGN, array_type, plain_array_type
from tilewright.arguments.spec import Spec
from tilewright.arguments.words import hint, words
from tilewright.tileir.dtypes import DType, bool_, float32, int32
from tilewright.tileir.types import ArrayType, ListType, Type, scalar

MAX_TUPLE_DEPTH = 64
_OR_NAMED = "; what changes from launch to launch goes into a named tuple"


@dataclass(slots=True)
class Const:
    """A compile-time value."""

    name: str
    value: Any

    def key(self, facts: bool) -> Any:
        return constant_key(self.value)


@dataclass(slots=True)
class Scalar:
    """A runtime scalar; `value` is None in an abstract argument."""

    name: str
    dtype: DType
    value: Any

    def key(self, facts: bool) -> Any:
        return self.dtype

    def type(self, facts: bool) -> Type:
        return scalar(self.dtype)


@dataclass(slots=True)
class ArrayArgument:
    """An array, real or abstract."""

    name: str
    info: ArrayInfo | Spec
    annotation: ArrayAnnotation

    def type(self, facts: bool) -> ArrayType:
        """With or without the facts of this very array."""
        info = self.info
        try:
            if isinstance(info, Spec):
                return info.array_type(self.annotation)
            if not facts:
                return plain_array_type(info.dtype, info.shape, info.strides, self.annotation)
            return array_type(info.dtype, info.shape, info.strides, info.pointer % ALIGN == 0, self.annotation)
        except (OverflowError, ValueError) as error:
            raise _named(error, self.name) from None

    def key(self, facts: bool) -> Any:
        return self.type(facts)


@dataclass(slots=True)
class ArrayList:
    """A list of arrays of one dtype and rank."""

    name: str
    items: list[ArrayArgument]

    def type(self, facts: bool) -> ListType:
        types = [item.type(facts) for item in self.items]
        first = types[0]
        for item, other in zip(self.items, types, strict=True):
            if other.dtype is not first.dtype or other.rank != first.rank:
                raise TypeError(
                    f"argument {self.name!r}: the arrays of a list must have the same dtype and number of axes, but "
                    f"{self.items[0].name} is {first.dtype} with {first.rank} and {item.name} {other.dtype} with "
                    f"{other.rank}" + ("; views of one axis have the same: x.reshape(-1)"
                                       if other.dtype is first.dtype else ""))
        annotation = self.items[0].annotation
        for axis in annotation.axes(annotation.static_shape_dims, first.rank, "static_shape_dims"):
            self._agree(axis, "extent", [t.extents[axis] for t in types])
        for axis in annotation.axes(annotation.static_stride_dims, first.rank, "static_stride_dims"):
            self._agree(axis, "stride", [t.strides[axis] for t in types])
        return ListType(_merge(types))

    def _agree(self, axis: int, what: str, values: list[int | None]) -> None:
        if len(set(values)) > 1:
            raise ValueError(f"argument {self.name!r}: the {what} of axis {axis} is static, but the arrays of the list "
                             f"have {', '.join(map(str, dict.fromkeys(values)))}")

    def key(self, facts: bool) -> Any:
        return self.type(facts)


@dataclass(slots=True)
class Tuple:
    """A tuple of arguments; `kind` is the class of a named tuple."""

    name: str
    items: list[Argument]
    kind: type[tuple[Any, ...]] = tuple

    def key(self, facts: bool) -> Any:
        return self.kind, *(item.key(facts) for item in self.items)


Argument = Const | Scalar | ArrayArgument | ArrayList | Tuple
Leaf = Scalar | ArrayArgument | ArrayList


def bind(params: Sequence[Param], args: Sequence[Any]) -> list[Argument]:
    """Match arguments and parameters, of which there are as many; TypeError, ValueError or OverflowError with the
    parameter's name."""
    if any(p.starred for p in params):
        return []  # the frontend refuses such a kernel, whatever its arguments
    return [_bind(param, param.name, value, 0) for param, value in zip(params, args, strict=True)]


def leaves(arguments: Sequence[Argument]) -> Iterator[Leaf]:
    """What remains of the arguments at run time, in the order of the Tile IR function's parameters."""
    for argument in arguments:
        if isinstance(argument, Tuple):
            yield from leaves(argument.items)
        elif not isinstance(argument, Const):
            yield argument


def runtime_values(arguments: Sequence[Argument], args: Sequence[Any]) -> Iterator[Any]:
    """The values among `args` that remain at run time, in the order of `leaves`."""
    for argument, value in zip(arguments, args, strict=False):  # *args bind to no argument
        if isinstance(argument, Tuple):
            yield from runtime_values(argument.items, value)
        elif not isinstance(argument, Const):
            yield value


def arrays(arguments: Sequence[Argument]) -> Iterator[ArrayArgument]:
    """Every array, those of lists and tuples included."""
    for leaf in leaves(arguments):
        if isinstance(leaf, ArrayArgument):
            yield leaf
        elif isinstance(leaf, ArrayList):
            yield from leaf.items


def _bind(param: Param, name: str, value: Any, depth: int) -> Argument:
    if depth > MAX_TUPLE_DEPTH:
        raise TypeError(f"argument {name.split('[')[0]!r}: tuples are nested more than {MAX_TUPLE_DEPTH} levels deep")
    if param.constant:
        return _constant(param, name, value)
    if value is None:
        return Const(name, None)  # whatever the annotation: an argument that is left out
    if isinstance(value, tuple):
        return _tuple(param, name, value, depth)
    if param.items is not None:
        raise TypeError(f"argument {name!r} must be a tuple, as its annotation says, not {words(value)}")
    if isinstance(value, list):
        return _list(param, name, value)
    if isinstance(value, (int, float)) or is_typed_number(value):
        return _scalar(param, name, value)
    return _array(param, name, value)


def _array(param: Param, name: str, value: Any) -> Argument:
    if isinstance(value, Spec) and value.is_scalar:
        _refuse(param.array or param.list, param, name, "a scalar")
        return Scalar(name, value.dtype, None)
    try:
        info = value if isinstance(value, Spec) else describe(value)
    except (TypeError, ValueError) as error:
        raise _named(error, name) from None
    if info is None:
        if _may_be_constant(name, value):
            raise TypeError(f"argument {name!r} is {words(value)}, which exists only while compiling; annotate the "
                            f"parameter with Constant{_OR_NAMED if is_dataclass(value) else ''}")
        raise TypeError(f"argument {name!r} is {words(value)}, which a kernel cannot take; it takes arrays, bool, "
                        f"int, float, lists of arrays, tuples of those, and None{hint(value)}")
    _refuse(param.scalar or param.list, param, name, "an array")
    return ArrayArgument(name, info, param.array or PLAIN_ARRAY)


def _constant(param: Param, name: str, value: Any) -> Argument:
    made = constant(name, value)
    choose(param, name, made)
    if type(made) is tuple:
        return Tuple(name, [_constant(Param(f"{name}[{i}]"), f"{name}[{i}]", item) for i, item in enumerate(made)])
    return Const(name, made)


def _may_be_constant(name: str, value: Any) -> bool:
    try:
        constant(name, value)
    except (TypeError, OverflowError):
        return False
    return True


def _tuple(param: Param, name: str, value: tuple[Any, ...], depth: int) -> Tuple:
    if param.kind not in ("", "tuple[...]"):
        raise TypeError(f"argument {name!r} is annotated with {param.kind} and cannot be a tuple")
    if param.items is None:
        rules = [Param(name)] * len(value)
    elif param.repeat:
        rules = [param.items[0]] * len(value)
    else:
        rules = list(param.items)
    if len(rules) != len(value):
        raise TypeError(f"argument {name!r} must be a tuple of {len(rules)}, as its annotation says, "
                        f"not of {len(value)}")
    pairs = zip(rules, value, strict=True)
    items = [_bind(rule, f"{name}[{i}]", item, depth + 1) for i, (rule, item) in enumerate(pairs)]
    return Tuple(name, items, type(value) if is_namedtuple(value) else tuple)


def _list(param: Param, name: str, value: list[Any]) -> ArrayList:
    _refuse(param.scalar or param.array, param, name, "a list")
    if not value:
        raise TypeError(f"argument {name!r} is an empty list; its arrays' dtype and number of axes would be unknown")
    annotation = param.list.element if param.list is not None else PLAIN_ARRAY
    items: list[ArrayArgument] = []
    for i, item in enumerate(value):
        info = item if isinstance(item, Spec) and not item.is_scalar else describe(item)
        if info is None:
            raise TypeError(f"argument {name!r}: element {i} of the list is {words(item)}; a list holds arrays")
        items.append(ArrayArgument(f"{name}[{i}]", info, annotation))
    return ArrayList(name, items)


def _scalar(param: Param, name: str, value: Any) -> Scalar:
    _refuse(param.array or param.list, param, name, "a scalar")
    if is_typed_number(value):
        return _typed_scalar(param, name, value)
    if isinstance(value, bool):
        _refuse(param.scalar, param, name, "a bool")
        return Scalar(name, bool_, value)
    if isinstance(value, float):
        _refuse(param.scalar, param, name, "a float")
        return Scalar(name, float32, float(value))
    dtype = param.scalar.dtype if param.scalar is not None else int32
    low, high = dtype.int_range
    if not low <= value <= high:
        advice = "; annotate the parameter with ScalarInt64" if dtype is int32 else ""
        raise OverflowError(f"argument {name!r}: {int(value)} does not fit {dtype}{advice}")
    return Scalar(name, dtype, int(value))


def _typed_scalar(param: Param, name: str, value: Any) -> Scalar:
    """A NumPy scalar keeps its dtype, unless the parameter's annotation asks for another integer."""
    try:
        dtype = named_dtype(value.dtype.name)
    except TypeError:
        raise TypeError(f"argument {name!r} is {words(value)}, which a kernel cannot take") from None
    if param.scalar is not None and dtype.is_int:
        return _scalar(param, name, int(value))
    _refuse(param.scalar, param, name, f"a {dtype}")
    return Scalar(name, dtype, value)


def _refuse(condition: object, param: Param, name: str, given: str) -> None:
    if condition:
        raise TypeError(f"argument {name!r} is annotated with {param.kind}, but {given} was given")


def _named(error: Exception, name: str) -> Exception:
    return type(error)(f"argument {name!r}: {error}")


def _merge(types: list[ArrayType]) -> ArrayType:
    """What is true of every one of the types."""
    first = types[0]

    def common(values: list[tuple[int | None, ...]]) -> tuple[int | None, ...]:
        return tuple(v[0] if len(set(v)) == 1 else None for v in zip(*values, strict=True))

    def divisors(values: list[tuple[int | None, ...]], divs: list[tuple[int, ...]]) -> tuple[int, ...]:
        # A constant that is not common to all still has divisors.
        if not first.rank:
            return ()
        known = common(values)
        rows = [[v if v is not None else d for v, d in zip(vs, ds, strict=True)]
                for vs, ds in zip(values, divs, strict=True)]
        columns = zip(*rows, strict=True)
        return tuple(1 if k is not None else max(1, gcd(*column)) for k, column in zip(known, columns, strict=True))

    extents, strides = [t.extents for t in types], [t.strides for t in types]
    return ArrayType(
        first.dtype, common(extents), common(strides), divisors(extents, [t.extent_div for t in types]),
        divisors(strides, [t.stride_div for t in types]), align=min(t.align for t in types),
        disjoint=all(t.disjoint for t in types), small=all(t.small for t in types), index=first.index,
        declared=first.declared)
