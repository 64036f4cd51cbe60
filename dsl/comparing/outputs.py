"""How far the outputs of two runs are apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.comparing.bounds import same

Array = Any
SLIGHT = 64  # roundings, relative to the largest number of an array
NOTABLE = 0.25  # of the largest difference


def equal(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether all arrays have equal bits."""
    return all(same(x, y).all() for x, y in _pairs(one, other))


def slight(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Whether arrays differ by a few roundings at most."""
    return all(_slight(x, y) for x, y in _pairs(one, other))


def _slight(x: Array, y: Array) -> bool:
    import numpy

    if same(x, y).all():
        return True
    if x.dtype.kind in "biu":
        return False
    with numpy.errstate(all="ignore"):
        size = numpy.nan_to_num(numpy.abs(y.astype(numpy.float64)), posinf=0, neginf=0).max()
        unit = float(_finfo(x.dtype).eps) * size
        return bool((distance(x, y) <= SLIGHT * unit).all())


def _finfo(dtype: Any) -> Any:
    import ml_dtypes

    find: Any = ml_dtypes.finfo
    return find(dtype)


def distance(x: Array, y: Array) -> Array:
    """Per element; infinite where only one is a NaN or an infinity."""
    import numpy

    equal_ = same(x, y)
    if x.dtype.kind in "biu":
        return numpy.where(equal_, 0.0, numpy.abs(x.astype(numpy.float64) - y.astype(numpy.float64)))
    with numpy.errstate(all="ignore"):
        apart = numpy.abs(x.astype(numpy.float64) - y.astype(numpy.float64))
        return numpy.where(equal_, 0.0, numpy.where(numpy.isfinite(apart), apart, numpy.inf))


def nearer(found: Sequence[Any], right: Sequence[Any], wrong: Sequence[Any]) -> bool:
    """Whether arrays are nearer to `wrong` than to `right` anywhere where these two differ notably."""
    import numpy

    for (x, good), (_, bad) in zip(_pairs(found, right), _pairs(found, wrong), strict=True):
        apart = distance(bad, good)
        if not apart.any():
            continue
        largest = apart.max()
        notable = (apart == numpy.inf) if largest == numpy.inf else apart >= NOTABLE * largest
        if (distance(x, good) > distance(x, bad))[notable].any():
            return True
    return False


Output = tuple[str, int, tuple[int, ...], Any, Any]


def described(names: Sequence[str], one: Sequence[Any], other: Sequence[Any]) -> Iterator[Output]:
    """Of each array that differs: its name, how many elements, the first index and its two values."""
    import numpy

    for name, x, y in zip(names, one, other, strict=True):
        for number, (p, q) in enumerate(_pairs([x], [y])):
            wrong = numpy.argwhere(~same(p, q))
            if len(wrong):
                at = tuple(int(i) for i in wrong[0])
                yield name + (f"[{number}]" if isinstance(x, list) else ""), len(wrong), at, p[at], q[at]


def carried(names: Sequence[str], one: Sequence[Any], other: Sequence[Any]) -> str:
    """How far outputs are apart whose difference no op has to answer for."""
    import numpy

    most: tuple[float, str] = 0.0, ""
    for name, x, y in zip(names, one, other, strict=True):
        for number, (p, q) in enumerate(_pairs([x], [y])):
            apart = distance(p, q)
            if apart.size and apart.max() > most[0]:
                at = [int(i) for i in numpy.unravel_index(apart.argmax(), apart.shape)]
                most = float(apart.max()), name + (f"[{number}]" if isinstance(x, list) else "") + f"{at}"
    return f"no op is wrong: the difference, at most {most[0]:.3g} in {most[1]}, is rounding that ops may have"


def _pairs(one: Sequence[Any], other: Sequence[Any]) -> Iterator[tuple[Array, Array]]:
    for x, y in zip(one, other, strict=True):
        if isinstance(x, list):
            yield from zip(x, y, strict=True)
        elif hasattr(x, "strides") and getattr(x, "shape", None) is not None and not _is_scalar(x):
            yield x, y


def _is_scalar(x: Any) -> bool:
    import numpy

    return isinstance(x, numpy.generic)
