"""Gradients of the examples' kernels add atomically only where blocks share elements, as indices and a run show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from derivatives.test_examples import RUNS, Run, name

import tilewright as tw
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.memory import Change, Memory, Region
from tilewright.launching.grid import make_grid
from tilewright.tileir.core import Function, Op
from tilewright.tileir.ops.atomics import AtomicRmw

ATOMIC = {
    "attention": "q k v", "linear_gelu": "a b bias", "gemv": "x", "gemm": "a b", "convolve": "image weight",
    "embed": "table", "fft64": "matrix twiddle", "linear_relu": "x w bias", "gather_rows": "table", "heat_step": "old",
    "layer_norm": "weight bias", "accelerate": "position mass", "persistent_matmul": "a b", "segmented_sum": "x",
    "sin_affine": "a b", "csr_times_vector": "values x", "split_k_atomic": "a b", "partial_products": "a b",
    "plain": "a b", "in_bands": "a b", "project": "x w", "fused_block": "x gamma beta w bias", "matmul": "a b",
    "expert_layer": "x weight share", "segmented_mask": "x", "linear": "x w b", "norm_relu": "gain shift",
    "persistent": "a b", "multiply": "a b", "multiply_add": "a b others", "key_gradients": "v grad delta",
    "query_gradients": "v grad delta",
}
"""The gradients of whose elements several blocks have a share, or of which only data say who has."""

BY_DATA, BY_BANDS = "only data say which elements a block loads", "tiles are taken in bands, whose lengths differ"
NOT_SHOWN = {
    "attention": ("q", BY_DATA), "segmented_sum": ("x", BY_DATA), "csr_times_vector": ("values", BY_DATA),
    "expert_layer": ("weight", BY_DATA), "segmented_mask": ("x", BY_DATA), "key_gradients": ("v", BY_DATA),
    "query_gradients": ("grad delta", BY_DATA), "persistent_matmul": ("a", BY_BANDS), "multiply": ("a", BY_BANDS),
    "multiply_add": ("a others", BY_BANDS),
}
"""Those whose elements no two blocks of the run here add to, and why the indices do not show it."""


class Sharing(Memory):
    """Of each array the blocks that have added to an element, and the arrays of which two blocks, or two lanes of one,
    have added to the same one."""

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], tuple[int, ...]] = {}
        self.shared: set[str] = set()

    def update(self, region: Region, change: Change, op: Op) -> Any:
        array, shape = region.array.name, region.shape
        offsets, inside = np.broadcast_to(region.offsets(), shape), np.broadcast_to(
            True if region.mask is None else region.mask, shape)
        for number, block in enumerate(map(tuple, region.block_ids)):
            at, here = (a[number] if region.varies else a for a in (offsets, inside))
            places = at[here].tolist()
            met = {self.blocks.setdefault((array, place), block) for place in places}
            if len(set(places)) < len(places) or met - {block}:
                self.shared.add(array)
        return super().update(region, change, op)


def derived(run: Run) -> tuple[Function, list[Any]]:
    """The gradient as Tile IR, and its arguments."""
    names = [p.name for p in run.kernel.specialiser.params]
    given, wrt, outputs = dict(zip(names, run.arguments, strict=True)), run.wrt.split(), run.outputs.split()
    backward = tw.grad(run.kernel, wrt=tuple(wrt), outputs=tuple(outputs), stored_once=tuple(run.stored_once.split()))
    arguments = (*run.arguments, *(given[n].copy() for n in (*outputs, *wrt)))
    numbers = {int: np.int32, float: np.float32}
    return backward.lower(*arguments).tile_ir(), [
        numbers.get(type(value), lambda array: array)(value)
        for value, p in zip(arguments, backward.specialiser.params, strict=True) if not p.constant]


@pytest.mark.parametrize("run", RUNS, ids=name)
def test_atomic_additions_only_where_blocks_share_elements(run: Run) -> None:
    """As the table says, and each of its arrays has elements that two blocks do add to, or a reason."""
    function, arguments = derived(run)
    written = [op.array for op in function.walk() if isinstance(op, AtomicRmw)]
    while any(array.op for array in written):
        written = [array.op.operands[0] if array.op else array for array in written]  # of slices, what they are of
    atomic = {f"{n}_grad" for n in ATOMIC.get(name(run), "").split()}
    assert {array.hint for array in written} == atomic
    sharing = Sharing()
    compile_function(function).run(make_grid(run.grid).size, arguments, ExecutionOptions(memory=sharing))
    alone = {f"{n}_grad" for n in NOT_SHOWN.get(name(run), ("", ""))[0].split()}
    assert atomic - sharing.shared == alone
