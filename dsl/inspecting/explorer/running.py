"""The arrays on which a kernel runs for the page, from what is known of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tilewright.arguments.arrays import numpy_dtype
from tilewright.arguments.spec import Spec

if TYPE_CHECKING:
    import numpy as np


def arrays_for(values: Sequence[Any], decides: frozenset[int], seed: int = 0) -> tuple[list[Any], list[int]] | None:
    """An array in place of each spec, and the positions of those whose contents had to be made up although they decide
    something: integers from 0 to below the largest extent, floats between 0 and 1. All others are zeros. None where an
    extent is not known."""
    import numpy

    random = numpy.random.default_rng(seed)
    most = max((n or 0 for value in values for n in _extents(value)), default=1)
    out: list[Any] = []
    invented: list[int] = []
    for position, value in enumerate(values):
        if isinstance(value, list):
            inner = arrays_for(value, frozenset(range(len(value))) if position in decides else frozenset(), seed)
            if inner is None:
                return None
            out.append(inner[0])
            continue
        if not isinstance(value, Spec):
            out.append(value)
            continue
        if value.extents is None or None in value.extents:
            return None
        if position in decides:
            invented.append(position)
        out.append(_array(value, position in decides, random, most))
    return out, invented


def _extents(value: Any) -> tuple[Any, ...]:
    return (value.extents or ()) if isinstance(value, Spec) else getattr(value, "shape", ())


def _array(value: Spec, decides: bool, random: Any, most: int) -> np.ndarray[Any, Any]:
    import numpy

    assert value.extents is not None
    shape = tuple(n for n in value.extents if n is not None)
    dtype = numpy_dtype(value.dtype)
    if not decides:
        return numpy.zeros(shape, dtype)  # which touches no memory
    if value.dtype.is_float:
        return numpy.asarray(random.random(shape), numpy.float64).astype(dtype)
    return numpy.asarray(random.integers(0, most, shape)).astype(dtype)
