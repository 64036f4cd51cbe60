"""Loops of machine code give the bits of the closures: every op that has code, in every dtype, on all sorts of values;
programs of the fuzzer; what groups may and may not contain."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from fuzz.generate import generate
from fuzz.oracles import check
from support.interp_cases import array_type, assert_same, samples

import tilewright as tw
from tilewright.interp import compile_function
from tilewright.interp.formats import array_dtype
from tilewright.interp.jit import POLICY, elements, engine, halves, pieces, products
from tilewright.interp.jit import lowering as loops
from tilewright.interp.jit.emit import EMITTERS, holds
from tilewright.interp.jit.groups import Group, find_groups
from tilewright.tileir import dtypes as dt
from tilewright.tileir.builder import Builder
from tilewright.tileir.core import OPS, Block, Function, Op, Value
from tilewright.tileir.diagnostics import TileError
from tilewright.tileir.ops import arith, arrays, control, convert, math, memory
from tilewright.tileir.types import TileType

TILE, BLOCKS = 512, 8
N = TILE * BLOCKS
DTYPES = [d for d in dt.ALL if holds(d)]
CASTS = [d for d in DTYPES if d is not dt.tfloat32]
UNARY: dict[Any, Any] = {cls.opcode: cls for cls in OPS.values() if issubclass(cls, math.Unary | math.FloatTest)}
DOUBTFUL = ("exp", "exp2", "expm1", "log", "log2", "sin", "cos", "tanh", "sigmoid")


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("enabled", True), ("seconds", 0.0), ("work", 0), ("elements", 0)):
        monkeypatch.setattr(POLICY, name, value)


def ops_on(dtype: dt.DType, x: Value, y: Value, z: Value, cond: Value) -> Iterator[Callable[[], Op]]:
    """Every op that may have code, on operands of a dtype."""
    for cls in (arith.Add, arith.Sub, arith.Mul, arith.Div, arith.Min, arith.Max, arith.And, arith.Or, arith.Xor,
                arith.Shl, arith.Shr, arith.Eq, arith.Ne, arith.Lt, arith.Le, arith.Gt, arith.Ge):
        yield lambda cls=cls: cls(lhs=x, rhs=y)
    for cls in (arith.Min, arith.Max):
        yield lambda cls=cls: cls(lhs=x, rhs=y, propagate_nan=True)
    for name in EMITTERS:
        if name in UNARY and name not in DOUBTFUL:
            yield lambda name=name: UNARY[name](src=x)
    yield lambda: arith.Fma(a=x, b=y, c=z)
    yield lambda: arith.Select(cond=cond, lhs=x, rhs=y)
    for target in CASTS:
        yield lambda target=target: convert.Cast(src=x, dtype=target)
        yield lambda target=target: convert.Bitcast(src=x, dtype=target)


def all_ops(dtype: dt.DType) -> tuple[Function, list[dt.DType], list[str]]:
    """A kernel that loads three tiles and stores what every op makes of them; the dtypes and names of its outputs."""
    source = dt.float32 if dtype is dt.tfloat32 else dtype
    ins = [Value(array_type(source), name) for name in "xyz"]
    probe = Block(list(ins))
    made = _write(Builder(probe), dtype, ins)
    outs = [Value(array_type(v.type.dtype), f"out{k}") for k, v in enumerate(made)]
    body = Block([*ins, *outs])
    build = Builder(body)
    values = _write(build, dtype, ins)
    block = next(op.results[0] for op in body.ops if isinstance(op, arrays.BlockId))
    for array, value in zip(outs, values, strict=True):
        build.emit(memory.Store(array=array, index=(block,), value=value, steps=(TILE,), order=(0,)))
    build.emit(control.Return())
    names = [f"{v.op.opcode} to {v.type.dtype}" if v.op else "" for v in values]
    return Function("kernel", body), [v.type.dtype for v in values], names


def _write(build: Builder, dtype: dt.DType, ins: Sequence[Value]) -> list[Value]:
    block = build.value(arrays.BlockId(axis=0))
    x, y, z = (build.value(memory.Load(array=p, index=(block,), shape=(TILE,), steps=(TILE,), order=(0,))) for p in ins)
    if dtype is dt.tfloat32:
        x, y, z = (build.value(convert.Cast(src=v, dtype=dtype)) for v in (x, y, z))
    cond = build.value(arith.Eq(lhs=y, rhs=z))
    values = []
    for make in ops_on(dtype, x, y, z, cond):
        try:
            value = build.value(make())
        except (TileError, TypeError):
            continue
        if value.type.dtype is dt.tfloat32:
            value = build.value(convert.Cast(src=value, dtype=dt.float32))
        values.append(value)
    if dtype.is_int:
        eight = build.value(arith.Constant(value=8, type=TileType(dtype, (TILE,))))
        values += [build.value(cls(lhs=x, rhs=eight)) for cls in (arith.FloorDiv, arith.Mod, arith.Mul)]
    return values


def inputs(dtype: dt.DType) -> list[Any]:
    dtype = dt.float32 if dtype is dt.tfloat32 else dtype
    out = [samples(dtype, N, seed) for seed in range(3)]
    if dtype.is_float and dtype.bitwidth > 16:  # half of them where functions are neither 0 nor infinite
        for k, x in enumerate(out):
            x[::2] = (np.random.default_rng(k).standard_normal(N // 2) * 10.0 ** (k + 0.5)).astype(x.dtype)
    if dtype is dt.bfloat16:  # products and quotients below the normal range are the closures'
        out = [np.where(np.abs(x) < 2.0**-40, x.dtype.type(3), np.where(np.abs(x) > 2.0**40, x.dtype.type(np.inf), x))
               for x in out]
    return out


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What loops give from now on; None where an element was in doubt."""
    ran: list[Any] = []
    real = loops.FastLoop.__call__

    def call(*args: Any) -> Any:
        ran.append(real(*args))
        return ran[-1]

    monkeypatch.setattr(loops.FastLoop, "__call__", call)
    return ran


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op_gives_the_bits_of_the_closures(dtype: Any, always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    function, out_dtypes, names = all_ops(dtype)
    given = inputs(dtype)
    ran = watched(monkeypatch)
    results = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        outs = [np.zeros(N, array_dtype(d)) for d in out_dtypes]
        compile_function(function).run((BLOCKS, 1, 1), [*given, *outs])
        results.append(outs)
    assert len(names) > 20 and ran and None not in ran
    for name, want, got in zip(names, *results, strict=True):
        try:
            assert_same(got, want, *given[:2])
        except AssertionError as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize("dtype", [dt.float32, dt.float16, dt.bfloat16])
@pytest.mark.parametrize("name", DOUBTFUL)
def test_functions_alone(name: str, dtype: Any, always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in a loop of its own: where an element is in doubt, the closures compute all of a chunk."""
    ran = watched(monkeypatch)
    if dtype is dt.float32:
        x = np.concatenate([*inputs(dtype), *inputs(dt.float32)])
        x = x[(np.abs(x) < 2.0**20) | ~np.isfinite(x)] if name in ("sin", "cos") else x
        x = x[: len(x) // TILE * TILE]
    else:
        x = np.arange(1 << 16, dtype=np.uint16).view(array_dtype(dtype))
    both = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        out = np.zeros_like(x)
        compile_function(_one(UNARY[name], dtype)).run((len(x) // TILE, 1, 1), [x, out])
        both.append(out)
    assert_same(both[1], both[0], x)
    assert ran and None not in ran


def _one(cls: Any, dtype: dt.DType) -> Function:
    x, out = Value(array_type(dtype), "x"), Value(array_type(dtype), "out")
    body = Block([x, out])
    build = Builder(body)
    block = build.value(arrays.BlockId(axis=0))
    tile = build.value(memory.Load(array=x, index=(block,), shape=(TILE,), steps=(TILE,), order=(0,)))
    build.emit(memory.Store(array=out, index=(block,), value=build.value(cls(src=tile)), steps=(TILE,), order=(0,)))
    build.emit(control.Return())
    return Function("kernel", body)


@tw.tile_kernel
def waves(x, scale, out):
    i = tw.bid(0)
    tw.store(out, i, tw.sin(tw.load(x, i, 256)) * tw.load(scale, 0, 1))


@tw.tile_kernel
def two_waves(x, scale, out):
    i = tw.bid(0)
    wave = tw.sin(tw.load(x, i, 256)) * tw.load(scale, 0, 1)
    tw.store(out, i, wave + tw.sum(wave))


@pytest.mark.parametrize("kernel", [waves, two_waves])
@pytest.mark.parametrize("places", [(), (0,), (37 * 256 - 1,), (5000, 5300, 9000), tuple(range(0, 37 * 256, 100))])
def test_doubts_are_settled_in_pieces(
    kernel: Any, places: tuple[int, ...], always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closures compute small pieces around the elements of which a loop is in doubt: sin of large numbers."""
    monkeypatch.setattr(pieces, "PIECE", 512)
    x = np.random.default_rng(0).standard_normal(37 * 256).astype(np.float32)
    x[list(places)] = 1e9
    scale = np.full(1, 3.0, np.float32)
    exact: list[int] = []
    both = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        out = np.zeros_like(x)
        program = compile_function(kernel.lower(x, scale, out).tile_ir())
        program.run((37, 1, 1), [x, scale, out])
        if enabled:
            [variant] = program._variants.values()
            run = next(run for run in variant.lowering._runs if run._cut)  # type: ignore[attr-defined]
            closures = list(run._closures)
            source = run._sources[0]
            run._closures = [lambda regs, source=source: exact.append(regs[source].size), *closures]
            out[...] = 0
            program.run((37, 1, 1), [x, scale, out])
        both.append(out)
    assert_same(both[1], both[0])
    assert bool(exact) == bool(places) and all(size <= 512 for size in exact)
    assert sum(exact) <= 512 * len(places)


@tw.tile_kernel
def folded(x, sums, tops, lows, lost_to_nan, out, n: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (2, n)) * 0.5
    total, top, low = tw.sum(t, axis=1), tw.max(t, axis=1), tw.min(t, axis=1)
    lost = tw.max(-t, axis=1, propagate_nan=True)
    tw.store(sums, i, total)
    tw.store(tops, i, top)
    tw.store(lows, i, low)
    tw.store(lost_to_nan, i, lost)
    tw.store(out, (i, 0), t)


@pytest.mark.parametrize("n, dtype, special", [
    (8, dt.float64, False), (16, dt.float32, True), (128, dt.float32, False), (256, dt.float16, True),
    (256, dt.float32, False), (1024, dt.float64, True), (2048, dt.bfloat16, False), (4096, dt.float32, True),
])
def test_rows_are_folded_in_the_loop(
    n: int, dtype: Any, special: bool, always: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums have the bits of NumPy's, extremes the right zeros and NaNs."""
    rng = np.random.default_rng(n)
    x = (rng.standard_normal((40, n)) * 10.0 ** rng.integers(-3, 3, (40, n))).astype(array_dtype(dtype))
    if special:
        x[2], x[4], x[6, 3], x[8] = -0.0, np.where(np.arange(n) % 3 == 1, 0.0, -0.0), np.nan, np.nan
        x[11, -1], x[13, 0], x[15], x[17] = np.inf, -np.inf, -np.inf, np.where(np.arange(n) % 2, np.inf, -np.inf)
        x[19] = np.where(np.arange(n) == 5, -np.abs(x[19]), 0.0)
    ran: list[Any] = []
    real = loops.FastLoop.__init__
    monkeypatch.setattr(
        loops.FastLoop, "__init__", lambda *args: ran.append(args[7:]) or real(*args))  # type: ignore[func-returns-value]
    both = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        outs = [*(np.zeros(40, x.dtype) for _ in range(4)), np.zeros_like(x)]
        compile_function(folded.lower(x, *outs, n).tile_ir()).run((20, 1, 1), [x, *outs])
        both.append(outs)
    assert [len(folds) for *_, folds in filter(None, ran)] == [4]
    assert not special or np.signbit(both[0][0][2])
    for want, got in zip(*both, strict=True):
        assert_same(got, want)


@pytest.mark.parametrize("seed", range(100, 106))
def test_programs_of_the_fuzzer(seed: int, always: None) -> None:
    check(generate(seed), ["oracle", "single"])


def test_operands_of_any_strides(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Transposed, broadcast along rows and columns, from a matrix with a gap behind each row, cut by an edge."""
    @tw.tile_kernel
    def kernel(x, y, out):
        i, j = tw.bid(0), tw.bid(1)
        t, u = tw.load(x, (i, j), (8, 16)), tw.load(y, (j, i), (16, 8))
        s = t * tw.transpose(u) + tw.sum(t, axis=1, keepdims=True)
        tw.store(out, (i, j), tw.where(s > tw.sum(u, axis=1)[None, :], s * 2.0 + t, -s * t + 1.0))

    x = np.random.default_rng(0).standard_normal((40, 200)).astype(np.float32)[:, :150]
    y = np.random.default_rng(1).standard_normal((150, 40)).astype(np.float32)
    both = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        out = np.zeros((40, 150), np.float32)
        compile_function(kernel.lower(x, y, out).tile_ir()).run((5, 10, 1), [x, y, out])
        both.append(out)
    assert both[0].any()
    assert_same(both[1], both[0])


def test_a_group_runs_before_what_needs_it() -> None:
    @tw.tile_kernel
    def kernel(x, out):
        t = tw.load(x, tw.bid(0), 64)
        a = t * 2.0 + 1.0
        row = a.reshape((8, 8))
        b = tw.exp(a) + t
        tw.store(out, tw.bid(0), (row * row).reshape((64,)) + b)

    spec = tw.spec("f32[640]")
    body = kernel.lower(spec, spec).tile_ir().body
    order = find_groups(body.ops, lambda value: True)
    flat = [op for item in order for op in (item.ops if isinstance(item, Group) else [item])]
    assert sorted(map(id, flat)) == sorted(map(id, body.ops)) and any(isinstance(item, Group) for item in order)
    place = {op: k for k, op in enumerate(flat)}
    assert all(place[v.op] < place[op] for op in flat for v in op.operands if v.op is not None)


@tw.tile_kernel
def shrunk(x, y, out):
    """Products with work before and after their sums: of one tile in all three places, too; in a loop, too."""
    t, u = tw.load(x, (tw.bid(0), 0), (16, 16)), tw.load(y, (tw.bid(0), 0), (16, 16))
    acc = tw.mma(t, t, t) * 0.5
    scale = tw.exp(tw.mma(t, u, -acc) - tw.max(acc, axis=1, keepdims=True))
    for _ in range(3):
        acc = tw.mma(u, t, acc * scale)
    tw.store(out, (tw.bid(0), 0), tw.mma(tw.load(y, (0, 0), (16, 16)), u, acc) + scale)


@tw.tile_kernel
def plain_sum(x, y, out):
    t, u = tw.load(x, (tw.bid(0), 0), (16, 16)), tw.load(y, (tw.bid(0), 0), (16, 16))
    tw.store(out, (tw.bid(0), 0), tw.mma(t, u, t))


@pytest.mark.parametrize("kernel, dtype, split", [
    (shrunk, np.float32, True), (shrunk, np.float64, True), (plain_sum, np.float32, False)])
def test_sums_of_products_are_part_of_loops(
    kernel: Any, dtype: Any, split: bool, always: None, monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where others are: with the same bits, of zeros of both signs too."""
    rng = np.random.default_rng(0)
    x, y = ((rng.integers(-2, 3, (64, 16)) * 0.25 * rng.choice([-0.0, 1e-3, 1.0], (64, 16))).astype(dtype)
            for _ in range(2))
    made: list[Any] = []
    real = products.product_of_mma

    def product_of_mma(op: Any, low: Any) -> Any:
        made.append(op)
        return real(op, low)

    monkeypatch.setattr(products, "product_of_mma", product_of_mma)
    results = []
    for enabled in (False, True):
        monkeypatch.setattr(POLICY, "enabled", enabled)
        out = np.zeros((64, 16), dtype)
        compile_function(kernel.lower(x, y, out).tile_ir()).run((4, 1, 1), [x, y, out])
        results.append(out)
    assert bool(made) == split
    assert_same(results[1], results[0])


def test_a_cpu_without_the_instructions_has_no_loops(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llvmlite.binding.get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    for features, able in (({"f16c": True, "fma": True}, True), ({"f16c": False, "fma": True}, False), ({}, False)):
        monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda features=features: features)
        assert engine.usable.__wrapped__() == able
    monkeypatch.setattr(loops, "usable", lambda: False)
    ran = watched(monkeypatch)
    x = np.ones(TILE, np.float32)
    out = np.zeros_like(x)
    compile_function(_one(math.Exp, dt.float32)).run((1, 1, 1), [x, out])
    assert (out == np.float32(np.e)).all() and not ran


def test_small_work_loads_no_compiler() -> None:
    code = """
import sys, numpy as np, tilewright as tw
@tw.tile_kernel
def kernel(x, out):
    tw.store(out, tw.bid(0), tw.exp(tw.load(x, tw.bid(0), 64)) * 2.0)
x = np.ones(640, np.float32)
kernel[10](x, np.zeros_like(x))
assert "llvmlite" not in sys.modules
"""
    environment = {name: value for name, value in os.environ.items() if name != "TILEWRIGHT_JIT"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr


def test_halves_keep_their_bits(always: None) -> None:
    """All of float16, NaNs with their payload; numbers on and beside its ties, NaNs of float32."""
    codes = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        values = codes.view(np.float16).astype(np.float32)
        assert (halves.decode(codes.view(np.float16)).view(np.uint32) == values.view(np.uint32)).all()
        numbers = values.view(np.uint32)[:, None] + np.array([0, 1, 0xFFF, 0x1000, 0x1001], np.uint32)
        numbers = numbers.view(np.float32)
        assert (halves.encode(numbers).view(np.uint16) == numbers.astype(np.float16).view(np.uint16)).all()


def test_conversions_of_halves_without_the_instructions(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much there is to convert, and whatever a loop would cost: NumPy converts it."""
    monkeypatch.setattr(halves, "usable", lambda: False)
    asked: list[int] = []

    def by_numpy(x: Any) -> Any:
        asked.append(x.size)
        return x.astype(np.float32)

    types = np.dtype(np.float16), np.dtype(np.float32)
    slow = halves.Conversion(by_numpy, ("half", "float"), types, halves._widened)
    x = np.ones(1 << 12, np.float16)
    for _ in range(3):
        assert (slow(x) == 1).all()
    assert asked == [x.size] * 3


def test_no_loop_where_loops_are_off(always: None, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(1 << 12, dtype=np.int32)
    assert elements.counts_up(numbers) is True
    monkeypatch.setattr(POLICY, "enabled", False)
    assert elements.counts_up(numbers) is None
