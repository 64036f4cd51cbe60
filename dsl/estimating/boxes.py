"""How many elements a set of boxes covers."""

from __future__ import annotations

from typing import Any

import numpy as np

MAX_CELLS = 1 << 24


def volumes(low: Any, high: Any) -> Any:
    """The number of elements of each box: int64 arrays [boxes, axes] of first and one past the last element."""
    return np.prod(np.maximum(high - low, 0), axis=1)


def distinct(boxes: Any) -> Any:
    """Each of some boxes, int64 [boxes, 2, axes], once."""
    rows = boxes.reshape(len(boxes), boxes.shape[1] * boxes.shape[2])
    if len(rows) < 2 or not rows.shape[1]:
        return boxes[:1]
    low = rows.min(axis=0)
    spans = [int(n) for n in rows.max(axis=0) - low + 1]
    if float(np.prod([float(n) for n in spans])) > 2.0**62:
        return np.unique(boxes, axis=0)
    keys = np.ravel_multi_index(tuple((rows - low).T), spans)
    return boxes[np.unique(keys, return_index=True)[1]]


def union(low: Any, high: Any) -> tuple[int, int]:
    """How many elements boxes cover together: at least, and at most; equal where the boxes are not too many to tell."""
    kept = volumes(low, high) > 0
    low, high = low[kept], high[kept]
    if not len(low):
        return 0, 0
    rank = low.shape[1]
    if rank == 0:
        return 1, 1
    edges = [_sorted(np.concatenate([low[:, a], high[:, a]])) for a in range(rank)]
    total = int(volumes(low, high).sum())
    whole = int(np.prod([int(e[-1] - e[0]) for e in edges]))
    if float(np.prod([float(len(e)) for e in edges])) > MAX_CELLS:
        return int(volumes(low, high).max()), min(total, whole)
    # +1 and -1 at the corners of each box: the sum over all cells before a cell is how many boxes cover it.
    cover = np.zeros([len(e) for e in edges], np.int32)
    first = [np.searchsorted(e, low[:, a]) for a, e in enumerate(edges)]
    last = [np.searchsorted(e, high[:, a]) for a, e in enumerate(edges)]
    for corner in range(1 << rank):
        at = tuple(last[a] if corner >> a & 1 else first[a] for a in range(rank))
        np.add.at(cover.reshape(-1), np.ravel_multi_index(at, cover.shape), -1 if corner.bit_count() & 1 else 1)
    for axis in range(rank):
        np.cumsum(cover, axis=axis, out=cover)
    covered: Any = cover > 0
    for axis in reversed(range(rank)):
        widths = np.append(np.diff(edges[axis]), 0)
        covered = covered @ widths if axis == rank - 1 else np.tensordot(covered, widths, axes=([axis], [0]))
    return (int(covered),) * 2


def _sorted(numbers: Any) -> Any:
    """Each of some numbers once, in order: for many it takes a fraction of what np.unique takes, which hashes them."""
    found = np.sort(numbers)
    return found[np.concatenate([[True], found[1:] != found[:-1]])]
