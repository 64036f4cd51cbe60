"""The engine: which blocks may share a chunk, argument errors, orders, threads, coverage of ops."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest
from support.interp_cases import assert_same, compile_function

import tilewright as tw
from tilewright.interp import ExecutionOptions, Program, blas, missing_handlers
from tilewright.interp.lowering import HANDLERS
from tilewright.tileir.core import OPS
from tilewright.tileir.diagnostics import Span, TileInternalError, TileTypeError
from tilewright.tileir.ops.arith import Add
from tilewright.tileir.parser import parse

# x[b + shift] = f(x[b]) through one array, or from another one
STEP = """
func @step(%x: array<?xf32, strides=?>, %y: array<?xf32, strides=?>) {{
  %b: i32 = block_id(axis=0)
  %shift: i32 = constant(value={shift}, type=tile<i32>)
  %to: i32 = add(lhs=%b, rhs=%shift)
  %t: tile<4xf32> = load(array=%x, index=(%b), shape=(4), steps=(4), order=(0))
  %one: tile<4xf32> = constant(value=0x1p+0, type=tile<4xf32>)
  %s: tile<4xf32> = add(lhs=%t, rhs=%one)
  store(array=%{target}, index=({index}), value=%s, steps=(4), order=(0))
  return()
}}
"""


def step(shift: int, target: str, index: str = "%to") -> Program:
    return compile_function(parse(STEP.format(shift=shift, target=target, index=index)))


def test_blocks_that_pass_values_on_run_one_after_another() -> None:
    program = step(1, "x")
    assert program.hazards.serial
    x = np.zeros(44, np.float32)
    program.run((10, 1, 1), [x, np.zeros(4, np.float32)])
    assert x[::4].tolist() == list(range(11))
    x[:] = 0
    program.run((10, 1, 1), [x, np.zeros(4, np.float32)], ExecutionOptions(mode="single", order="desc"))
    assert x[::4].tolist() == [0] + [1] * 10


@pytest.mark.parametrize("index", ["%b", "%to"])
def test_updates_in_place_stay_chunked_where_each_block_has_its_own_tile(index: str) -> None:
    program = step(0, "x", "%b")
    assert not program.hazards.serial and program.hazards.axes == {0}
    x = np.arange(38, dtype=np.float32)
    want = x + 1
    program.run((10, 1, 1), [x, x[:0]])
    assert_same(x, want)


def test_loads_from_written_memory_are_copies() -> None:
    text = """
func @swap(%x: array<?xf32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %t: tile<4xf32> = load(array=%x, index=(%b), shape=(4), steps=(4), order=(0))
  %d: tile<4xf32> = add(lhs=%t, rhs=%t)
  store(array=%x, index=(%b), value=%d, steps=(4), order=(0))
  %u: tile<4xf32> = load(array=%x, index=(%b), shape=(4), steps=(4), order=(0))
  %s: tile<4xf32> = add(lhs=%u, rhs=%t)
  store(array=%x, index=(%b), value=%s, steps=(4), order=(0))
  return()
}
"""
    program = compile_function(parse(text))
    for how in ("chunked", "single"):
        x = np.arange(23, dtype=np.float32)
        program.run((6, 1, 1), [x], ExecutionOptions(mode=how))
        assert x.tolist() == [3 * v for v in range(23)]


def test_arguments_that_overlap_run_as_one_array() -> None:
    program = step(1, "y")
    assert not program.hazards.serial
    memory = np.zeros(44, np.float32)
    program.run((10, 1, 1), [memory, memory])
    assert memory[::4].tolist() == list(range(11))


def test_a_grid_without_blocks_does_nothing() -> None:
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    for grid in ((0, 1, 1), (3, 0, 2)):
        step(0, "y").run(grid, [x, y])
    assert not y.any()


@pytest.mark.parametrize("grid", [(1, 1, 1), (64, 1, 1), (1, 64, 1), (1, 1, 64), (3, 5, 7), (2, 300, 2), (1000, 3, 1)])
def test_every_block_runs_once_in_every_mode(grid: tuple[int, int, int]) -> None:
    text = """
func @count(%out: array<?x?x?xi32, strides=?x?x?>) {
  %x: i32 = block_id(axis=0)
  %y: i32 = block_id(axis=1)
  %z: i32 = block_id(axis=2)
  %nx: i32 = num_blocks(axis=0)
  %ny: i32 = num_blocks(axis=1)
  %a: i32 = mul(lhs=%z, rhs=%ny)
  %c: i32 = add(lhs=%a, rhs=%y)
  %d: i32 = mul(lhs=%c, rhs=%nx)
  %n: i32 = add(lhs=%d, rhs=%x)
  %t: tile<1x1x1xi32> = reshape(src=%n, shape=(1, 1, 1))
  store(array=%out, index=(%x, %y, %z), value=%t, steps=(1, 1, 1), order=(0, 1, 2))
  return()
}
"""
    program = compile_function(parse(text))
    want = np.arange(np.prod(grid), dtype=np.int32).reshape(grid[::-1]).transpose(2, 1, 0)
    for options in ({}, {"mode": "single"}, {"order": "desc"}, {"order": 7}):
        out = np.full(grid, -1, np.int32)
        program.run(grid, [out], ExecutionOptions(**options))
        assert_same(out, want)


def test_wrong_arguments() -> None:
    program = step(0, "y")
    good = np.zeros(4, np.float32)
    wrong = (
        ([good], "takes 2 arguments, got 1"), ([good, good.astype(np.float64)], '"y" must hold float32'),
        ([good, good.reshape(2, 2)], '"y" must have rank 1'), ([good, 3.0], '"y" must be an array'),
    )
    for args, message in wrong:
        with pytest.raises(TileTypeError, match=message):
            program.run((1, 1, 1), args)
    with pytest.raises(ValueError, match="mode must be"):
        program.run((1, 1, 1), [good, good], ExecutionOptions(mode="fast"))
    with pytest.raises(ValueError, match="order must be"):
        program.run((1, 1, 1), [good, good], ExecutionOptions(order="sideways"))


def test_a_defect_names_the_op_and_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    function = parse(STEP.format(shift=0, target="y", index="%b"))
    span = Span("k.py", 7, 4, 7, 9)
    next(op for op in function.walk() if isinstance(op, Add) and op.lhs.type.shape).span = span
    broken = HANDLERS["add"]._replace(handler=lambda op, low: lambda a, b: 1 // 0)
    monkeypatch.setitem(HANDLERS, "add", broken)
    with pytest.raises(TileInternalError, match="add: ZeroDivisionError") as caught:
        compile_function(function).run((1, 1, 1), [np.zeros(4, np.float32)] * 2)
    assert caught.value.span is not None


def test_no_numpy_warning_leaves_a_run() -> None:
    text = """
func @warn(%x: array<?xf32, strides=?>, %i: array<?xi32, strides=?>) {
  %b: i32 = block_id(axis=0)
  %t: tile<4xf32> = load(array=%x, index=(%b), shape=(4), steps=(4), order=(0))
  %r: tile<4xf32> = div(lhs=%t, rhs=%t)
  %l: tile<4xf32> = log(src=%r)
  %c: tile<4xi32> = cast(src=%l, dtype=i32)
  %q: tile<4xi32> = floordiv(lhs=%c, rhs=%c)
  %n: tile<4xf8> = cast(src=%l, dtype=e4m3)
  %big: i32 = constant(value=2147483647, type=tile<i32>)
  %w: i32 = mul(lhs=%big, rhs=%big)
  %z: i32 = mod(lhs=%w, rhs=%b)
  store(array=%i, index=(%b), value=%q, steps=(4), order=(0))
  return()
}
""".replace("tile<4xf8>", "tile<4xe4m3>")
    program = compile_function(parse(text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for how in ("chunked", "single"):
            x = np.array([0, np.inf, np.nan, -1, 1e30], np.float32)
            program.run((3, 1, 1), [x, np.zeros(12, np.int32)], ExecutionOptions(mode=how))


def test_threads_share_a_program() -> None:
    program = step(0, "y", "%b")
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = np.random.default_rng(seed).standard_normal(4001).astype(np.float32)
            y = np.zeros_like(x)
            for _ in range(20):
                program.run((1001, 1, 1), [x, y])
                assert_same(y, x + np.float32(1))
        except BaseException as error:  # reported by the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_every_op_has_a_handler() -> None:
    import tilewright.backend_ptx.ops  # noqa: F401
    import tilewright.tileir.ops  # noqa: F401

    # Other tests declare ops of their own.
    ours = {name for name, cls in OPS.items() if cls.__module__.startswith("tilewright.")}
    assert not ours & set(missing_handlers())


def test_products_run_on_one_thread_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """In launches that overlap, too; after the last one there are as many as before, also if it fails."""
    threads = [4]
    monkeypatch.setattr(blas, "_controls", lambda: (lambda: threads[-1], threads.append))
    with blas.one_thread(), pytest.raises(KeyError), blas.one_thread():
        assert threads == [4, 1]
        raise KeyError
    assert threads == [4, 1, 4]

    @tw.tile_kernel
    def kernel(a, out):
        t = tw.load(a, (0, 0), (16, 16))
        tw.store(out, (0, 0), tw.mma(t, t, tw.zeros((16, 16), tw.float32)))

    a = np.eye(16, dtype=np.float32)
    kernel[1](a, np.zeros_like(a))
    assert threads == [4, 1, 4, 1, 4]


@pytest.mark.parametrize("distinct", [False, True])
def test_old_values_of_one_atomic_come_block_after_block(distinct: bool) -> None:
    """Where it is the only access to its array and each block executes it once, blocks still run side by side."""
    @tw.tile_kernel
    def kernel(at, counts, out):
        i = tw.bid(0)
        tw.store(out, (tw.bid(1), i), tw.atomic_add(counts, tw.load(at, i, 32), i + 1)[None, :])

    @tw.tile_kernel
    def twice(at, counts, out):
        i = tw.bid(0)
        for _ in range(2):
            tw.store(out, (tw.bid(1), i), tw.atomic_add(counts, tw.load(at, i, 32), i + 1)[None, :])

    at = np.arange(320, dtype=np.int32) if distinct else np.random.default_rng(0).integers(0, 40, 320).astype(np.int32)
    for function, serial in ((kernel, False), (twice, True)):
        results = []
        for mode in ("chunked", "single"):
            counts, out = np.zeros(320, np.int32), np.zeros((3, 320), np.int32)
            program = compile_function(function.lower(at, counts, out).tile_ir())
            assert program.hazards.serial == serial
            program.run((10, 3, 1), [at, counts, out], ExecutionOptions(mode=mode))
            results.append((counts, out))
        for one, other in zip(*results, strict=True):
            assert one.any() and (one == other).all()
