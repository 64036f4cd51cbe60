"""Matrix units: what their records promise, and that targets, ops and rules fit them."""

from __future__ import annotations

import pytest

import tilewright.backend_ptx.ops  # noqa: F401
from tilewright.backend_ptx.ops.matmul import Product
from tilewright.backend_ptx.ops.units import UNITS, MatrixUnit
from tilewright.backend_ptx.passes.matmul.select_instructions import SELECTIONS
from tilewright.backend_ptx.targets import TARGETS, Target
from tilewright.tileir.core import OPS
from tilewright.tileir.engines import REGISTERS, SHARED, THREADS, Issuer

PRODUCTS = [op for op in OPS.values() if issubclass(op, Product)]


@pytest.mark.parametrize("target", TARGETS.values(), ids=str)
def test_a_target_lists_units_that_exist_and_ends_with_one_that_computes_everything(target: Target) -> None:
    assert set(target.matrix_units) <= UNITS.keys() and set(target.matrix_units) <= SELECTIONS.keys()
    assert target.matrix_units[-1] == "fma"


@pytest.mark.parametrize("op", PRODUCTS, ids=[op.opcode for op in PRODUCTS])
def test_what_starts_an_engine_is_the_op_of_a_unit_that_waits(op: type[Product]) -> None:
    unit = op.unit
    assert unit.asynchronous == (unit.wait is not None) == (unit.engine is not THREADS)
    assert not unit.asynchronous or unit.engine.multiplies


def test_wgmma() -> None:
    unit = UNITS["wgmma"]
    assert unit.a_anywhere and unit.b == (SHARED,) and unit.accumulators is REGISTERS
    assert unit.engine.issuer is Issuer.WARPGROUP and (unit.warps, unit.rows, unit.columns) == (4, 64, 8)


def test_a_unit_with_accumulators_of_its_own_says_how_they_move() -> None:
    wgmma = UNITS["wgmma"]
    with pytest.raises(AssertionError, match="how do accumulators move"):
        MatrixUnit(
            "none", wgmma.engine, wgmma.depth, wgmma.layouts, wgmma.describe, wait=wgmma.wait, accumulators=SHARED)
    with pytest.raises(AssertionError, match="who waits for wgmma"):
        MatrixUnit("none", wgmma.engine, wgmma.depth, wgmma.layouts, wgmma.describe)
    assert "none" not in UNITS
