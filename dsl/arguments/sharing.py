"""Which arguments of a launch share memory: the same elements, overlapping ones, or none. Kernels specialise on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.arguments.arrays import ArrayInfo, view_of_addresses
from tilewright.arguments.bind import Argument, ArrayArgument, ArrayList, Leaf, arrays, leaves
from tilewright.arguments.spec import Spec
from tilewright.tileir.plan import NO_ALIASES, Aliases

# numpy.shares_memory solves an integer problem; this bounds its search.
_MAX_OVERLAP_WORK = 100_000


def near(arguments: Sequence[Argument]) -> bool:
    """Whether the byte ranges of two arrays meet: the cheap test. Interleaved views are near and share nothing."""
    end = 0
    for low, high in sorted(a.info.span for a in arrays(arguments) if not isinstance(a.info, Spec)):
        if low < high:
            if low < end:
                return True
            end = max(end, high)
    return False


def find_aliases(arguments: Sequence[Argument], written: frozenset[int]) -> Aliases:
    """How arguments share memory with those that are written, by the positions of `leaves`; who is only read may share
    memory with others that are.

    Raises ValueError for two outputs that overlap without being equal: whose element is stored last nobody could say.
    """
    flat = list(leaves(arguments))
    classes: list[list[int]] = []
    for position, leaf in enumerate(flat):
        known = next((c for c in classes if _same(flat[c[0]], leaf)), None)
        if known is None:
            classes.append([position])
        else:
            known.append(position)
    equal = [c for c in classes if len(c) > 1 and not written.isdisjoint(c)]
    same = {later: c[0] for c in equal for later in c[1:]}
    outputs = frozenset(same.get(position, position) for position in written)
    groups = [{i, j} for i, j in output_pairs(len(flat), outputs)
              if i not in same and j not in same and _overlapping(flat[i], flat[j], i in outputs and j in outputs)]
    return Aliases(tuple(sorted(same.items())), _merged(groups)) if same or groups else NO_ALIASES


def output_pairs(count: int, written: frozenset[int]) -> list[tuple[int, int]]:
    """The pairs of parameters of which at least one is written."""
    return [(i, j) for i in range(count) for j in range(i + 1, count) if i in written or j in written]


def _same(a: Leaf, b: Leaf) -> bool:
    """Whether two arguments are one array to the kernel, under two names."""
    if not isinstance(a, ArrayArgument) or not isinstance(b, ArrayArgument) or a.annotation != b.annotation:
        return False
    if isinstance(a.info, Spec) or isinstance(b.info, Spec):
        return False
    return _equal(a.info, b.info) and a.info.readonly == b.info.readonly


def _equal(a: ArrayInfo, b: ArrayInfo) -> bool:
    """Whether two arrays hold the same elements under the same indices."""
    return a.pointer == b.pointer and a.dtype is b.dtype and a.shape == b.shape and a.strides == b.strides


def _overlapping(a: Leaf, b: Leaf, outputs: bool) -> bool:
    """Whether two arguments, or arrays of theirs, share an element. Of two `outputs` these arrays must be equal."""
    found = False
    for one in _members(a):
        for other in _members(b):
            if isinstance(one.info, Spec) or isinstance(other.info, Spec) or not overlap(one.info, other.info):
                continue
            if outputs and not _equal(one.info, other.info):
                raise overlap_error(one.name, other.name)
            found = True
    return found


def _members(leaf: object) -> list[ArrayArgument]:
    if isinstance(leaf, ArrayArgument):
        return [leaf]
    return leaf.items if isinstance(leaf, ArrayList) else []


def _merged(pairs: list[set[int]]) -> tuple[tuple[int, ...], ...]:
    """Pairs that overlap as disjoint groups."""
    out: list[set[int]] = []
    for joined in pairs:
        for group in [g for g in out if g & joined]:
            out.remove(group)
            joined = joined | group
        out.append(joined)
    return tuple(sorted(tuple(sorted(group)) for group in out))


def overlap_error(a: str, b: str) -> ValueError:
    return ValueError(
        f"the kernel writes to {a!r} and to {b!r}, which overlap in memory without being equal; pass outputs that "
        "share no element, or the same array for both")


def overlap(a: ArrayInfo, b: ArrayInfo) -> bool:
    """Whether two arrays may share a byte. Interleaved views (columns of one matrix) do not."""
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
        return True  # undecided
