"""What the arguments of a launch inside JAX are: arrays, outputs, outputs that start as an array, and constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.arguments.arrays import named_dtype
from tilewright.arguments.spec import Spec


@dataclass(frozen=True)
class OutputPlaceholder:
    """An output of `ct.jax.cutile_call`, an array of this shape and dtype."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class InputOutput:
    """An output of `ct.jax.cutile_call` that starts as a copy of an array, which itself does not change."""

    array: Any


@dataclass(frozen=True)
class Zeros:
    """An output to which the kernel adds."""

    shape: tuple[int, ...]
    dtype: Any


@dataclass(frozen=True)
class Scratch:
    """An array whose elements do not count, and which is not returned."""

    shape: tuple[int, ...]
    dtype: Any


RETURNED = (OutputPlaceholder, InputOutput, Zeros)


def is_array(entry: Any) -> bool:
    """Whether an argument is an array, and no number or constant: NumPy's scalars are numbers."""
    import numpy

    return hasattr(entry, "shape") and hasattr(entry, "dtype") and not isinstance(
        entry, (numpy.generic, OutputPlaceholder, Zeros, Scratch))


def given_array(entry: Any) -> Any:
    """The array of JAX that an argument brings; None for one that brings none."""
    if isinstance(entry, InputOutput):
        return entry.array
    return entry if is_array(entry) else None


def shape_of(entry: Any) -> Any:
    """Something with the shape and dtype of an argument that is memory; None for a constant."""
    found = given_array(entry)
    if found is not None:
        return found
    return entry if isinstance(entry, (OutputPlaceholder, Zeros, Scratch)) else None


def as_spec(entry: Any) -> Any:
    """An argument from which a kernel can be specialised."""
    import numpy

    found = shape_of(entry)
    if found is None:
        return entry
    return Spec(named_dtype(numpy.dtype(found.dtype).name), tuple(map(int, found.shape)))
