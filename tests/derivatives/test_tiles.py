"""The gradient of changes of shape, reductions and scans, beside central differences; and every op has a rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from derivatives.table import ONE, TWO, case
from derivatives.tile_table import ALONG, TILES, of_tile
from support.gradcheck import ROUNDING, gradcheck, gradients

import tilewright as tw
from tilewright.tileir import derivatives, ops
from tilewright.tileir.core import OPS, Op
from tilewright.tileir.derivatives.activity import varied_values
from tilewright.tileir.derivatives.rules import ADJOINTS, REFUSED, constant

FAMILIES = [module.__name__ for module in map(ops.__dict__.get, ops.__all__) if module is not None]


@pytest.mark.parametrize("name", TILES)
def test_of_a_tile(name: str) -> None:
    """In arrays that fill the tile, that end within it, and of one element: what lies beyond has no part."""
    kernel, width = of_tile(name), TILES[name][1]
    for shape in ((3, 8), (3, 5), (1, 1)):
        x = np.random.default_rng(3).standard_normal(shape)
        gradcheck(kernel, (2,), {"x": x, "out": np.zeros((shape[0], width))}, ["x"])


@pytest.mark.parametrize("name", TILES)
def test_narrow_dtypes_beside_float64(name: str) -> None:
    """The error is some roundings of the largest gradient or element: sums and scans round at each step."""
    kernel, width = of_tile(name), TILES[name][1]
    random = np.random.default_rng(5)
    x, g = random.integers(-12, 13, (3, 8)) / 8, random.integers(-8, 9, (3, width)) / 8
    x += np.arange(24).reshape(3, 8) / 64  # no two are equal
    [exact] = gradients(kernel, (2,), {"x": x, "out": g}, ["x"], ["out"], [g])
    scale = max(float(np.abs(exact).max()), 1.0)
    for dtype, rounding in ROUNDING.items():
        given = {"x": x.astype(dtype), "out": g.astype(dtype)}
        [found] = gradients(kernel, (2,), given, ["x"], ["out"], [g.astype(dtype)], dtype)
        error = float(np.abs(found.astype(np.float64) - exact).max())
        assert error <= 32 * rounding * scale, (dtype, error / rounding / scale)


@pytest.mark.parametrize("reduce", [tw.sum, tw.max, tw.min, tw.prod], ids=lambda f: f.__name__)
def test_reductions_of_each_rank(reduce: Any) -> None:
    """Along the only axis, along two of three, along one of length 1, and along all."""

    @tw.tile_kernel
    def kernel(x, y, z, out, more, one, all_of_it):
        i = tw.bid(0)
        tw.store(out, i, reduce(tw.load(x, i, 4), 0))
        tile = tw.load(y, (i, 0, 0), (2, 2, 4), padding_mode=tw.PaddingMode.ZERO)
        tw.store(more, (i, 0), tw.reshape(reduce(tile, (0, 2)), (1, 2)))
        tw.store(one, (i, 0), reduce(tw.load(z, (i, 0, 0), (2, 1, 4)), 1))
        tw.store(all_of_it, i, reduce(tile))

    random = np.random.default_rng(8)
    x, y, z = (random.standard_normal(shape) for shape in ((8,), (3, 2, 3), (3, 1, 3)))
    outputs = {"out": np.zeros(2), "more": np.zeros((2, 2)), "one": np.zeros((3, 3)), "all_of_it": np.zeros(2)}
    gradcheck(kernel, (2,), {"x": x, "y": y, "z": z, **outputs}, ["x", "y", "z"], list(outputs))


@pytest.mark.parametrize("name", ALONG)
def test_each_axis_of_each_rank(name: str) -> None:
    """Of tiles of one axis and of each of three, in arrays that fill them, that end within them, and of one element."""
    for tile, shapes in (((8,), ((8,), (5,), (1,))), ((2, 2, 4), ((4, 2, 4), (3, 1, 3), (1, 1, 1)))):
        for axis in range(len(tile)):

            @tw.tile_kernel
            def kernel(x, out, tile: tw.Constant[Any], axis: tw.Constant[int]):
                at = (tw.bid(0), 0, 0)[: len(tile)]
                t = tw.load(x, at, tile, padding_mode=tw.PaddingMode.ZERO)
                tw.store(out, at, ALONG[name](t, axis))

            for shape in shapes:
                x = np.random.default_rng(3).standard_normal(shape)
                gradcheck(kernel, (2,), {"x": x, "out": np.zeros(shape), "tile": tile, "axis": axis}, ["x"])


@pytest.mark.parametrize("reduce, values, wanted", [
    (tw.max, [1.0, 3.0, 3.0, 0.0], [0.0, 0.5, 0.5, 0.0]), (tw.prod, [2.0, 3.0, 4.0, 1.0], [12.0, 8.0, 6.0, 24.0]),
    (tw.prod, [2.0, 0.0, 4.0, 1.0], [0.0, 8.0, 0.0, 0.0]), (tw.prod, [2.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0]),
])
def test_extremes_share_and_products_know_zeros(reduce: Any, values: list[float], wanted: list[float]) -> None:
    """Equal extremes share evenly, as in torch's amax; a product has the slopes of the others, also beside a zero."""

    @tw.tile_kernel
    def kernel(x, out):
        tw.store(out, 0, reduce(tw.load(x, 0, 4)))

    [found] = gradients(kernel, (1,), {"x": np.array(values), "out": np.zeros(1)}, ["x"], ["out"], [np.ones(1)])
    np.testing.assert_array_equal(found, wanted)


def test_every_op_has_a_rule_or_a_reason() -> None:
    """An op that is forgotten here would be refused without a word about what to do."""
    tile_ops = [op for op in OPS.values() if op.__module__ in FAMILIES]
    missing = set(ADJOINTS.missing(tile_ops))
    without_result = {op.opcode for op in tile_ops if op._io}
    assert missing - without_result == set(REFUSED), "write a rule in tileir/derivatives/, or a reason in refused.py"
    assert derivatives.gradient is not None and not set(REFUSED) - set(OPS)


def test_the_tables_meet_every_rule() -> None:
    """Each op with a rule that hands something on is differentiated by some row (those of memory and control flow: in
    test_control.py)."""
    rules = {op for op in OPS.values() if op.__module__ in FAMILIES and ADJOINTS.of_class(op) not in (None, constant)}
    met: set[type[Op]] = set()
    for name in (*ONE, *TWO):
        kernel, arguments, *_ = case(name)
        met |= varied_ops(kernel, arguments)
    for name, (_, width) in TILES.items():
        met |= varied_ops(of_tile(name), {"x": np.zeros((3, 8)), "out": np.zeros((3, width))})
    assert {op.opcode for op in rules - met} == {"for", "if", "gather", "scatter", "store", "atomic_rmw"}


def varied_ops(kernel: tw.tile_kernel, arguments: dict[str, Any]) -> set[type[Op]]:
    function = kernel.lower(*arguments.values()).tile_ir()
    varied = varied_values(function, frozenset(function.params))
    return {type(op) for op in function.walk() if any(result in varied for result in op.results)}


def test_sorted_bits_are_refused_with_advice() -> None:
    @tw.tile_kernel
    def kernel(x, out):
        tw.store(out, 0, tw.sort(tw.load(x, 0, 8)))

    spec = tw.spec("f32[8]")
    with pytest.raises(tw.TileUnsupportedFeatureError, match="the bits of a float are no number") as error:
        tw.grad(kernel, wrt="x", outputs="out").ir(*[spec] * 4)
    assert "argsort(x, axis)" in str(error.value) and "tw.sort(tw.load(x, 0, 8))" in str(error.value)
