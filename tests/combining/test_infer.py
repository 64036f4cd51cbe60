"""`infer`: outputs of kernels, and their extents where a spec leaves them open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attention import attention
from batched_matmul import linear_gelu
from catalogue import gallery
from catalogue.case import Case
from fused_linear import linear_relu
from layer_norm import layer_norm
from split_k_matmul import partial_products
from vector_add import vector_add

import tilewright as tw


def spec(*shape: int | str, dtype: str = "f32") -> tw.Spec:
    return tw.spec(f"{dtype}[{','.join(map(str, shape))}]")


@pytest.mark.parametrize("kernel, grid, arguments, wanted", [
    (vector_add, 4, (spec(1000), spec(1000), spec("?"), 256), {"out": (1000,)}),
    (linear_relu, (4, 3), (spec(200, 312), spec(136, 312), spec(136), spec("?", "?", dtype="bf16"), 64, 64, 64),
     {"out": (200, 136)}),
    (linear_gelu, (2, 3, 2), (spec(2, 20, 24), spec(2, 40, 24), spec(40), spec("?", "?", "?"), 16, 16, 16),
     {"c": (2, 20, 40)}),
    (partial_products, (2, 2, 3), (spec(7, 12), spec(12, 6), spec("?", "?", "?"), 4, 4), {"parts": (3, 7, 6)}),
    (layer_norm, 64, (spec(64, 1000), spec(1000), spec(1000), spec("?", "?"), spec("?"), spec("?"), 1e-5, 256),
     {"out": (64, 1000), "mean": (64,), "rstd": (64,)}),
], ids=lambda value: getattr(value, "__name__", None))
def test_open_extents_are_those_of_what_is_read_beside(
    kernel: Any, grid: Any, arguments: Any, wanted: dict[str, tuple[int, ...]]
) -> None:
    found = tw.infer(kernel, grid, *arguments)
    assert {out.name: out.shape for out in found} == wanted
    assert not any(out.read for out in found)
    assert found[0].spec.extents == found[0].shape and found[0].spec.dtype is found[0].dtype


@pytest.mark.parametrize("case", [*gallery.cases()], ids=lambda case: case.name)
def test_outputs_of_the_gallery(case: Case) -> None:
    arguments = case.args()
    names = [p.name for p in case.kernel.specialiser.params]
    found = tw.infer(case.kernel, case.grid, *arguments)
    assert {names[k] for k in case.outputs} <= {out.name.split("[")[0] for out in found}
    shapes = {names[k]: a.shape for k, a in enumerate(arguments) if isinstance(a, np.ndarray)}
    assert all(out.shape == shapes[out.name] for out in found if out.name in shapes)


def test_what_is_added_to_is_read() -> None:
    @tw.tile_kernel
    def count(x, total):
        tw.atomic_add(total, 0, tw.sum(tw.load(x, tw.bid(0), 8)))

    [out] = tw.infer(count, 2, spec(16, dtype="i32"), spec(1, dtype="i32"))
    assert (out.name, out.shape, out.read) == ("total", (1,), True)


def test_without_a_counterpart_tiles_are_whole() -> None:
    @tw.tile_kernel
    def ramp(out):
        for j in range(3):
            tw.store(out, (tw.bid(0), j), tw.full((2, 4), 1.0, tw.float32))

    assert tw.infer(ramp, 5, spec("?", "?"))[0].shape == (10, 12)


def test_no_kernel() -> None:
    with pytest.raises(TypeError, match="infer: the kernel must be made with @tile_kernel, not int"):
        tw.infer(3, 1)  # type: ignore[arg-type]


def test_attention_through_lengths_is_refused() -> None:
    """Its rows begin where an array says."""
    q, starts = spec(58, 2, 16, dtype="f16"), spec(4, dtype="i32")
    with pytest.raises(tw.TileValueError, match=r"axis 0 of 'out' cannot be inferred: it is written through a view"):
        tw.infer(attention, (2, 2, 3), q, q, q, starts, spec("?", 2, 16, dtype="f16"), spec(2, 58), 0.25, 32, 16, 16)
