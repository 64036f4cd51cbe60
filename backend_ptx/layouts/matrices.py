"""Tiles made of the 8x8 matrices that ldmatrix and stmatrix move: which 16-byte rows of a buffer a warp addresses, and
where the slots of a ring have their elements.

PTX ISA, "ldmatrix" and "stmatrix": lane 8 i + r passes the address of row r of matrix i; lane l holds the elements
2 (l%4) and 2 (l%4) + 1 of row l/4 of each matrix, or with .trans of column l/4. Elements of 8 and 32 bits travel as
pairs and halves of 16-bit ones, halves without .trans.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from tilewright.backend_ptx.layouts.shared import bank_conflicts, swizzled_shared
from tilewright.tileir.f2 import combine, span
from tilewright.tileir.layout import Layout
from tilewright.tileir.layouts.buffers import access_vector, alignment, copy_vector, offset_bases
from tilewright.tileir.layouts.flat import LANE_BITS, distributed, log2, parts

ROW_BYTES, WORD_BYTES = 16, 4


class MatrixPlan(NamedTuple):
    """How to move a tile: `rows` is the layout of the addresses (its low registers are a row of 16 bytes, its lanes are
    rows and matrices). Of the tile's register bits, `word` choose among the elements of a 32-bit register, `matrices`
    among the matrices of one instruction, and `others` choose the instruction."""

    rows: Layout
    trans: bool
    word: tuple[int, ...]
    matrices: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def per_instruction(self) -> int:
        """Matrices that one instruction moves."""
        return 1 << len(self.matrices)

    def called(self, name: str) -> str:
        """The instruction, `name` being ldmatrix or stmatrix."""
        return f"{name}.x{self.per_instruction}{'.trans' * self.trans}"

    @property
    def per_word(self) -> int:
        """Elements in a 32-bit register."""
        return 1 << len(self.word)

    def registers(self, matrix: int, group: int) -> list[int]:
        """The tile's registers in the word of one matrix of the group-th instruction."""
        chosen = combine([1 << bit for bit in (*self.matrices, *self.others)], matrix | group << len(self.matrices))
        return [chosen | element for element in span([1 << bit for bit in self.word])]


@lru_cache(maxsize=512)
def matrix_plan(shared: Layout, layout: Layout, element_bytes: int) -> MatrixPlan | None:
    """The plan for moving `layout` from or to `shared`, None where the tile is not made of such matrices."""
    if element_bytes > WORD_BYTES:
        return None
    at_register, at_lane, _ = offset_bases(shared, layout)
    register, lane, warp = parts(layout)
    size = log2(WORD_BYTES // element_bytes)
    row = log2(ROW_BYTES // element_bytes)
    if len(register) < size or 0 in lane:
        return None
    wanted = [1 << i for i in range(row)]
    word = tuple(at_register.index(w) for w in wanted[:size] if w in at_register)
    if len(word) == size and [at_lane[0], at_lane[1]] == wanted[size:]:
        trans, inside, rows = False, [*(register[i] for i in word), lane[0], lane[1]], [lane[2], lane[3], lane[4]]
    elif element_bytes <= 2 and [*(w for w in wanted[:-3] if w in at_register), *at_lane[2:]] == wanted:
        pair = tuple(at_register.index(w) for w in wanted[:-3])
        across = next(i for i in range(len(register)) if i not in pair)
        trans, word = True, (*pair, across)
        inside, rows = [*(register[i] for i in pair), *lane[2:]], [register[across], lane[0], lane[1]]
    else:
        return None
    free = [i for i in range(len(register)) if i not in word]
    chosen, others = tuple(free[:2]), tuple(free[2:])
    addresses = distributed(
        layout.shape, [*inside, *(register[i] for i in others)], [*rows, *(register[i] for i in chosen)], warp)
    if alignment(shared, addresses, range(row)) < 1 << row:
        return None
    return MatrixPlan(addresses, trans, word, chosen, others)


class Turn(NamedTuple):
    """Lanes whose bit `lane_bit` is set move what differs in the register bit `register_bit` in the other order."""

    lane_bit: int
    register_bit: int


class Movement(NamedTuple):
    """How threads move a tile from or to a buffer: `rows` is the layout of the addresses, `plan` that of matrices where
    these move it."""

    rows: Layout
    plan: MatrixPlan | None
    turn: Turn | None = None


@lru_cache(maxsize=512)
def movement(shared: Layout, layout: Layout, element_bytes: int, matrices: bool = True) -> Movement:
    """How a layout is moved, by `matrices` where there is an instruction.

    Where vectors or rows of matrices meet in the banks, half of the lanes move pairs of them in the other order, if
    then none meet. The pair may be two 4-byte words side by side, which then move one by one: two such accesses take as
    many wavefronts as one of 8 bytes without conflicts, half of those of one with.
    """
    def moved(layout: Layout, turn: Turn | None = None) -> tuple[Movement, int, int]:
        plan = matrix_plan(shared, layout, element_bytes) if matrices else None
        rows = layout if plan is None else plan.rows
        found = Movement(rows, plan, turn)
        return found, access_vector(shared, rows, element_bytes)[0], bank_conflicts(shared, rows, element_bytes)

    found, vector, conflicts = moved(layout)
    if not conflicts or vector * element_bytes < WORD_BYTES:
        return found
    register, lane, warp = parts(layout)
    inside = access_vector(shared, layout, element_bytes)[1]
    pair = inside if element_bytes == WORD_BYTES and len(inside) == 1 and found.plan is None else ()
    for other in (*pair, *(bit for bit in range(len(register)) if bit not in inside)):
        for bit in (bit for bit in range(LANE_BITS) if lane[bit]):
            turned = [*lane[:bit], lane[bit] ^ register[other], *lane[bit + 1:]]
            candidate, width, left = moved(distributed(layout.shape, register, turned, warp), Turn(bit, other))
            alike = (candidate.plan is None) == (found.plan is None) and (width == vector or other in pair)
            if alike and not left:
                return candidate
    return found


@lru_cache(maxsize=512)
def matrix_rows(vectors: Layout, fragment: Layout, element_bytes: int, lowest: bool = False) -> Layout | None:
    """The layout in which a warp addresses `fragment` as matrices with the 16-byte vectors of `vectors` as rows, its
    registers in the order in which a row holds them; None where they are no rows of such matrices.

    A matrix is a 4-byte word of every lane: its register bits are those that lie in a vector, or where none does or
    with `lowest` the lowest.
    """
    if element_bytes > WORD_BYTES:
        return None
    vector = parts(vectors)[0][: log2(ROW_BYTES // element_bytes)]
    register, lane, warp = parts(fragment)
    size = log2(WORD_BYTES // element_bytes)
    word = ([b for b in register if lowest or b in vector] or list(register))[:size]
    matrix = [*word, *lane]
    if len(vector) < log2(ROW_BYTES // element_bytes) or len(word) < size or 0 in lane:
        return None
    if any(b not in matrix for b in vector):
        return None
    inside = [b for b in matrix if b in vector]
    free = [b for b in register if b not in word]
    lanes = [*(b for b in matrix if b not in vector), *free[:2]]
    return distributed(fragment.shape, [*inside, *free[2:]], lanes, warp)


@lru_cache(maxsize=512)
def ring_layout(copy: Layout, readers: tuple[Layout, ...], element_bytes: int) -> Layout:
    """The layout of a ring's slot that `copy` writes, 16 bytes at once, and the first of `readers` reads.

    A reader may fetch 8 rows of 16 bytes for a whole warp (ldmatrix): then the swizzle must spread those rows over the
    banks, whichever thread gets the data. The same swizzle serves a warp that reads the 128 bytes as single words.
    """
    reader = readers[0]
    return swizzled_shared(copy, matrix_rows(copy, reader, element_bytes, lowest=True) or reader, element_bytes)


def widest_copy(shared: Layout, copy: Layout, global_vector: int, element_bytes: int) -> int:
    """Bytes of one asynchronous copy (4, 8 or 16), or 0 when threads hold too few neighbours."""
    width = min(global_vector, copy_vector(shared, copy, element_bytes)) * element_bytes
    return width if width in (4, 8, 16) else 0
