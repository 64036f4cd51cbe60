"""Kernels as users write them; type checkers must find nothing wrong in this file."""

import io
from dataclasses import dataclass
from typing import Any, assert_type

import numpy as np

import tilewright as ct
from tilewright.compilation import (
    ArrayConstraint,
    CallingConvention,
    KernelSignature,
    demangle_kernel_name,
    export_kernel,
)


@dataclass(frozen=True)
class Scale:
    """A pair of constants that helpers take as one value."""

    factor: float
    offset: float


@ct.tile_kernel
def add(x: ct.Array, y: ct.Array, z: ct.Array) -> None:
    i = ct.bid(0)
    a = ct.load(x, (i,), (256,))
    b = ct.load(y, i, 256)
    ct.store(z, (i,), a + 2.0 * b)


@ct.kernel(occupancy=2, num_ctas=ct.ByTarget(default=1, sm_100=2))
def softmax(x: ct.Array, out: ct.Array, COLS: ct.Constant[int]) -> None:
    row = ct.load(x, (ct.bid(0), 0), (1, COLS), padding_mode=ct.PaddingMode.NEG_INF)
    top = ct.max(row, axis=1, keepdims=True)
    e = ct.exp(row - top)
    ct.store(out, (ct.bid(0), 0), ct.astype(e / ct.sum(e, 1, keepdims=True), out.dtype))


@ct.tile_kernel
def matmul(a: ct.Array, b: ct.Array, c: ct.Array, TM: ct.Constant[int], TK: ct.Constant[int]) -> None:
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((TM, TM), ct.float32)
    for k in range(ct.num_tiles(a, 1, (TM, TK))):
        p = ct.load(a, (i, k), (TM, TK), padding_mode=ct.PaddingMode.ZERO)
        q = ct.load(b, (k, j), (TK, TM), padding_mode=ct.PaddingMode.ZERO)
        acc = ct.mma(p, q, acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


def scaled(t: ct.Tile, s: Scale) -> ct.Tile:
    return t * s.factor + s.offset


@ct.tile_kernel
def clipped(x: ct.Array, out: ct.Array, low: float, n: int) -> None:
    t = scaled(ct.load(x, (ct.bid(0),), (64,)), Scale(2.0, 1.0))
    position = ct.arange(64, dtype=ct.int32) + ct.bid(0) * 64
    kept = ct.where((position < n) & (t > low), t, 0.0)
    if n > 3:
        kept = -kept
    ct.scatter(out, position, kept[:, None].reshape((64,)))
    ct.atomic_add(out, 0, 1.0)


@ct.function(host=True)
def twice(n: int) -> int:
    return 2 * n


@ct.tile_kernel
def tuned(x: ct.Array, y: ct.Array, N: ct.Constant[int]) -> None:
    ct.store(y, ct.bid(0), ct.load(x, ct.bid(0), N) + 1)


@ct.tile_kernel
def python_functions(x: ct.Array, out: ct.Array, n: int) -> None:
    """What Python's own functions and operators give of tiles, to a type checker as in a kernel."""
    t, u = ct.load(x, ct.bid(0), 64), ct.load(x, ct.bid(0), 64)
    assert_type(abs(t), ct.Tile)
    assert_type(max(t, u), ct.Tile)
    assert_type(max(t, u).astype(ct.float16), ct.Tile)
    assert_type(round(t), ct.Tile)
    assert_type(pow(t, 2), ct.Tile)
    assert_type(1.0 / t + (t @ u) ** 2 - -t % 3, ct.Tile)
    assert_type((t < u) & ~(t >= 0.5), ct.Tile)
    assert_type(t[:, None], ct.Tile)
    assert_type(ct.cdiv(ct.bid(0), 3), ct.Tile)
    assert_type(ct.cdiv(3, ct.bid(0) + 1), ct.Tile)
    assert_type(ct.cdiv(n, 3), int)
    if ct.bid(0) < n:
        ct.store(out, ct.bid(0), min(t, 1.0))
        ct.store(out, ct.bid(0), max(0.0, t, u))


def best_of(x: Any, y: Any) -> int:
    """Tuning with types: the configurations are ints, so the best one is."""
    def arguments(n: int) -> tuple[Any, ...]:
        return x, y, n

    with ct.compiler_timeout(60):
        result: ct.tune.TuningResult[int] = ct.tune.exhaustive_search(
            [64, 256], None, lambda n: (ct.cdiv(1024, n),), tuned, arguments,
            lambda n: {"occupancy": ct.ByTarget(default=2, sm_90=4)}, quiet=True, single_run_timeout_sec=None)
    first: ct.tune.Measurement[int] = result.successes[0]
    assert first.mean_us > 0 and result.summary(top_k=3)
    assert not [f"{config}: {name}: {text}" for config, name, text in result.failures]
    return result.best.config


def exported() -> bytes:
    array = ArrayConstraint(
        ct.float32, 1, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(), may_alias_internally=False,
        stride_constant=[1], shape_divisible_by=16, base_addr_divisible_by=16)
    signature = KernelSignature([array, array, 256], CallingConvention.cutile_python_v1())
    out = io.BytesIO()
    [info] = export_kernel(tuned, [signature.with_symbol(None)], out, gpu_code="sm_80", output_format="ptx")
    name, again = demangle_kernel_name(info.symbol)
    assert name == "tuned" and again.parameters == signature.parameters and info.threads % 32 == 0
    return out.getvalue()


def main() -> None:
    x = np.ones(1024, np.float32)
    assert twice(best_of(x, np.zeros_like(x))) in (128, 512)
    assert b"tuned_Kt1" in exported()
    z = np.zeros_like(x)
    add[(4,)](x, x, z)
    ct.launch(0, (ct.cdiv(1024, 64),), clipped, (x, z, 0.5, 1024)) if ct.gpu_available() else None
    assert z.shape == x.shape
