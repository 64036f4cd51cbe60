"""Load before a loop of MMAs what is used behind it, a bias say, where a thread holds little of it. The rewriting is
that of `load_before_loops` of Tile IR."""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.backend_ptx.ops.matmul import is_outstanding
from tilewright.tileir.analysis.unit import Preserved
from tilewright.tileir.analysis.words import registers_of
from tilewright.tileir.passes import load_before_loops as loads

FEW = 2  # registers of a tile


def load_before_loops(c: Compilation) -> Preserved:
    """Needs layouts."""
    return loads.load_before_loops(c, is_outstanding, lambda tile: registers_of(tile) <= FEW)
