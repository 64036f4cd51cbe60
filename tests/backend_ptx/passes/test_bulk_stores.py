"""Pieces that leave by TMA: which stores do, in which boxes, where waits and meetings stand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matmul import matmul
from support.bulk_products import (
    BF16,
    E4M3,
    F32,
    PROGRAMS,
    TARGET,
    Program,
    added_product,
    announced_product,
    function_of,
    halved_product,
    hinted_product,
    mixed_product,
    passed,
    product,
    stores_of,
)
from support.decisions import told

from tilewright.backend_ptx.ops.bulk import TmaStore, TmaStoreWait
from tilewright.backend_ptx.ops.shared import Barrier, SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import ProxyFence
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.resources.shared import buffer_bytes
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.tileir.core import Block, Op
from tilewright.tileir.plan import Switches

# ---- how they wait --------------------------------------------------------------------------------------------------


def steps(block: Block) -> str:
    """The ops that matter here: w(ait), m(eeting), f(ence), s(tore to the array); loops and branches in brackets."""
    letters: dict[type[Op], str] = {TmaStoreWait: "w", Barrier: "m", ProxyFence: "f", TmaStore: "s"}
    out = ""
    for op in block.ops:
        inner = "".join(steps(b) for b in op.blocks)
        if letters.get(type(op)) or inner:
            out += letters.get(type(op), f"[{inner}]")
    return out


@pytest.mark.parametrize(("name", "expected"), [
    ("plain", "fmsfmsw"),
    ("four pieces", "fmsfmswmfmswmfmsw"),
    ("persistent", "[wmfmsfms]w"),  # the tile before is stored while this one is computed
    ("two arrays", "[wmfmsfms[wfmsfms]]w"),
])
def test_waits_and_meetings(name: str, expected: str) -> None:
    function = passed(PROGRAMS[name])
    assert steps(function.body) == expected
    assert {op.scope for op in function.walk() if isinstance(op, Barrier)} == {"warp"}


def test_a_piece_that_crosses_warps_meets_the_block() -> None:
    function = passed(PROGRAMS["turned"])
    assert {op.scope for op in function.walk() if isinstance(op, Barrier)} == {"block"}
    assert {(op.box, op.warps) for op in stores_of(function)} == {((64, 64), 1)}


def test_pieces_are_boxes_of_warps() -> None:
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["two warpgroups"]))} == {((16, 64), 8)}
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["float32"]))} == {((16, 32), 4)}
    assert {(op.box, op.warps) for op in stores_of(passed(PROGRAMS["float8"]))} == {((16, 128), 4)}


@pytest.mark.parametrize("name", ["persistent", "two arrays"])
def test_nothing_else_takes_a_buffer_that_is_still_read(name: str) -> None:
    """Copies of the round before read on while this round runs."""
    function = passed(PROGRAMS[name])
    mine = {op.buffer for op in stores_of(function)}
    ranges = [(op.offset, op.offset + buffer_bytes(op.type), op.result in mine)
              for op in function.walk() if isinstance(op, SharedAlloc)]
    for first, last, stored in ranges:
        assert not stored or sum(a < last and first < b for a, b, _ in ranges) == 1


# ---- which ----------------------------------------------------------------------------------------------------------

REFUSED = {
    "allow_tma=False": Program(hinted_product, (2, 2)),
    "the kernel accesses the array elsewhere": Program(added_product, (2, 2)),
    "the kernel accesses the array elsewhere); c by threads (allow_tma=False": Program(mixed_product, (2, 2)),
    "the kernel orders memory accesses": Program(announced_product, (2, 2), outputs=2),
    "the array is stored in different tiles": Program(halved_product, (2, 2), tile=(64, 256, 32)),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_refused(reason: str) -> None:
    function = passed(REFUSED[reason])
    assert not stores_of(function) and reason in told(function, "stores")


def test_rows_at_odd_places_are_stored_by_threads() -> None:
    program = Program(product, (2, 2))
    a, b, _ = program.arrays()
    function = function_of(program, [a, b, np.zeros((120, 251), BF16)])
    run_passes(function, TARGET)
    assert not stores_of(function)
    assert "not known to be a multiple of 16 bytes" in told(function, "stores")


def test_the_option_keeps_stores_from_tma() -> None:
    function = passed(PROGRAMS["plain"], switches=Switches(allow_tma_stores=False))
    assert not stores_of(function) and not told(function, "stores")


def test_operands_come_first() -> None:
    """A tile of 64 KiB on its way to other threads, and operands of 192 KiB: the buffers of pieces would not fit."""
    function = passed(replace(PROGRAMS["persistent"], tile=(128, 256, 256)))
    assert not stores_of(function) and "leave no shared memory" in told(function, "stores")
    assert function.plan.shared_bytes <= TARGET.shared_per_block


@pytest.mark.parametrize("dtype", [BF16, F32, E4M3])
@pytest.mark.parametrize("tile", [(128, 256, 64), (128, 128, 64), (64, 256, 64)])
def test_nothing_spills(tile: tuple[int, int, int], dtype: Any) -> None:
    a = np.zeros((1024, 1024), BF16)
    ptx = matmul.ptx(a, a.copy(), np.zeros((1024, 1024), dtype), *tile, target="sm_90a")
    assert "cp.async.bulk.tensor.2d.global.shared::cta" in ptx
    assembled = assemble(ptx, TARGET)
    assert assembled.spills == 0 and "serialized" not in assembled.log
