"""Products whose M, N or K is below the instruction's: on tensor cores, by every dtype and target that has them.

Each case assembles, gives what the interpreter gives, and its decisions name the instruction, or say why there is none.
Tests draw a sample; `make products` goes through all.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright.backend_ptx.runtime.ptxas import assemble, has_ptxas
from tilewright.backend_ptx.simulator import simulate
from tilewright.backend_ptx.targets import NEWEST_PTX, TARGETS
from tilewright.inspecting.decisions import decisions

THOROUGH = bool(os.environ.get("TILEWRIGHT_THOROUGH"))
# (operands, accumulator), and the instructions without the shape: of targets without 8-bit floats the second.
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
PAIRS: tuple[tuple[Any, Any, str], ...] = (
    (np.float16, np.float32, "f32.f16"), (np.float16, np.float16, "f16.f16"), (BF16, np.float32, "f32.bf16"),
    ("tf32", np.float32, "f32.tf32"), (np.int8, np.int32, "s32.s8.s8"), (np.uint8, np.int32, "s32.u8.u8"),
    (E4M3, np.float32, "f32.e4m3.e4m3"), (E5M2, np.float16, "f16.e5m2.e5m2"), (np.float64, np.float64, "f64.f64"),
)
SIZES = (1, 2, 4, 8, 16, 64)
SHAPES = [(batch, m, n, k) for batch, each in ((1, SIZES), (3, (1, 4, 16)))
          for m, n, k in itertools.product(each, repeat=3) if min(m, n, k) < 16]
SIMULATED = ("sm_80", "sm_90a")


class Case(NamedTuple):
    """`batch` products of m x k and k x n; with a batch of one the tiles have two axes."""

    pair: tuple[Any, Any, str]
    sizes: tuple[int, int, int, int]
    target: str

    def __str__(self) -> str:
        return f"{self.pair[2]}-{'x'.join(map(str, self.sizes))}-{self.target}"


def cases() -> Iterator[Case]:
    """All, or for each pair and target a few that differ from target to target."""
    pick = random.Random(1)
    for pair, target in itertools.product(PAIRS, TARGETS):
        for sizes in SHAPES if THOROUGH else pick.sample(SHAPES, 2):
            yield Case(pair, sizes, target)


@tw.tile_kernel
def product(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int], narrow: tw.Constant[bool]):
    x, y = tw.load(a, (0, 0), (m, k)), tw.load(b, (0, 0), (k, n))
    if narrow:
        x, y = x.astype(tw.tfloat32), y.astype(tw.tfloat32)
    tw.store(c, (0, 0), tw.mma(x, y, tw.load(c, (0, 0), (m, n))))


@tw.tile_kernel
def batched(a, b, c, m: tw.Constant[int], n: tw.Constant[int], k: tw.Constant[int], narrow: tw.Constant[bool]):
    x, y = tw.load(a, (0, 0, 0), (4, m, k)), tw.load(b, (0, 0, 0), (4, k, n))
    if narrow:
        x, y = x.astype(tw.tfloat32), y.astype(tw.tfloat32)
    tw.store(c, (0, 0, 0), tw.mma(x, y, tw.load(c, (0, 0, 0), (4, m, n))))


def arguments(case: Case) -> tuple[Any, tuple[Any, ...]]:
    """The kernel and its arguments: small integers, whose sums are exact everywhere, and one infinity, which may reach
    no more than its row."""
    rng = np.random.default_rng(7)
    batch, m, n, k = case.sizes
    dtype, acc, _ = case.pair
    narrow = dtype == "tf32"

    def numbers(dtype: Any, *shape: int) -> Any:
        low = 0 if dtype is np.uint8 else -3
        return rng.integers(low, 4, (batch, *shape) if batch > 1 else shape).astype(dtype)

    held = np.float32 if narrow else dtype
    a, b, c = numbers(held, m, k), numbers(held, k, n), numbers(acc, m, n)
    if np.dtype(held).kind not in "iu" and held is not E4M3:
        a.reshape(-1)[rng.integers(a.size)] = np.inf
    return batched if batch > 1 else product, (a, b, c, m, n, k, narrow)


@pytest.mark.parametrize("case", list(cases()), ids=str)
def test_every_shape(case: Case) -> None:
    kernel, args = arguments(case)
    told = decisions(kernel, args, case.target)
    [line] = [text for text in told if text.startswith("product: ")]
    if "multiply-adds" in line:  # of few elements and a short k
        assert case.sizes[3] <= 4
        [why] = [text for text in told if text.startswith("multiply_adds: ")]
        assert " by mma." in why
    else:
        assert line.startswith("product: mma.m")
        assert case.pair[2] in line or (".e" in case.pair[2] and f".{case.pair[2][:3]}.f16" in line)
    if has_ptxas():
        assemble(kernel.ptx(*args, target=case.target), case.target)
    if case.target in SIMULATED:
        host = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
        kernel[1](*host)
        simulate(kernel, 1, args, case.target)
        assert np.array_equal(args[2].astype(np.float64), host[2].astype(np.float64), equal_nan=True)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[2])
def test_the_newest_ptx_chooses_the_same_instruction(pair: tuple[Any, Any, str]) -> None:
    """A driver takes newer PTX than the floor that is compiled for without one: what is tested here runs there."""
    kernel, args = arguments(Case(pair, (1, 16, 8, 16), "sm_90a"))
    targets: list[Any] = [TARGETS["sm_90a"], TARGETS["sm_90a"].with_ptx(NEWEST_PTX)]
    chosen = [[text for text in decisions(kernel, args, target) if text.startswith("product: ")]
              for target in targets]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("target", [TARGETS["sm_89"].with_ptx(NEWEST_PTX), TARGETS["sm_120a"]], ids=str)
@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair[0] in (E4M3, E5M2)], ids=lambda pair: pair[2])
def test_targets_with_tensor_cores_for_float8(pair: tuple[Any, Any, str], target: Any) -> None:
    shapes = [sizes for sizes in SHAPES if sizes[3] > 4]  # of a shorter k multiply-adds may be faster
    for sizes in shapes if THOROUGH else random.Random(2).sample(shapes, 4):
        kernel, args = arguments(Case(pair, sizes, target.name))
        # Operands of a short k are exact as float16, whose instructions need no padding.
        expected = f"k32.{pair[2]}" if sizes[3] >= 32 else f"k{min(16, sizes[3])}.{pair[2][:3]}.f16"
        assert f"product: mma.m16n8{expected}" in "\n".join(decisions(kernel, args, target))
        host = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
        kernel[1](*host)
        simulate(kernel, 1, args, target)
        assert np.array_equal(args[2].astype(np.float64), host[2].astype(np.float64), equal_nan=True)


@pytest.mark.gpu
@pytest.mark.parametrize("case", [case for case in cases() if case.target == "sm_90a"], ids=str)
def test_every_shape_on_gpu(case: Case) -> None:
    kernel, args = arguments(case)
    there = [tw.to_device(x) if isinstance(x, np.ndarray) else x for x in args]
    kernel[1](*args)
    kernel[1](*there)
    assert np.array_equal(there[2].to_host().astype(np.float64), args[2].astype(np.float64), equal_nan=True)


def test_float32_says_why_it_uses_no_tensor_cores() -> None:
    told = decisions(product, (*(np.zeros((16, 16), np.float32) for _ in range(3)), 16, 16, 16, False), "sm_80")
    assert "multiply_adds: 16x16x16 (float32 operands, which tensor cores would round to tfloat32)" in told


@tw.tile_kernel
def decode(q, k, v, out, heads: tw.Constant[int], tn: tw.Constant[int], d: tw.Constant[int]):
    """Grouped heads of one sequence share its keys and values."""
    queries = tw.load(q, (tw.bid(0), 0, 0), (1, heads, d)).reshape((heads, d))
    largest, total = tw.full((heads, 1), -1e30, tw.float32), tw.zeros((heads, 1), tw.float32)
    acc = tw.zeros((heads, d), tw.float32)
    for j in range(tw.num_tiles(k, 1, (1, tn, d))):
        keys = tw.load(k, (tw.bid(0), j, 0), (1, tn, d)).reshape((tn, d))
        scores = queries @ tw.transpose(keys)
        now = tw.maximum(largest, tw.max(scores, axis=1, keepdims=True))
        weights, shrink = tw.exp(scores - now), tw.exp(largest - now)
        total = total * shrink + tw.sum(weights, axis=1, keepdims=True)
        values = tw.load(v, (tw.bid(0), j, 0), (1, tn, d)).reshape((tn, d))
        acc = tw.mma(weights.astype(q.dtype), values, acc * shrink)
        largest = now
    tw.store(out, (tw.bid(0), 0, 0), (acc / total).reshape((1, heads, d)))


def decode_arguments(heads: int, dtype: Any) -> tuple[tuple[Any, ...], Any]:
    """The arguments, and what float64 gives."""
    rng = np.random.default_rng(3)
    q, k, v = (rng.standard_normal((2, rows, 64)).astype(dtype) * dtype(0.5) for rows in (heads, 128, 128))
    wide = [x.astype(np.float64) for x in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(1, 2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (q, k, v, np.zeros(q.shape, np.float32), heads, 32, 64), weights / weights.sum(-1, keepdims=True) @ wide[2]


@pytest.mark.parametrize("heads", [1, 2, 4, 8])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
def test_decode_attention_uses_tensor_cores(target: str, heads: int) -> None:
    """Both products, with keys and values that stream through slots of shared memory."""
    dtype = BF16 if heads > 2 else np.float16
    args, want = decode_arguments(heads, dtype)
    told = decisions(decode, args, target)
    assert [text for text in told if text.startswith("product: mma.m16n8k16")] and "multiply-adds" not in str(told)
    assert any(text.startswith("pipeline: k and v in ") for text in told)
    if heads in (1, 8):
        simulate(decode, 2, args, target)
        assert np.abs(args[3] - want).max() <= 2e-2 * np.abs(want).max()


@pytest.mark.gpu
@pytest.mark.parametrize("heads", [1, 2, 4, 8])
def test_decode_attention_on_gpu(heads: int) -> None:
    args, want = decode_arguments(heads, BF16)
    there = [tw.to_device(x) if isinstance(x, np.ndarray) else x for x in args]
    decode[2](*there)
    assert np.abs(there[3].to_host() - want).max() <= 2e-2 * np.abs(want).max()
