"""Where the elements of a ring's slot lie: asynchronous copies write 16 bytes at once, readers find no bank conflict.

A reader may fetch 8 rows of 16 bytes for a whole warp (ldmatrix): then the swizzle must spread those rows over the
banks, whichever thread gets the data. The same swizzle serves a warp that reads the 128 bytes as single words.
"""

from __future__ import annotations

from functools import lru_cache

from tilewright.backend_ptx.layouts.matrices import matrix_rows
from tilewright.backend_ptx.layouts.shared import copy_vector, swizzled_shared
from tilewright.tileir.layout import Layout


@lru_cache(maxsize=512)
def ring_layout(copy: Layout, readers: tuple[Layout, ...], element_bytes: int) -> Layout:
    """The layout of a slot that `copy` writes and the first of `readers` reads."""
    reader = readers[0]
    return swizzled_shared(copy, matrix_rows(copy, reader, element_bytes, lowest=True) or reader, element_bytes)


def widest_copy(shared: Layout, copy: Layout, global_vector: int, element_bytes: int) -> int:
    """Bytes of one asynchronous copy (4, 8 or 16), or 0 when threads hold too few neighbours."""
    width = min(global_vector, copy_vector(shared, copy, element_bytes)) * element_bytes
    return width if width in (4, 8, 16) else 0
