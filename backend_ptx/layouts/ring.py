"""Where the elements of a ring's slot lie: asynchronous copies write 16 bytes at once, readers find no bank conflict.

A reader may fetch 8 rows of 16 bytes for a whole warp (ldmatrix): then the swizzle must spread those rows over the
banks, whichever thread gets the data. The same swizzle serves a warp that reads the 128 bytes as single words.
"""

from __future__ import annotations

from functools import lru_cache

from tilewright.backend_ptx.layouts.flat import distributed, log2, parts
from tilewright.backend_ptx.layouts.shared import ROW_BYTES, VECTOR_BYTES, copy_vector, swizzled_shared
from tilewright.tileir.layout import Layout

WORD_BYTES = 4


@lru_cache(maxsize=512)
def ring_layout(copy: Layout, readers: tuple[Layout, ...], element_bytes: int) -> Layout:
    """The layout of a slot that `copy` writes and the first of `readers` reads."""
    reader = readers[0]
    return swizzled_shared(copy, row_reader(copy, reader, element_bytes) or reader, element_bytes)


@lru_cache(maxsize=512)
def row_reader(copy: Layout, reader: Layout, element_bytes: int) -> Layout | None:
    """The layout in which the lanes of a warp would address, as 16-byte rows, the 128-byte blocks that `reader` is made
    of; None when rows of those are not the vectors of `copy`.

    A block holds the elements in a 4-byte word of every lane of a warp, for 16 bits the 8x8 matrix of ldmatrix.
    """
    size = log2(VECTOR_BYTES // element_bytes) if element_bytes <= VECTOR_BYTES else 0
    vector = parts(copy)[0][:size]
    register, lane, warp = parts(reader)
    word = log2(max(1, WORD_BYTES // element_bytes))
    matrix = [*register[:word], *lane]
    if element_bytes > WORD_BYTES or len(vector) < size or any(b not in matrix for b in vector) or 0 in matrix:
        return None
    rows = [b for b in matrix if b not in vector]
    assert 1 << len(rows) == ROW_BYTES // VECTOR_BYTES
    others = register[word:]
    lanes = [*rows, *others[:2]]
    lanes += [0] * (len(lane) - len(lanes))
    return distributed(reader.shape, [*vector, *others[2:]], lanes, warp)


def widest_copy(shared: Layout, copy: Layout, global_vector: int, element_bytes: int) -> int:
    """Bytes of one asynchronous copy (4, 8 or 16), or 0 when threads hold too few neighbours."""
    width = min(global_vector, copy_vector(shared, copy, element_bytes)) * element_bytes
    return width if width in (4, 8, 16) else 0


