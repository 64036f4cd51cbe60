"""mma_scaled on every kind of target: the form that was taken and why, what ptxas says, and the numbers.

Where operands and scales are small powers of two times small integers, every sum is exact, so that the interpreter, the
simulator and a GPU agree in all bits with float64.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tilewright as ct
from tilewright.backend_ptx.runtime.ptxas import assemble
from tilewright.backend_ptx.simulator import simulate
from tilewright.inspecting.decisions import decisions
from tilewright.interp.codes import value_table
from tilewright.tileir.dtypes import DType

Array = np.ndarray[Any, Any]
E4M3, E5M2, E2M1 = ct.float8_e4m3fn, ct.float8_e5m2, ct.float4_e2m1fn
E8M0, E5M3 = ct.float8_e8m0fnu, ct.float8_e5m3fnu


class Form(NamedTuple):
    """Dtypes of operands and scales, the elements of a scale, and the instruction of sm_120a that takes them."""

    kind: DType
    scale: DType
    block: int
    instruction: str | None

    def __str__(self) -> str:
        return f"{self.kind.ir}-{self.scale.ir}-{self.block}"


FORMS = (
    Form(E4M3, E8M0, 32, "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0"),
    Form(E5M2, E8M0, 32, "kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e5m2.e5m2.f32.ue8m0"),
    Form(E2M1, E8M0, 32, "kind::mxf4nvf4.block_scale.scale_vec::2X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue8m0"),
    Form(E2M1, E4M3, 16, "kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3"),
    Form(E2M1, E8M0, 16, None), Form(E2M1, E5M3, 16, None), Form(E2M1, E5M3, 32, None),
)
each_form = pytest.mark.parametrize("form", FORMS, ids=str)


@cache
def kernel_of(kind: DType, scale: DType) -> Any:
    """Operands are codes: bytes, or two codes in a byte along K. b and its scales are given by columns."""
    codes = 2 if kind is E2M1 else 1

    @ct.tile_kernel
    def product(a, sa, b, sb, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int],
                block: ct.Constant[int]):
        i, j, runs = ct.bid(0), ct.bid(1), tk // block
        acc = ct.load(c, (i, j), (tm, tn))
        for k in range(ct.num_tiles(a, 1, (tm, tk // codes))):
            x = ct.load(a, (i, k), (tm, tk // codes)).reshape((tm * tk // codes,))
            y = ct.load(b, (j, k), (tn, tk // codes)).reshape((tn * tk // codes,))
            u = ct.load(sa, (i, k), (tm, runs)).reshape((tm * runs,))
            v = ct.load(sb, (j, k), (tn, runs)).reshape((tn * runs,))
            x, y = ct.unpack_from_bytes(x, kind).reshape((tm, tk)), ct.unpack_from_bytes(y, kind).reshape((tn, tk))
            u, v = ct.unpack_from_bytes(u, scale), ct.unpack_from_bytes(v, scale)
            acc = ct.mma_scaled(x, u.reshape((tm, runs)), ct.transpose(y), ct.transpose(v.reshape((tn, runs))), acc)
        ct.store(c, (i, j), acc)

    return product


class Operands(NamedTuple):
    """Codes and the exact result."""

    arrays: list[Array]
    exact: Array


def values(codes: Array, dtype: DType) -> Array:
    return value_table(dtype)[codes].astype(np.float64)


def code_of(value: float, dtype: DType) -> int:
    return int(np.flatnonzero(value_table(dtype) == value)[0])


def operands(form: Form, m: int, n: int, k: int, seed: int, *, numbers: tuple[float, ...] = (-1.5, -1, 0, 1, 1.5, 2),
             scales: tuple[float, ...] = (0.5, 1, 2, 4)) -> Operands:
    rng = np.random.default_rng(seed)
    some, steps = (np.array([code_of(v, d) for v in vs], np.uint8)
                   for vs, d in ((numbers, form.kind), (scales, form.scale)))
    a, b = rng.choice(some, (m, k)), rng.choice(some, (n, k))
    sa, sb = rng.choice(steps, (m, k // form.block)), rng.choice(steps, (n, k // form.block))
    c = rng.integers(-4, 5, (m, n)).astype(np.float32)
    left, right = (values(x, form.kind) * np.repeat(values(s, form.scale), form.block, 1)
                   for x, s in ((a, sa), (b, sb)))
    packed = [x[:, ::2] | x[:, 1::2] << 4 if form.kind is E2M1 else x for x in (a, b)]
    return Operands([packed[0], sa, packed[1], sb, c], left @ right.T + c)


@each_form
@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_120a"])
def test_form_and_ptxas(form: Form, target: str) -> None:
    args = (*operands(form, 64, 64, 128, 0).arrays, 64, 64, 64, form.block)
    kernel = kernel_of(form.kind, form.scale)
    ptx = kernel.ptx(*args, target=target)
    assert assemble(ptx, target).spills == 0
    (said,) = (line for line in decisions(kernel, args, target) if line.startswith("scales:"))
    if target == "sm_120a" and form.instruction is not None:
        assert f"mma.sync.aligned.{form.instruction}" in ptx and "applied by the MMA" in said
    else:
        assert (".bf16.bf16" in ptx) and "fma.rn.f32" not in ptx
        exact = "exact (" if form.kind is E2M1 else "exact from 2**-133 on ("
        why = f"{target} has no mma.block_scale.{form.kind.ir}.{form.scale.ir}.{form.block})"
        assert f"multiplied into bfloat16 operands, {exact}" in said and said.endswith(why)


@pytest.mark.parametrize("target", ["sm_86", "sm_89", "sm_100a"])
def test_other_targets_have_the_form_of_sm_80(target: str) -> None:
    args = (*operands(FORMS[0], 64, 64, 128, 0).arrays, 64, 64, 64, 32)
    ptx = kernel_of(E4M3, E8M0).ptx(*args, target=target)
    assert "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32" in ptx
    assemble(ptx, target)


@pytest.mark.parametrize("sizes", [(8, 64, 64), (64, 4, 64), (64, 64, 32)], ids=lambda s: "x".join(map(str, s)))
def test_tiles_below_the_instruction_are_scaled_first(sizes: tuple[int, int, int]) -> None:
    """The last axis of K = 32 is below that of the four-bit instruction only."""
    form = FORMS[2]
    args = (*operands(form, 64, 64, 128, 0).arrays, *sizes, form.block)
    lines = decisions(kernel_of(form.kind, form.scale), args, "sm_120a")
    assert any("a tile below the m16n8k64 of mma.block_scale.e2m1.e8m0.32" in line for line in lines)


SHAPES = {"sm_80": (32, 16, 64), "sm_90a": (64, 32, 64), "sm_120a": (32, 32, 128)}


@each_form
@pytest.mark.parametrize("target", SHAPES)
def test_simulator_and_interpreter_are_exact(form: Form, target: str) -> None:
    tm, tn, tk = SHAPES[target]
    arrays, exact = operands(form, 2 * tm, tn, 2 * tk, 7)
    kernel = kernel_of(form.kind, form.scale)
    for run in (kernel[(2, 1)], lambda *args: simulate(kernel, (2, 1), args, target)):
        c = arrays[4].copy()
        run(*arrays[:4], c, tm, tn, tk, form.block)
        np.testing.assert_array_equal(c, exact)


@pytest.mark.parametrize("target", SHAPES)
def test_the_smallest_and_largest_scales(target: str) -> None:
    """Of float8_e8m0fnu. What bfloat16 does not reach is rounded where scales are multiplied into operands."""
    form, kernel = FORMS[0], kernel_of(E4M3, E8M0)
    tm, tn, tk = SHAPES[target]
    arrays, _ = operands(form, tm, tn, tk, 3)
    small, large = code_of(2.0**-9, E4M3), code_of(448.0, E4M3)
    arrays[0][...], arrays[0][1], arrays[2][...], arrays[4][...] = small, large, code_of(1.0, E4M3), 0
    arrays[1][...] = np.arange(tk // 32)[None, :] + code_of(2.0**-124, E8M0)  # 2**-124 times 2**-9 is 2**-133
    arrays[1][0] = 0  # 2**-127, and the product 2**-136
    arrays[3][...] = code_of(2.0**100, E8M0)
    wanted, got = arrays[4].copy(), arrays[4].copy()
    kernel[(1, 1)](*arrays[:4], wanted, tm, tn, tk, 32)
    simulate(kernel, (1, 1), (*arrays[:4], got, tm, tn, tk, 32), target)
    np.testing.assert_array_equal(got[1:], wanted[1:])
    assert (wanted[0] == tk * 2.0**-36).all()
    assert (got[0] == (wanted[0] if target == "sm_120a" else 0)).all()


@pytest.mark.parametrize("target", SHAPES)
def test_not_a_number_in_a_scale_reaches_its_row(target: str) -> None:
    form, kernel = FORMS[0], kernel_of(E4M3, E8M0)
    tm, tn, tk = SHAPES[target]
    arrays, exact = operands(form, tm, tn, tk, 5)
    arrays[1][3, -1] = 0xFF
    got = arrays[4].copy()
    simulate(kernel, (1, 1), (*arrays[:4], got, tm, tn, tk, 32), target)
    assert np.isnan(got[3]).all()
    np.testing.assert_array_equal(np.delete(got, 3, 0), np.delete(exact, 3, 0))


@ct.tile_kernel
def members(a, sa, b, sb, c):
    """Batch axes, of which that of b is broadcast; loaded as they are."""
    acc = ct.mma_scaled(ct.load(a, (0, 0, 0), (4, 32, 64)), ct.load(sa, (0, 0, 0), (4, 32, 2)),
                        ct.load(b, (0, 0, 0), (1, 64, 16)), ct.load(sb, (0, 0, 0), (1, 2, 16)),
                        ct.zeros((4, 32, 16), ct.float32))
    ct.store(c, (0, 0, 0), acc)


@pytest.mark.parametrize("target", SHAPES)
def test_batches(target: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, s).astype(ml_dtypes.float8_e4m3fn) for s in ((4, 32, 64), (1, 64, 16)))
    sa, sb = ((2.0 ** rng.integers(-2, 3, s)).astype(ml_dtypes.float8_e8m0fnu) for s in ((4, 32, 2), (1, 2, 16)))
    exact = (a.astype("f8") * np.repeat(sa.astype("f8"), 32, 2)) @ (b.astype("f8") * np.repeat(sb.astype("f8"), 32, 1))
    for run in (members[(1,)], lambda *args: simulate(members, (1,), args, target)):
        c = np.zeros(exact.shape, np.float32)
        run(a, sa, b, sb, c)
        np.testing.assert_array_equal(c, exact)


@pytest.mark.gpu
@each_form
@pytest.mark.parametrize("tile", [(128, 128, 128), (64, 64, 64), (32, 16, 64), (16, 128, 128)], ids=str)
def test_gpu(form: Form, tile: tuple[int, int, int]) -> None:
    """Exact where every sum is; with any codes within the bound of float32 sums."""
    tm, tn, tk = tile
    kernel, sizes = kernel_of(form.kind, form.scale), (2 * tm, tn, 8 * tk)
    for seed, exact_sums in ((1, True), (2, False)):
        arrays, exact = operands(form, *sizes, seed)
        if not exact_sums:
            rng = np.random.default_rng(seed)
            # Scales that no sum overflows with.
            finite = np.flatnonzero(np.abs(np.log2(np.abs(value_table(form.scale)) + 2.0**-99)) < 20).astype(np.uint8)
            table = value_table(form.kind)[:16 if form.kind is E2M1 else 256]
            some = np.flatnonzero(np.isfinite(table)).astype(np.uint8)
            wide = [rng.choice(some, s) for s in ((sizes[0], sizes[2]), (sizes[1], sizes[2]))]
            scales = [rng.choice(finite, (w.shape[0], sizes[2] // form.block)) for w in wide]
            left, right = (values(w, form.kind) * np.repeat(values(s, form.scale), form.block, 1)
                           for w, s in zip(wide, scales, strict=True))
            packed = [w[:, ::2] | w[:, 1::2] << 4 if form.kind is E2M1 else w for w in wide]
            arrays[:4] = [packed[0], scales[0], packed[1], scales[1]]
            exact = left @ right.T + arrays[4]
            bound = 2.0**-23 * sizes[2] * (np.abs(left) @ np.abs(right).T + np.abs(arrays[4]))
        given = [ct.to_device(x) for x in arrays]
        kernel[(2, 1)](*given, tm, tn, tk, form.block)
        got = given[4].to_host()
        if exact_sums:
            np.testing.assert_array_equal(got, exact)
        else:
            assert (np.abs(got - exact) <= bound).all()
