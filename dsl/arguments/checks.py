"""Checks of array arguments before anything runs: one place, no read-only outputs, no overlap with an output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arguments.arrays import ArrayInfo, place, view_of_addresses
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, arrays, leaves
from tilewright.arguments.spec import Spec

# numpy.shares_memory solves an integer problem; this bounds its search.
_MAX_OVERLAP_WORK = 100_000


def real(array: ArrayArgument) -> ArrayInfo:
    """The array's memory; TypeError for an abstract argument, which cannot be launched with."""
    if isinstance(array.info, Spec):
        raise TypeError(f"argument {array.name!r} is a specification ({array.info}); a launch needs an array")
    return array.info


def common_device(arguments: Sequence[Argument]) -> int | None:
    """The place of all array arguments (`arrays.HOST` or a CUDA ordinal), None without any.

    ValueError where they are in different places.
    """
    first: ArrayArgument | None = None
    for array in arrays(arguments):
        info = real(array)
        if first is None:
            first = array
        elif info.device != real(first).device:
            raise ValueError(
                f"argument {first.name!r} is {place(real(first))}, but {array.name!r} is {place(info)}; move them to "
                "one place first")
    return real(first).device if first is not None else None


def check_outputs(arguments: Sequence[Argument], written: frozenset[int]) -> None:
    """ValueError for an output that is read-only or overlaps another argument."""
    flat = list(leaves(arguments))
    for i in sorted(written):
        for array in _members(flat[i]):
            if real(array).readonly:
                raise ValueError(f"argument {array.name!r} is read-only, but the kernel writes to it")
    for i, j in output_pairs(len(flat), written):
        for a in _members(flat[i]):
            for b in _members(flat[j]):
                if overlap(real(a), real(b)):
                    raise overlap_error(a.name, b.name, i in written, j in written)


def output_pairs(count: int, written: frozenset[int]) -> list[tuple[int, int]]:
    """The pairs of parameters of which at least one is written."""
    return [(i, j) for i in range(count) for j in range(i + 1, count) if i in written or j in written]


def overlap_error(a: str, b: str, a_written: bool, b_written: bool) -> ValueError:
    if a_written and b_written:
        what = "the kernel writes to both"
    else:
        what = f"the kernel writes to {a if a_written else b!s}"
    return ValueError(f"arguments {a!r} and {b!r} overlap in memory, and {what}; pass arrays that share no element")


def _members(leaf: object) -> list[ArrayArgument]:
    if isinstance(leaf, ArrayArgument):
        return [leaf]
    return leaf.items if isinstance(leaf, ArrayList) else []


def overlap(a: ArrayInfo, b: ArrayInfo) -> bool:
    """Whether two arrays share a byte. Interleaved views (columns of one matrix) do not."""
    (a_low, a_high), (b_low, b_high) = a.span, b.span
    if a_low >= b_high or b_low >= a_high or a_low == a_high or b_low == b_high:
        return False
    if a.device != b.device:
        return False
    import numpy

    # Views of addresses that are never read: only their numbers matter, so device memory works too.
    first, second = (view_of_addresses(info, numpy.dtype(f"V{info.dtype.bytes}")) for info in (a, b))
    work: Any = _MAX_OVERLAP_WORK  # NumPy's stubs know only two of the allowed values
    try:
        return bool(numpy.shares_memory(first, second, max_work=work))
    except numpy.exceptions.TooHardError:
        return False  # undecided: the contract on the caller stands
