"""What the type rules of machine ops refuse, so that a dump that was changed by hand fails with words."""

from __future__ import annotations

import pytest

import tilewright.backend_ptx.ops  # noqa: F401  dumps hold its ops
from tilewright.tileir.diagnostics import TileInternalError, TileTypeError
from tilewright.tileir.parser import parse
from tilewright.tileir.verifier import verify

BUFFER = "%s: shared<4xf32> = shared_alloc(type=shared<4xf32>)\n  "
BARRIER = "%s: shared<i64> = shared_alloc(type=shared<i64>)\n  "
REFUSED = {
    "a tile as index": (
        BUFFER + "%y: tile<2xf32> = shared_load(buffer=%s, index=(%u), shape=(2))", "index of type tile<4xi32>"),
    "a float as index": (
        BUFFER + "%y: tile<2xf32> = shared_load(buffer=%s, index=(%x), shape=(2))", "index of type f32"),
    "a float as parity": (BARRIER + "mbarrier_wait(barriers=%s, parity=%x)", "mbarrier_wait: index of type f32"),
    "a buffer as what is stored": (
        BUFFER + "shared_store(buffer=%s, value=%s)", "shared<4xf32> does not fit shared<4xf32>"),
    "a float as slot": (BARRIER + "mbarrier_wait(barriers=%s, slot=%x, parity=%i)", "slot of type f32"),
}


@pytest.mark.parametrize("line, message", REFUSED.values(), ids=REFUSED)
def test_type_rules_refuse(line: str, message: str) -> None:
    with pytest.raises((TileTypeError, TileInternalError)) as caught:
        verify(parse(f"func @k(%x: f32, %i: i32, %u: tile<4xi32>) {{\n  {line}\n  return()\n}}\n"))
    assert message in caught.value.message
