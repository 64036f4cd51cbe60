"""The source of a kernel that comes from Tile IR: its function, and what that asks of arguments."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tilewright.arguments.annotations import ArrayAnnotation, ListAnnotation, Param, ScalarAnnotation
from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, Tuple
from tilewright.arguments.facts import is_disjoint, is_small
from tilewright.arguments.spec import Spec
from tilewright.launching.sources import no_statements
from tilewright.tileir.core import Function, Value, clone_function
from tilewright.tileir.diagnostics import TileValueError
from tilewright.tileir.dtypes import int64
from tilewright.tileir.ops.debug import Breakpoint
from tilewright.tileir.plan import NO_ALIASES, Aliases, Hints
from tilewright.tileir.types import ArrayType, ListType, TileType


class IrSource:
    """A kernel that is a Tile IR function. It is specialised already: arguments must fit its parameters' types."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.name = function.name
        names = list(_names(function.params))
        self.params: Sequence[Param] = tuple(_param(name, p) for name, p in zip(names, function.params, strict=True))
        self.parameters: Sequence[inspect.Parameter] = tuple(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names)

    @property
    def namespace(self) -> Mapping[str, Any]:
        return {}

    def check(self, arguments: Sequence[Argument]) -> None:
        for argument, param in zip(arguments, self.function.params, strict=True):
            _check(argument, param.type)

    def translate(
        self, arguments: Sequence[Argument], *, facts: bool, hints: Hints, aliases: Aliases, debug: bool
    ) -> Function:
        if aliases != NO_ALIASES:
            shared = next(iter((*aliases.same, *aliases.groups)))
            names = " and ".join(repr(self.params[k].name) for k in shared)
            raise TileValueError(f"arguments {names} share memory, and the Tile IR of kernel {self.name} was made for "
                                 "arrays that do not")
        if debug and not any(isinstance(op, Breakpoint) for op in self.function.walk()):
            raise no_statements(self.name)
        made = clone_function(self.function)
        made.hints = hints
        return made


def _names(params: Sequence[Value]) -> Iterator[str]:
    """A name for each parameter, as Python has them."""
    taken: set[str] = set()
    for k, param in enumerate(params):
        name = re.sub(r"\W", "_", param.hint) or f"arg{k}"
        name = name if name.isidentifier() and name not in taken else f"arg{k}"
        taken.add(name)
        yield name


def _param(name: str, value: Value) -> Param:
    type_ = value.type
    if isinstance(type_, ArrayType) and type_.index is int64:
        return Param(name, array=ArrayAnnotation(index_dtype=int64))
    if isinstance(type_, ListType) and type_.element.index is int64:
        return Param(name, list=ListAnnotation(ArrayAnnotation(index_dtype=int64)))
    if isinstance(type_, TileType) and type_.dtype is int64:
        return Param(name, scalar=ScalarAnnotation(int64))
    return Param(name)


def _check(argument: Argument, type_: ArrayType | ListType | TileType) -> None:
    """TypeError or ValueError for an argument that the IR was not made for."""
    if isinstance(argument, (Const, Tuple)) or isinstance(type_, TileType) is not isinstance(argument, Scalar):
        raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in the Tile IR")
    if isinstance(argument, Scalar):
        if argument.dtype is not type_.dtype:  # type: ignore[union-attr]
            raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in the Tile IR, not a scalar of "
                            f"{argument.dtype}")
        return
    if isinstance(type_, ListType) is not isinstance(argument, ArrayList):
        raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in the Tile IR")
    for array in argument.items if isinstance(argument, ArrayList) else [argument]:
        _check_array(array, type_.element if isinstance(type_, ListType) else type_)  # type: ignore[arg-type]


def _words(type_: ArrayType | ListType | TileType) -> str:
    if isinstance(type_, TileType):
        return f"a scalar of {type_.dtype}"
    if isinstance(type_, ListType):
        return f"a list of arrays of {type_.element.dtype}"
    return f"an array of {type_.dtype}"


def _check_array(argument: ArrayArgument, type_: ArrayType) -> None:
    info, name = argument.info, argument.name
    shape, strides = (info.extents, info.strides) if isinstance(info, Spec) else (info.shape, info.strides)
    assert shape is not None
    if info.dtype is not type_.dtype or len(shape) != type_.rank:
        raise TypeError(f"argument {name!r} must be an array of {type_.dtype} with {type_.rank} axes, as in the Tile "
                        f"IR, not of {info.dtype} with {len(shape)}")
    _check_numbers(name, "extent", shape, type_.extents, type_.extent_div)
    if strides is not None:
        _check_numbers(name, "stride", strides, type_.strides, type_.stride_div)
    if isinstance(info, ArrayInfo):
        _check_memory(name, info, type_)


def _check_numbers(
    name: str, what: str, given: Sequence[int | None], known: Sequence[int | None], divisors: Sequence[int]
) -> None:
    for axis, (value, wanted, divisor) in enumerate(zip(given, known, divisors, strict=True)):
        if value is None or (value == wanted if wanted is not None else value % divisor == 0):
            continue
        must = f"be {wanted}" if wanted is not None else f"be a multiple of {divisor}"
        raise ValueError(f"argument {name!r}: the {what} of axis {axis} must {must}, as the Tile IR was made for such "
                         f"arrays; it is {value}")


def _check_memory(name: str, info: ArrayInfo, type_: ArrayType) -> None:
    if info.pointer % type_.align:
        raise ValueError(f"argument {name!r} must begin at a multiple of {type_.align} bytes, as the Tile IR was made "
                         "for such arrays")
    if type_.disjoint and not is_disjoint(info.shape, info.strides):
        raise ValueError(f"argument {name!r} holds elements that share memory, and the Tile IR was made for arrays "
                         "that do not")
    if type_.small and not is_small(info.dtype, info.shape, info.strides):
        raise ValueError(f"argument {name!r} spans 2 GiB or more, and the Tile IR was made for smaller arrays")
