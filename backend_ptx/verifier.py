"""Check machine IR between passes: what tileir's verifier checks, and what layouts, plan and buffers must agree on."""

from __future__ import annotations

from tilewright.backend_ptx.compilation import Compilation
from tilewright.tileir.verifier import verify


def verify_machine(c: Compilation) -> None:
    """TileInternalError for a function that is malformed at its stage of the pipeline."""
    verify(c.function)
