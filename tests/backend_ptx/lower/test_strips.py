"""Runs of element-wise ops in strips: those outside of an array are skipped, shared tiles are read in them."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from benchmarks import plain_kernels

import tilewright as tw
from tilewright.backend_ptx.lower import context
from tilewright.backend_ptx.resources.occupancy import spare_registers
from tilewright.backend_ptx.simulator import simulate


def in_both(kernel: Any, *args: Any, rows: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The arrays after the kernel has run in the simulator and in the interpreter."""
    first, second = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
    simulate(kernel, (rows,), tuple(first), "sm_90a")
    kernel[(rows,)](*second)
    return tuple([a for a in arrays if isinstance(a, np.ndarray)] for arrays in (first, second))  # type: ignore[return-value]


def rows_of(columns: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((2, columns)).astype(dtype)


@pytest.mark.parametrize(("kind", "columns"), [
    ("softmax", 5000), ("softmax", 4100), ("masked_softmax", 5000), ("layer_norm", 5000), ("rms_norm", 4099),
    ("masked_softmax", 6001), ("layer_norm", 7999)])
def test_padded_rows(kind: str, columns: int) -> None:
    x = rows_of(columns)
    weights = [row.copy() for row in rows_of(columns, seed=1)][:{"layer_norm": 2, "rms_norm": 1}.get(kind, 0)]
    eps = (1e-5,) if weights else ()
    kernel = getattr(plain_kernels, kind).replace_hints(num_worker_warps=4)
    got, want = in_both(kernel, x, *weights, np.zeros_like(x), *eps, 8192, rows=2)
    np.testing.assert_allclose(got[-1], want[-1], rtol=2e-6, atol=1e-6)


def test_odd_rows_in_a_loop() -> None:
    """Which no ring takes: their strips have two ways there, too, and weights are loaded in them."""
    x, weights = rows_of(3001), [row.copy() for row in rows_of(3001, seed=1)]
    got, want = in_both(plain_kernels.persistent_layer_norm, x, *weights, np.zeros_like(x), 1e-5, 4096, rows=1)
    np.testing.assert_allclose(got[-1], want[-1], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["softmax", "layer_norm", "rms_norm"])
def test_wide_tiles_are_computed_again_from_narrow_ones(kind: str) -> None:
    """By permutations of bytes, which ptxas does not recognise; the bits are those of the casts."""
    x = rows_of(5000, ml_dtypes.bfloat16)
    weights = [row.copy() for row in rows_of(5000, x.dtype, 1)][:{"layer_norm": 2, "rms_norm": 1}.get(kind, 0)]
    eps = (1e-5,) if weights else ()
    kernel = getattr(plain_kernels, kind)
    got, want = in_both(kernel, x, *weights, np.zeros_like(x), *eps, 8192, rows=2)
    np.testing.assert_allclose(got[-1].astype(float), want[-1].astype(float), rtol=2**-7, atol=1e-6)
    specs = [tw.spec(text) for text in ("bf16[64,5000]", *["bf16[5000]"] * len(weights), "bf16[64,5000]")]
    assert "prmt.b32" in kernel.ptx(*specs, *map(float, eps), 8192, target="sm_90a")


@pytest.mark.parametrize(("kind", "skipped"), [("softmax", 6), ("layer_norm", 6), ("rms_norm", 3), ("row_sum", 0)])
def test_strips_that_are_skipped(kind: str, skipped: int) -> None:
    """All but the first of four, of runs that cost enough."""
    rows, out = "f32[64,5000]", "f32[64]" if kind == "row_sum" else "f32[64,5000]"
    weights = ["f32[5000]"] * {"layer_norm": 2, "rms_norm": 1}.get(kind, 0)
    args = [tw.spec(text) for text in (rows, *weights, out, *(["f32"] if weights else []))]
    kernel = getattr(plain_kernels, kind).replace_hints(num_worker_warps=4)
    text = kernel.llvm(*args, 8192, target="sm_90a")
    assert sum(line.startswith("strip") for line in text.splitlines()) == skipped


@tw.tile_kernel(num_worker_warps=4)
def other_extent(x, limits, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.exp(tw.load(x, (i, 0), (1, width)))
    t = tw.where(tw.arange(width, dtype=tw.int32)[None, :] < limits.shape[0], tw.sqrt(t + 1.0) * 2.0 - t, 3.0)
    tw.store(out, i, tw.sum(t))


@tw.tile_kernel(num_worker_warps=4)
def by_column(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.exp(tw.load(x, (i, 0), (1, width))) + tw.arange(width, dtype=tw.int32)[None, :]
    tw.store(out, i, tw.sum(tw.sqrt(t)))


@pytest.mark.parametrize(("kernel", "extra"), [(other_extent, [np.zeros(6000, np.float32)]), (by_column, [])])
def test_paddings_that_differ_are_computed(kernel: Any, extra: list[np.ndarray]) -> None:
    """Beyond the columns of x, elements differ: a test that holds for some of them, or their numbers."""
    got, want = in_both(kernel, rows_of(3000), *extra, np.zeros(2, np.float32), 8192, rows=2)
    np.testing.assert_allclose(got[-1], want[-1], rtol=1e-5)


def llvm_of(kind: str, columns: int, width: int) -> str:
    weights = [f"bf16[{columns}]"] * {"layer_norm": 2}.get(kind, 0)
    args = [tw.spec(text) for text in (f"bf16[64,{columns}]", *weights, f"bf16[64,{columns}]")]
    return str(getattr(plain_kernels, kind).llvm(*args, *(1e-5 for _ in weights[:1]), width, target="sm_90a"))


@pytest.mark.parametrize(("columns", "dtype"), [(5000, np.float32), (4104, ml_dtypes.bfloat16), (8192, np.float32)])
def test_exponentials_outside_of_a_row_in_a_loop_are_skipped(columns: int, dtype: Any) -> None:
    """Though a ring brings the row, a test of columns says where it ends: of the second of two strips here."""
    x = rows_of(columns, dtype)
    got, want = in_both(plain_kernels.persistent_softmax, x, np.zeros_like(x), 8192, rows=1)
    np.testing.assert_allclose(got[-1].astype(np.float32), want[-1].astype(np.float32), rtol=2.0**-8, atol=1e-9)
    specs = [tw.spec(f"bf16[64,{columns}]")] * 2
    assert "outside" in plain_kernels.persistent_softmax.llvm(*specs, 8192, target="sm_90a")


def test_only_the_second_half_of_a_row_in_a_loop_is_tested() -> None:
    """Of four strips the last two, in two runs: maximum, and exponentials. Products cost less than branches."""
    specs = [tw.spec("bf16[64,12288]")] * 2
    text = str(plain_kernels.persistent_softmax.llvm(*specs, 16384, target="sm_90a"))
    assert len(re.findall(r"^outside\S*:", text, re.MULTILINE)) == 4


def test_threads_inside_move_single_elements_without_predicates() -> None:
    """And a test of columns is no value that is live from one run to the next."""
    text = llvm_of("layer_norm", 8001, 8192)
    free, predicated = text.count("store <1 x bfloat>"), text.count("st.global.b16")
    assert (free, predicated) == (64, 64)
    assert "phi i1" not in text
    assert llvm_of("layer_norm", 8000, 8192).count("st.global") == 8  # vectors with a predicate each


def test_single_elements_come_into_registers_of_their_own() -> None:
    """With a predicate and a padding: ptxas would merge a 16-bit register with the other half of its word."""
    args = [tw.spec(text) for text in ("bf16[64,8001]", "bf16[64,8001]")]
    ptx = plain_kernels.softmax.ptx(*args, 8192, target="sm_90a")
    assert len(re.findall(r"@%p\d+ ld\.global\.nc\.b16 %r\d+,", ptx)) == 64


def test_ctas_of_a_cluster_skip_what_is_outside_of_their_part() -> None:
    """Their columns count up from a multiple of their number."""
    wide, narrow = llvm_of("layer_norm", 50257, 65536), llvm_of("layer_norm", 5001, 8192)
    assert wide.count("outside") >= narrow.count("outside") > 0


def test_a_kernel_asks_once_for_its_spare_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many runs load weights."""
    asked: list[int] = []

    def counted(*given: Any) -> int:
        asked.append(spare_registers(*given))
        return asked[-1]

    monkeypatch.setattr(context, "spare_registers", counted)
    llvm_of("layer_norm", 65536, 65536)
    assert len(asked) == 1


@tw.tile_kernel(num_worker_warps=4)
def sums_of_some(x, out, width: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, width), padding_mode=tw.PaddingMode.ZERO)
    inside = tw.arange(width, dtype=tw.int32)[None, :] < x.shape[1] - 100
    sums = tw.cumsum(tw.where(inside, t, 1.0), axis=1)
    tw.store(out, (i, 0), tw.cumsum(tw.where(inside, sums, 2.0), axis=1))


def test_a_test_of_columns_is_made_again_for_a_single_op() -> None:
    x = rows_of(7001)
    got, want = in_both(sums_of_some, x, np.zeros_like(x), 8192, rows=2)
    np.testing.assert_allclose(got[-1], want[-1], rtol=1e-4, atol=1e-2)


@tw.tile_kernel(num_worker_warps=4)
def rounded_between(x, out, factor: float, width: tw.Constant[int], twice: tw.Constant[bool]):
    i = tw.bid(0)
    t = (tw.load(x, (i, 0), (1, width)) * factor).astype(tw.bfloat16)
    s = (t.astype(tw.float32) * factor).astype(tw.bfloat16)
    tw.store(out, (i, 0), s + t if twice else s)


SINGLE = re.compile(r"cvt\.rn\.bf16x2\.f32 %\w+, %\w+, 0f00000000")


def test_a_rounding_between_is_one_instruction() -> None:
    """Two elements at a time would be taken apart again; where others use what was rounded, they are."""
    x = rows_of(8192)
    x[0, :8] = [np.nan, np.inf, -np.inf, 2.0**-130, 3.39e38, -0.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8]
    got, want = in_both(rounded_between, x, np.zeros(x.shape, ml_dtypes.bfloat16), 1.25, 8192, False, rows=2)
    assert np.array_equal(got[-1], want[-1], equal_nan=True)
    args = [*map(tw.spec, ("f32[64,8192]", "bf16[64,8192]", "f32")), 8192]
    assert len(SINGLE.findall(rounded_between.ptx(*args, False, target="sm_90a"))) == 64
    assert not SINGLE.search(rounded_between.ptx(*args, True, target="sm_90a"))


@tw.tile_kernel
def rounded_sums(a, b, bias, out):
    i, j, acc = tw.bid(0), tw.bid(1), tw.zeros((128, 128), tw.float32)
    for k in range(tw.num_tiles(a, 1, (128, 64))):
        acc = tw.mma(tw.load(a, (i, k), (128, 64)), tw.load(b, (k, j), (64, 128)), acc)
    t = acc.astype(tw.bfloat16).astype(tw.float32) + tw.load(bias, j, 128).astype(tw.float32)
    tw.store(out, (i, j), t.astype(tw.bfloat16))


def test_sums_of_a_product_wait_for_their_rounding() -> None:
    """They are in registers, however many: the barrier in front of the bias keeps nothing narrow."""
    a, b, bias, out = (np.zeros(n, ml_dtypes.bfloat16) for n in ((256, 256), (256, 256), (256,), (256, 256)))
    text = rounded_sums.ptx(a, b, bias, out, target="sm_90a")
    assert len(SINGLE.findall(text)) == 128 and text.count("cvt.rn.bf16x2.f32") == 192
