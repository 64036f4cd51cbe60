"""Linear algebra over F2 with vectors as Python ints: span membership, solving, rank, maps as shifts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import xor


class Basis:
    """An echelon form of some vectors that remembers how each row was made of them.

    `solve(v)` answers which of the given vectors XOR to `v`, as a bit mask over their positions.
    """

    __slots__ = ("rows",)

    def __init__(self, vectors: Sequence[int]) -> None:
        self.rows: dict[int, tuple[int, int]] = {}  # leading bit -> (vector, mask of the given vectors)
        for position, vector in enumerate(vectors):
            rest, mask = self._reduce(vector)
            if rest:
                self.rows[rest.bit_length() - 1] = (rest, mask ^ 1 << position)

    def _reduce(self, vector: int) -> tuple[int, int]:
        mask = 0
        while vector:
            row = self.rows.get(vector.bit_length() - 1)
            if row is None:
                break
            vector ^= row[0]
            mask ^= row[1]
        return vector, mask

    def solve(self, vector: int) -> int | None:
        """The mask of given vectors whose XOR is `vector`; None if it is outside their span."""
        rest, mask = self._reduce(vector)
        return None if rest else mask

    def contains(self, vector: int) -> bool:
        return self._reduce(vector)[0] == 0

    @property
    def rank(self) -> int:
        return len(self.rows)


@lru_cache(maxsize=4096)
def echelon(vectors: tuple[int, ...]) -> Basis:
    """The cached `Basis` of a tuple of vectors."""
    return Basis(vectors)


def combine(vectors: Sequence[int], mask: int) -> int:
    """XOR of the vectors whose bit is set in `mask`."""
    return reduce(xor, (vector for position, vector in enumerate(vectors) if mask >> position & 1), 0)


def span(vectors: Sequence[int]) -> list[int]:
    """Every combination, at position `mask` the one that `combine(vectors, mask)` gives."""
    out = [0]
    for vector in vectors:
        out += [x ^ vector for x in out]
    return out


def complement(taken: Iterable[int], candidates: Iterable[int]) -> list[int]:
    """Candidates, in order, that extend `taken` to a basis of the whole space."""
    chosen: list[int] = []
    base = list(taken)
    for vector in candidates:
        if not echelon(tuple(base)).contains(vector):
            base.append(vector)
            chosen.append(vector)
    return chosen


def shifts(contributions: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """A linear map of the bits of a number as few shifts: XOR over (mask, shift) of (number & mask) << shift.

    `contributions` are (input bit, what it contributes). A negative shift goes right.
    """
    masks: dict[int, int] = {}
    for bit, out in contributions:
        while out:
            low = (out & -out).bit_length() - 1
            masks[low - bit] = masks.get(low - bit, 0) | 1 << bit
            out &= out - 1
    return tuple((mask, shift) for shift, mask in sorted(masks.items()))
