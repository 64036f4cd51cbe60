"""Tiles that are only used transposed: which are computed transposed, and that gradients are the same."""

from __future__ import annotations

import numpy as np
import pytest
from support.differentiable import attention

import tilewright as tw
from tilewright.tileir.core import Function
from tilewright.tileir.derivatives.turned import turn_tiles
from tilewright.tileir.ops.matmul import Mma
from tilewright.tileir.ops.memory import Load
from tilewright.tileir.ops.shape import Permute
from tilewright.tileir.passes import run_pipeline
from tilewright.tileir.verifier import verify


@tw.tile_kernel
def turned(a, b, c, row, out, again):
    """Every use of p is transposed."""
    t = tw.mma(tw.load(a, (0, 0), (16, 8)), tw.load(b, (0, 0), (8, 4)), tw.zeros((16, 4), tw.float32))
    p = tw.exp(tw.where(t > 1.0, t, t * 2.0) - tw.load(row, 0, 16)[:, None])
    tw.store(out, (0, 0), tw.mma(tw.transpose(p), tw.load(c, (0, 0), (16, 4)), tw.zeros((4, 4), tw.float32)))


@tw.tile_kernel
def kept(a, b, c, row, out, again):
    """One use of p is not."""
    t = tw.mma(tw.load(a, (0, 0), (16, 8)), tw.load(b, (0, 0), (8, 4)), tw.zeros((16, 4), tw.float32))
    p = tw.exp(t - tw.load(row, 0, 16)[:, None])
    tw.store(out, (0, 0), tw.mma(tw.transpose(p), tw.load(c, (0, 0), (16, 4)), tw.zeros((4, 4), tw.float32)))
    tw.store(again, (0, 0), p)


@tw.tile_kernel
def loaded(a, b, c, row, out, again):
    """What is added comes from memory as it is, and would have to be transposed."""
    t = tw.mma(tw.load(a, (0, 0), (16, 8)), tw.load(b, (0, 0), (8, 4)), tw.zeros((16, 4), tw.float32))
    p = t + tw.load(c, (0, 0), (16, 4))
    tw.store(out, (0, 0), tw.mma(tw.transpose(p), tw.load(c, (0, 0), (16, 4)), tw.zeros((4, 4), tw.float32)))


SHAPES = {"a": (16, 8), "b": (8, 4), "c": (16, 4), "row": (16,), "out": (4, 4), "again": (16, 4)}


def function_of(kernel: tw.tile_kernel) -> Function:
    made = kernel.lower(*(tw.spec(f"f32{list(s)}".replace(" ", "")) for s in SHAPES.values())).tile_ir()
    run_pipeline(made)
    return made


@pytest.mark.parametrize("kernel, there", [(turned, True), (kept, False), (loaded, False)])
def test_what_is_only_used_transposed_is_computed_so(kernel: tw.tile_kernel, there: bool) -> None:
    function = function_of(kernel)
    assert turn_tiles(function) is there
    run_pipeline(function)
    verify(function)
    shapes = [op.result.type.shape for op in function.walk() if isinstance(op, Mma)]
    assert shapes == ([(4, 16), (4, 4)] if there else [(16, 4), (4, 4)])
    # Only what is loaded is transposed then.
    assert all(isinstance(op.src.op, Load) for op in function.walk() if isinstance(op, Permute)) is there
    random = np.random.default_rng(3)
    given = {name: random.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    made, want = ({name: array.copy() for name, array in given.items()} for _ in range(2))
    tw.kernel_from_ir(function)[1](*made.values())
    kernel[1](*want.values())
    for name in ("out", "again"):
        np.testing.assert_allclose(made[name], want[name], rtol=1e-5)


def test_gradients_of_keys_keep_weights_where_they_are_multiplied() -> None:
    """Scores and weights have keys as rows, as both products want them: tiles of rows are transposed, no weights."""
    x = tw.spec("f32[?,32]")
    backward = tw.grad(attention, wrt=("k", "v"), outputs="out", by_tiles=True)
    function = backward.lower(x, x, x, x, 0.35, 32, True, x, x, x, (3,), target="sm_90a").tile_ir()
    transposed = [op.src for op in function.walk() if isinstance(op, Permute)]
    assert transposed and all(value.type.shape == (4, 32) for value in transposed)
