"""Reading a tile from shared memory with ldmatrix, wherever its layout is made of 8x8 matrices of 16-byte rows.

PTX ISA, "ldmatrix": lane 8 i + r passes the address of row r of matrix i; afterwards lane l holds the elements
2 (l%4) and 2 (l%4) + 1 of row l/4 of each matrix, or with .trans of column l/4. Elements of 8 and 32 bits travel as
pairs and halves of 16-bit ones, without .trans.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from tilewright.backend_ptx.layouts.flat import LANE, LANE_BITS, REGISTER, distributed, log2, parts
from tilewright.backend_ptx.layouts.shared import offset_bases
from tilewright.tileir.layout import Layout

ROW_BYTES, WORD_BYTES = 16, 4


class MatrixPlan(NamedTuple):
    """How to read: `rows` is the layout of the addresses (its low registers are a row of 16 bytes, its lanes are rows
    and matrices); `per_load` matrices an instruction; `word` elements in a register, `matrices` the register bits that
    choose among the matrices of one instruction and `others` those that choose the instruction."""

    rows: Layout
    per_load: int
    trans: bool
    word: int
    matrices: tuple[int, ...]
    others: tuple[int, ...]

    def register(self, matrix: int, element: int, group: int) -> int:
        """The tile's register that holds an element of a word of a matrix of the group-th instruction."""
        return element | _spread(matrix, self.matrices) | _spread(group, self.others)


def _spread(number: int, bits: Sequence[int]) -> int:
    return sum(1 << bit for i, bit in enumerate(bits) if number >> i & 1)


@lru_cache(maxsize=512)
def matrix_plan(shared: Layout, layout: Layout, element_bytes: int) -> MatrixPlan | None:
    """The plan for reading `layout` from `shared`, None where the tile is not made of such matrices."""
    if element_bytes > WORD_BYTES:
        return None
    offsets = offset_bases(shared, layout)
    register, lane, warp = parts(layout)
    word = log2(WORD_BYTES // element_bytes)
    row = log2(ROW_BYTES // element_bytes)
    if len(register) < word or 0 in lane:
        return None
    at_register, at_lane = offsets[REGISTER], offsets[LANE]
    straight = [*at_register[:word], at_lane[0], at_lane[1]]
    wanted = [1 << i for i in range(row)]
    if straight == wanted:
        trans, inside, rows = False, [*register[:word], lane[0], lane[1]], [lane[2], lane[3], lane[4]]
    elif element_bytes == 2 and [at_lane[2], at_lane[3], at_lane[4]] == wanted:
        trans, inside, rows = True, [lane[2], lane[3], lane[4]], [register[0], lane[0], lane[1]]
    else:
        return None
    chosen = tuple(range(word, min(len(register), word + 2)))
    others = tuple(range(word + len(chosen), len(register)))
    lanes = [*rows, *(register[i] for i in chosen)]
    reader = distributed(
        layout.shape, [*inside, *(register[i] for i in others)], [*lanes, *[0] * (LANE_BITS - len(lanes))], warp)
    if not _rows_are_whole(shared, reader, row):
        return None
    return MatrixPlan(reader, 1 << len(chosen), trans, 1 << word, chosen, others)


def _rows_are_whole(shared: Layout, reader: Layout, row: int) -> bool:
    """Whether every address is a multiple of 16 bytes."""
    rest = [o for dim, bases in offset_bases(shared, reader).items()
            for i, o in enumerate(bases) if dim != REGISTER or i >= row]
    return not any(o & ((1 << row) - 1) for o in rest)
