"""8-bit and tfloat32 operands that lie along the wrong axis for wgmma: threads read one of them into registers, and
turn the other, without bank conflicts."""

from __future__ import annotations

from itertools import product as product_of
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.layouts.bulk import bulk_layout
from tilewright.backend_ptx.layouts.matrices import movement
from tilewright.backend_ptx.layouts.shared import bank_conflicts
from tilewright.backend_ptx.layouts.turned import turning_layout
from tilewright.backend_ptx.layouts.warpgroup import in_order_of_sums
from tilewright.backend_ptx.simulator import simulate, simulate_lowered
from tilewright.estimating import Estimate, estimate
from tilewright.tileir.f2 import echelon
from tilewright.tileir.layouts.buffers import access_vector
from tilewright.tileir.layouts.flat import flat_bases

ZERO = tw.PaddingMode.ZERO


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize(("shape", "size", "vector"), [
    ((32, 128), 4, 4), ((32, 256), 4, 4), ((64, 128), 4, 4), ((128, 128), 1, 4), ((128, 256), 1, 4), ((256, 128), 1, 4),
])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0)])
def test_neither_side_has_conflicts(
    shape: tuple[int, int], size: int, vector: int, axes: tuple[int, int], warps: int,
) -> None:
    shape = shape if axes == (1, 0) else (shape[1], shape[0])
    source, target = (bulk_layout(shape, axis, size) for axis in axes)
    found = turning_layout(source, target, axes, size, warps)
    bases = [b for dim in ("register", "lane", "warp") for b in flat_bases(found, dim)]
    assert echelon(tuple(bases)).rank == len(bases) == (shape[0] * shape[1]).bit_length() - 1, "each element once"
    for shared in (source, target):
        assert bank_conflicts(shared, found, size) == 0
        assert access_vector(shared, found, size)[0] >= vector // size


@pytest.mark.parametrize("warps", [4, 8])
@pytest.mark.parametrize("shape", [(128, 128), (64, 32), (64, 256)])
def test_bytes_in_the_order_of_sums_go_by_matrices(shape: tuple[int, int], warps: int) -> None:
    source, target = bulk_layout(shape, 1, 1), in_order_of_sums(bulk_layout(shape, 0, 1), 0)
    found = turning_layout(source, target, (1, 0), 1, warps)
    bases = [b for dim in ("register", "lane", "warp") for b in flat_bases(found, dim)]
    assert echelon(tuple(bases)).rank == len(bases) == (shape[0] * shape[1]).bit_length() - 1, "each element once"
    for shared, trans in ((source, True), (target, False)):
        how = movement(shared, found, 1)
        assert how.plan is not None and how.plan.trans is trans
        assert bank_conflicts(shared, how.rows, 1) == 0


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int], kind: tw.Constant[tw.DType],
            fast: tw.Constant[bool]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), c.dtype)
    for k in range(tw.num_tiles(a, 1, (tm, tk))):
        x, y = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO), tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x.astype(kind), y.astype(kind), acc, use_fast_acc=fast)
    tw.store(c, (i, j), acc)


KINDS = {
    "tf32": (np.float32, tw.tfloat32, np.float32, 32),
    "e4m3": (ml_dtypes.float8_e4m3fn, tw.float8_e4m3fn, np.float32, 128),
    "e4m3 added": (ml_dtypes.float8_e4m3fn, tw.float8_e4m3fn, np.float32, 128),
    "int8": (np.int8, tw.int8, np.int32, 128),
}


def arguments(name: str, turned: str) -> tuple[Any, ...]:
    """Small integers, exact in every dtype; `turned`: which operands lie along m or n."""
    held, kind, sums, tk = KINDS[name]
    rng = np.random.default_rng(7)
    m, n, k = 64, 160, 144
    a, b = (rng.integers(-4, 5, shape).astype(held) for shape in ((m, k), (k, n)))
    a = a if "a" not in turned else np.ascontiguousarray(a.T).T
    b = b if "b" in turned else np.ascontiguousarray(b.T).T
    return a, b, np.zeros((m, n), sums), 64, 128, tk, kind, name == "e4m3"


@pytest.mark.parametrize(("name", "turned"), [
    *product_of(("tf32", "e4m3", "int8"), ("b", "ab")), ("e4m3", "a"), ("e4m3 added", "b")])
def test_products_are_right_and_without_conflicts(name: str, turned: str) -> None:
    args = arguments(name, turned)
    a, b, c = args[:3]
    simulate(product, (1, 2), args, "sm_90a", schedule="random", seed=3)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))
    found: Estimate = estimate(product, (1, 2), *args)
    assert found.machine is not None
    uses = found.machine.shared
    assert {use.what for use in uses} == {"load", "store"} and all(use.wavefronts == use.least for use in uses)
    assert (len(uses) > 2) == (turned == "ab"), "one operand is read, the other stays where TMA has put it"


@pytest.mark.parametrize(("tile", "turns"), [
    ((128, 128, 128), False), ((128, 128, 256), True), ((64, 256, 256), False)])
def test_warpgroups_take_turns_where_they_add_what_long_mmas_leave(tile: tuple[int, int, int], turns: bool) -> None:
    """And nothing takes longer: by 64x256x256 TMA would."""
    rng = np.random.default_rng(9)
    a, b = (rng.integers(-4, 5, shape).astype(ml_dtypes.float8_e4m3fn) for shape in ((128, 272), (272, 128)))
    args = a, b, np.zeros((128, 128), np.float32), *tile, tw.float8_e4m3fn, False
    code = product.lower(*args, target="sm_90a").lowered
    assert ("bar.arrive" in code.llvm_text) == turns
    if turns:
        simulate_lowered(code, (1, 1), product.lower(*args).values, schedule="random", seed=4)
        np.testing.assert_array_equal(args[2], a.astype(np.float64) @ b.astype(np.float64))
