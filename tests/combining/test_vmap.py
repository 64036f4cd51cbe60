"""`vmap` against a loop of launches, bitwise, over the gallery's kernels and what their arguments may be."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
from catalogue import gallery
from catalogue.case import Case, bits
from layer_norm import layer_norm
from softmax import softmax
from vector_add import vector_add

import tilewright as tw
from tilewright.tileir.parser import parse
from tilewright.tileir.printer import to_text

NO_KERNEL: Any = 3
NO_AXIS: Any = 1.5
Rows = Annotated[tw.Array, tw.ArrayAnnotation(static_shape_dims=(-1,))]


def stacked(one: Any, two: Any, axis: int) -> Any:
    """Two arguments as those of a batch of two."""
    if isinstance(one, list):
        return [stacked(a, b, axis) for a, b in zip(one, two, strict=True)]
    return np.stack([one, two], axis) if isinstance(one, np.ndarray) else one


def slices(value: Any, axis: int) -> list[Any]:
    if isinstance(value, list):
        return [a for item in value for a in slices(item, axis)]
    return [np.take(value, k, axis) for k in (0, 1)]


def in_the_order_of_a_loop(case: Case) -> list[Any]:
    runs = [case.args(seed) for seed in (0, 1)]
    for run in runs:
        case.kernel[case.grid](*run)
    return [a for k in case.outputs for a in slices(stacked(runs[0][k], runs[1][k], 0), 0)]


CASES = [*gallery.cases()]


@pytest.mark.parametrize("case, axis", [
    pytest.param(case, axis, id=f"{case.name}-{axis}") for k, case in enumerate(CASES) for axis in (0, 1)
    if axis == 0 or k % 3 == 0])
def test_the_gallery_in_batches(case: Case, axis: int) -> None:
    """Kernels over grids of one to three axes, with lists, views, loops and atomics: equal to a loop, bit by bit.

    All but sums of products: some BLAS adds the columns at the edges of a product in another order than those inside.
    """
    arguments = [stacked(one, two, axis) for one, two in zip(case.args(0), case.args(1), strict=True)]
    tw.vmap(case.kernel, axis)[(2, *case.grid)](*arguments)
    got = [a for k in case.outputs for a in slices(arguments[k], axis)]
    multiplies = " = mma(" in case.kernel.ir(*case.args(0))
    for one, two in zip(got, in_the_order_of_a_loop(case), strict=True):
        if multiplies and one.dtype.kind == "f":
            np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5)
        else:
            np.testing.assert_array_equal(bits(one), bits(two))


@pytest.mark.parametrize("case", CASES[::6], ids=lambda case: case.name)
def test_the_ir_parses_back_and_compiles(case: Case) -> None:
    arguments = [stacked(one, two, 0) for one, two in zip(case.args(0), case.args(1), strict=True)]
    kernel = tw.vmap(case.kernel)
    text = kernel.ir(*arguments)
    assert to_text(parse(text)) == text and text.startswith(f"func @{case.kernel.__name__}_batched(")
    assert ".target sm_90a" in kernel.ptx(*arguments, target="sm_90a")
    assert ".target sm_80" in kernel.linear(2).ptx(*arguments, target="sm_80")


def test_arguments_without_the_axis_are_read_where_they_are() -> None:
    x, y = np.arange(20, dtype=np.float32).reshape(2, 10), np.ones(10, np.float32)
    out = np.zeros_like(x)
    tw.vmap(vector_add, in_axes={"y": None})[(2, 3)](x, y, out, 4)
    np.testing.assert_array_equal(out, x + 1)
    tw.vmap(vector_add, in_axes=(1, None, 0, None))[(2, 3)](np.ascontiguousarray(x.T), y, out, 4)
    np.testing.assert_array_equal(out, x + 1)


def test_scalars_of_a_batch() -> None:
    @tw.tile_kernel
    def scale(x, factor, out):
        i = tw.bid(0)
        tw.store(out, i, tw.load(x, i, 4) * factor)

    x, factor, out = np.ones((3, 8), np.float32), np.array([1, 2, 3], np.float32), np.zeros((3, 8), np.float32)
    tw.vmap(scale, scalars="factor")[(3, 2)](x, factor, out)
    np.testing.assert_array_equal(out, np.repeat(factor, 8).reshape(3, 8))
    with pytest.raises(TypeError, match="'factor' must have one axis, with a scalar for each batch"):
        tw.vmap(scale, scalars="factor")[(3, 2)](x, x, out)
    with pytest.raises(TypeError, match="'factor' must be an array, with a scalar for each batch"):
        tw.vmap(scale, scalars="factor")[(3, 2)](x, 2.0, out)


def test_batches_of_batches_gradients_and_the_simulator() -> None:
    random = np.random.default_rng(4)
    x = random.standard_normal((2, 3, 5, 11)).astype(np.float32)
    out, want = np.zeros_like(x), np.zeros_like(x)
    tw.vmap(tw.vmap(softmax))[(2, 3, 5)](x, out, 16)
    for a in range(2):
        for b in range(3):
            softmax[(5,)](x[a, b], want[a, b], 16)
    np.testing.assert_array_equal(out, want)
    tw.vmap(softmax).simulate((3, 5), x[0], out[0], 16, target="sm_80")
    np.testing.assert_allclose(out[0], want[0], rtol=1e-5)
    g = random.standard_normal(x.shape).astype(np.float32)
    first, second = np.zeros_like(x), np.zeros_like(x)
    tw.vmap(tw.grad(softmax, wrt="x", outputs="out"))[(3, 5)](x[0], out[0], 16, g[0], first[0])
    tw.grad(tw.vmap(softmax), wrt="x", outputs="out")[(3, 5)](x[0], out[0], 16, g[0], second[0])
    assert first[0].any()
    np.testing.assert_array_equal(first, second)


def test_in_place_and_static_shapes() -> None:
    @tw.tile_kernel
    def double(x: Rows, out):
        width = tw.static_eval(x.shape[0])
        tw.store(out, tw.bid(0), tw.load(x, tw.bid(0), width) * 2)

    @tw.tile_kernel
    def negate(x, out):
        tw.store(out, 0, -tw.load(x, 0, 4))

    for axis in (0, 1):
        x = np.arange(12, dtype=np.int32).reshape((3, 4) if axis == 0 else (4, 3)).copy()
        want = x * 2
        tw.vmap(double, axis)[(3, 1)](x, x)
        np.testing.assert_array_equal(x, want)
    square = np.ones((4, 4), np.int32)
    with pytest.raises(tw.TileValueError, match="'x' and 'out' are one array, but their batch axes are 0 and 1"):
        tw.vmap(negate, in_axes={"out": 1})[(4, 1)](square, square)


@pytest.mark.parametrize("error, text, call", [
    (TypeError, "vmap: the kernel must be made with @tile_kernel, not int", lambda: tw.vmap(NO_KERNEL)),
    (ValueError, "vmap: kernel vector_add has no parameter 'z', only x, y, out, tile",
     lambda: tw.vmap(vector_add, in_axes={"z": 0})),
    (ValueError, "vmap: in_axes has 2 entries, but kernel vector_add has 4 parameters",
     lambda: tw.vmap(vector_add, in_axes=(0, 0))),
    (ValueError, "vmap: the axis of 'x' is -1; count axes from 0", lambda: tw.vmap(vector_add, -1)),
    (TypeError, "vmap: the axis of 'x' must be an int or None, not 1.5",
     lambda: tw.vmap(vector_add, in_axes={"x": NO_AXIS})),
    (ValueError, "arguments 'x' and 'y' have batches of 2 and 3",
     lambda: tw.vmap(vector_add)[(2, 1)](np.zeros((2, 4)), np.zeros((3, 4)), np.zeros((2, 4)), 4)),
    (ValueError, "argument 'weight' has 1 axis, so that axis 1 cannot be the batch's",
     lambda: tw.vmap(layer_norm, 1)[(2, 1)](*[np.zeros((2, 2, 4))] + [np.zeros(4)] * 5, 1e-5, 4)),
])
def test_refusals(error: Any, text: str, call: Any) -> None:
    with pytest.raises(error) as caught:
        call()
    assert text in str(caught.value)
