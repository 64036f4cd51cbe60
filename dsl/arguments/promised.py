"""Whether arguments keep what code relies on: dtypes, constants, divisors, alignment, and how arrays lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.arguments.arrays import ArrayInfo
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Const, Scalar, Tuple
from tilewright.arguments.facts import is_disjoint, is_small
from tilewright.arguments.spec import Spec
from tilewright.tileir.types import ArrayType, ListType, TileType


def check_promised(argument: Argument, type_: ArrayType | ListType | TileType, maker: str) -> None:
    """TypeError or ValueError for an argument that code was not made for; `maker` is what asks for it, in words."""
    if isinstance(argument, (Const, Tuple)) or isinstance(type_, TileType) is not isinstance(argument, Scalar):
        raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in {maker}")
    if isinstance(argument, Scalar):
        if argument.dtype is not type_.dtype:  # type: ignore[union-attr]
            raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in {maker}, not a scalar of "
                            f"{argument.dtype}")
        return
    if isinstance(type_, ListType) is not isinstance(argument, ArrayList):
        raise TypeError(f"argument {argument.name!r} must be {_words(type_)}, as in {maker}")
    for array in argument.items if isinstance(argument, ArrayList) else [argument]:
        _check_array(array, type_.element if isinstance(type_, ListType) else type_, maker)  # type: ignore[arg-type]


def _words(type_: ArrayType | ListType | TileType) -> str:
    if isinstance(type_, TileType):
        return f"a scalar of {type_.dtype}"
    if isinstance(type_, ListType):
        return f"a list of arrays of {type_.element.dtype}"
    return f"an array of {type_.dtype}"


def _check_array(argument: ArrayArgument, type_: ArrayType, maker: str) -> None:
    info, name = argument.info, argument.name
    shape, strides = (info.extents, info.strides) if isinstance(info, Spec) else (info.shape, info.strides)
    assert shape is not None
    if info.dtype is not type_.dtype or len(shape) != type_.rank:
        raise TypeError(f"argument {name!r} must be an array of {type_.dtype} with {type_.rank} axes, as in {maker}"
                        f", not of {info.dtype} with {len(shape)}")
    _check_numbers(name, "extent", shape, type_.extents, type_.extent_div, maker)
    if strides is not None:
        _check_numbers(name, "stride", strides, type_.strides, type_.stride_div, maker)
    if isinstance(info, ArrayInfo):
        _check_memory(name, info, type_, maker)


def _check_numbers(
    name: str, what: str, given: Sequence[int | None], known: Sequence[int | None], divisors: Sequence[int],
    maker: str,
) -> None:
    for axis, (value, wanted, divisor) in enumerate(zip(given, known, divisors, strict=True)):
        if value is None or (value == wanted if wanted is not None else value % divisor == 0):
            continue
        must = f"be {wanted}" if wanted is not None else f"be a multiple of {divisor}"
        raise ValueError(f"argument {name!r}: the {what} of axis {axis} must {must}, as {maker} was made for such "
                         f"arrays; it is {value}")


def _check_memory(name: str, info: ArrayInfo, type_: ArrayType, maker: str) -> None:
    if info.pointer % type_.align:
        raise ValueError(f"argument {name!r} must begin at a multiple of {type_.align} bytes, as {maker} was made "
                         "for such arrays")
    if type_.disjoint and not is_disjoint(info.shape, info.strides):
        raise ValueError(f"argument {name!r} holds elements that share memory, and {maker} was made for arrays "
                         "that do not")
    if type_.small and not is_small(info.dtype, info.shape, info.strides):
        raise ValueError(f"argument {name!r} spans 2 GiB or more, or 1 GiB backwards, and {maker} was made for smaller "
                         "arrays")
