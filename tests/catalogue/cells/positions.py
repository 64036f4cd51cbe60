"""The places that accesses element by element use, at every rank: some are outside the array on either side."""

from __future__ import annotations

from typing import Any

import numpy as np
from catalogue.cells.model import Array
from catalogue.cells.tilewise import Shape

import tilewright as ct

# The arrays that are read and written element by element, one for each rank.
EXTENTS: dict[int, Shape] = {0: (), 1: (11,), 2: (5, 7), 3: (3, 5, 4), 4: (2, 3, 3, 4)}


# The positions that the element accesses of a rank use, as code of kernels: some are outside on either side.
def positions_0(b):
    return ()


def positions_1(b):
    return (ct.arange(8, dtype=ct.int32) * 2 - 3 + 7 * b,)


def positions_2(b):
    return (ct.arange(4, dtype=ct.int32)[:, None] * 2 - 1 + b, ct.arange(4, dtype=ct.int32)[None, :] * 3 - 1)


def positions_3(b):
    return (ct.arange(4, dtype=ct.int32)[:, None], ct.arange(8, dtype=ct.int32) - 1, b * 2)


def positions_4(b):
    i = ct.arange(2, dtype=ct.int32)
    return (i[:, None, None, None], i[:, None, None] + b, i[:, None] * 2, ct.arange(4, dtype=ct.int32) + 1)


POSITIONS = (positions_0, positions_1, positions_2, positions_3, positions_4)


def numpy_positions(rank: int, b: int) -> tuple[Any, ...]:
    """The same in NumPy."""
    a, i = np.arange, np.arange(2)
    return ((), (a(8) * 2 - 3 + 7 * b,), (a(4)[:, None] * 2 - 1 + b, a(4)[None, :] * 3 - 1),
            (a(4)[:, None], a(8) - 1, np.array(b * 2)),
            (i[:, None, None, None], i[:, None, None] + b, i[:, None] * 2, a(4) + 1))[rank]


def lanes(rank: int, b: int) -> tuple[tuple[Array, ...], Array]:
    """Positions broadcast together, and which are inside."""
    places = np.broadcast_arrays(*numpy_positions(rank, b)) if rank else ()
    inside = np.ones(places[0].shape if rank else (), bool)
    for place, extent in zip(places, EXTENTS[rank], strict=True):
        inside &= (place >= 0) & (place < extent)
    return tuple(places), inside


def gathered(x: Array, rank: int, b: int, padding: Any, mask: Any = True) -> Array:
    places, inside = lanes(rank, b)
    use = inside & mask
    out = np.full(inside.shape, padding).astype(x.dtype)
    out[use] = x[tuple(p[use] for p in places)]
    return out


RESULT: dict[int, Shape] = {rank: lanes(rank, 0)[1].shape for rank in EXTENTS}
