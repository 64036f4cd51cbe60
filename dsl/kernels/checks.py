"""What functions of the library ask of their arguments, with errors in the words of their parameters."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tilewright.arguments.arrays import ArrayInfo, describe
from tilewright.arguments.sharing import overlap
from tilewright.kernels.arrays import Array, dtype_of
from tilewright.tileir.diagnostics import TileTypeError, TileValueError

FLOATS = ("float16", "bfloat16", "float32", "float64")


def check_float(function: str, **arrays: Array | None) -> None:
    """TileTypeError for an array that is not of floats that can be computed with."""
    for name, x in arrays.items():
        if x is not None and dtype_of(x).name not in FLOATS:
            raise TileTypeError(f"{function}: {name} has the dtype {dtype_of(x)}; it must be one of "
                                f"{', '.join(FLOATS)}")


def check_integer(function: str, **arrays: Array | None) -> None:
    """TileTypeError for an array that is not of integers."""
    for name, x in arrays.items():
        if x is not None and not dtype_of(x).is_int:
            raise TileTypeError(f"{function}: {name} has the dtype {dtype_of(x)}; it must hold integers")


def check_rank(function: str, name: str, x: Array, *ranks: int) -> None:
    """TileValueError for an array with another number of axes."""
    if len(x.shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise TileValueError(f"{function}: {name} has {len(x.shape)} axes, shape {tuple(x.shape)}; it must have "
                             f"{wanted}")


def check_shape(function: str, name: str, x: Array | None, shape: Sequence[int], why: str) -> None:
    """TileValueError for an array whose shape does not fit the others. `why` says where the shape comes from."""
    if x is not None and tuple(x.shape) != tuple(shape):
        raise TileValueError(f"{function}: {name} has the shape {tuple(x.shape)}; it must be {tuple(shape)}, {why}")


def check_same_dtype(function: str, **arrays: Array | None) -> None:
    """TileTypeError for arrays of several dtypes."""
    found = {name: dtype_of(x) for name, x in arrays.items() if x is not None}
    if len(set(found.values())) > 1:
        listed = ", ".join(f"{name} {dtype}" for name, dtype in found.items())
        raise TileTypeError(f"{function}: the arrays must have one dtype; these are {listed}",
                            hints=["convert one of them first"])


def check_choice(function: str, name: str, value: str, choices: Sequence[str]) -> None:
    """TileValueError for a name that is none of the choices."""
    if value not in choices:
        raise TileValueError(f"{function}: {name} is {value!r}; it must be one of {', '.join(choices)}")


def check_out(function: str, out: Array, given: Mapping[str, Any], apart: Collection[str]) -> None:
    """TileValueError for an output whose elements share memory with each other, or with another element of an array
    that is read: some block would read what another one has written. `apart`: what may not be the output itself, as
    its elements are read by several blocks."""
    target = _info(out)
    if target is None:
        return
    if any(n > 1 and stride == 0 for n, stride in zip(target.shape, target.strides, strict=True)):
        raise TileValueError(f"{function}: elements of out, of shape {target.shape} and strides {target.strides}, "
                             "share memory", hints=["give an output that is not expanded"])
    for name, value in given.items():
        source = _info(value) if hasattr(value, "shape") else None
        if source is None or not overlap(source, target):
            continue
        if name in apart or (source.pointer, source.shape, source.strides) != (
                target.pointer, target.shape, target.strides):
            raise TileValueError(f"{function}: out shares memory with {name}, which is read while out is written",
                                 hints=["give another output, or leave out= away"])


def _info(x: Array) -> ArrayInfo | None:
    try:
        return describe(x)
    except TypeError:  # the function says what is wrong with it, or takes complex numbers
        return None


def axis_of(function: str, axis: int, rank: int) -> int:
    """An axis counted from the front. TileValueError for one that the array does not have."""
    if not -rank <= axis < rank:
        raise TileValueError(f"{function}: there is no axis {axis}; the array has {rank}, so -{rank} to {rank - 1}")
    return operator.index(axis) % rank  # a size of torch that is a symbol is no key of a set
