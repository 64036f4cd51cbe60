"""Which kernels loop over the blocks of a launch, and that they compute the same."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from catalogue import hopper

import tilewright as ct
from tilewright.backend_ptx.abi import Lowered
from tilewright.backend_ptx.lower import emit_function
from tilewright.backend_ptx.ops.shared import SharedAlloc
from tilewright.backend_ptx.ops.warpgroup import PassTurn, SkippedBlocks, TakeTurn
from tilewright.backend_ptx.passes.pressure import choose_warps
from tilewright.backend_ptx.pipeline import run_passes
from tilewright.backend_ptx.simulator import SimError, simulate_lowered
from tilewright.backend_ptx.simulator.entry import lower_function
from tilewright.backend_ptx.targets import get_target
from tilewright.interp import ExecutionOptions, compile_function
from tilewright.interp.lowering import HANDLERS, Entry
from tilewright.tileir.analysis.unit import Unit
from tilewright.tileir.core import Function
from tilewright.tileir.passes.walk_grid import walk_grid

TM, TN, TK = 64, 32, 32


def product(a: Any, b: Any, n: Any, i: Any, j: Any, last: Any) -> Any:
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(last):
        x, y = ct.load(a, (n, i, k), (1, TM, TK)), ct.load(b, (n, k, j), (1, TK, TN))
        acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), acc)
    return acc.reshape((1, TM, TN))


@ct.tile_kernel
def plain(a, b, c):
    i, j, n = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(c, (n, i, j), product(a, b, n, i, j, ct.num_tiles(a, 2, (1, TM, TK))))


@ct.tile_kernel
def batched(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int]):
    """The product itself has the axis of batches."""
    i, j, n = ct.bid(0), ct.bid(1), ct.bid(2)
    acc = ct.zeros((1, tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, 2, (1, tm, tk))):
        acc = ct.mma(ct.load(a, (n, i, k), (1, tm, tk)), ct.load(b, (n, k, j), (1, tk, tn)), acc)
    ct.store(c, (n, i, j), acc.astype(c.dtype))


@ct.tile_kernel
def rounded(a, b, c):
    acc = ct.zeros((TM, TN), ct.float32)
    for k in range(ct.num_tiles(a, 2, (1, TM, TK))):
        x = ct.load(a, (0, ct.bid(0), k), (1, TM, TK)).reshape((TM, TK)).astype(ct.tfloat32)
        y = ct.load(b, (0, k, ct.bid(1)), (1, TK, TN)).reshape((TK, TN)).astype(ct.tfloat32)
        acc = ct.mma(x, y, acc)
    ct.store(c, (0, ct.bid(0), ct.bid(1)), acc.reshape((1, TM, TN)))


@ct.tile_kernel
def nested(a, b, c):
    acc = ct.zeros((TM, TN), ct.float32)
    for n in range(a.shape[0]):
        for k in range(ct.num_tiles(a, 2, (1, TM, TK))):
            x, y = ct.load(a, (n, ct.bid(0), k), (1, TM, TK)), ct.load(b, (n, k, 0), (1, TK, TN))
            acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), acc)
    ct.store(c, (0, ct.bid(0), 0), acc.reshape((1, TM, TN)))


def product_of_rows(a: Any, b: Any, row: Any, tm: int, tn: int) -> Any:
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(b, 1, (1, TK, tn))):
        x = ct.gather(a, (0, row[:, None], k * TK + ct.arange(TK, dtype=ct.int32)[None, :]))
        acc = ct.mma(x, ct.load(b, (0, k, 0), (1, TK, tn)).reshape((TK, tn)), acc)
    return acc


@ct.tile_kernel
def gathered(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    row = a.shape[1] - 1 - ct.bid(0) * tm - ct.arange(tm, dtype=ct.int32)
    ct.scatter(c, (0, row[:, None], ct.arange(tn, dtype=ct.int32)[None, :]), product_of_rows(a, b, row, tm, tn))


@ct.tile_kernel
def gathered_alone(a, b, c, tm: ct.Constant[int], tn: ct.Constant[int]):
    row = a.shape[1] - 1 - ct.bid(0) * tm - ct.arange(tm, dtype=ct.int32)
    ct.store(c, (0, ct.bid(0), 0), product_of_rows(a, b, row, tm, tn).reshape((1, tm, tn)))


@ct.tile_kernel
def persistent(a, b, c):
    for i in range(ct.bid(0), ct.num_tiles(a, 1, (1, TM, TK)), ct.num_blocks(0)):
        ct.store(c, (0, i, 0), product(a, b, 0, i, 0, ct.num_tiles(a, 2, (1, TM, TK))))


@ct.tile_kernel
def triangular(a, b, c):
    i = ct.bid(0)
    ct.store(c, (0, i, 0), product(a, b, 0, i, 0, i + 1))


@ct.tile_kernel
def once(a, b, c):
    x, y = ct.load(a, (0, ct.bid(0), 0), (1, TM, TK)), ct.load(b, (0, 0, 0), (1, TK, TN))
    acc = ct.mma(x.reshape((TM, TK)), y.reshape((TK, TN)), ct.zeros((TM, TN), ct.float32))
    ct.store(c, (0, ct.bid(0), 0), acc.reshape((1, TM, TN)))


@ct.tile_kernel
def added(a, b, c):
    found = product(a, b, 0, ct.bid(0), 0, ct.num_tiles(a, 2, (1, TM, TK)))
    ct.atomic_add(c, (0, ct.bid(0), ct.arange(TN, dtype=ct.int32)), ct.sum(found.reshape((TM, TN)), axis=0))


def arrays(batch: int, m: int, n: int, k: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, (batch, *size)).astype(ml_dtypes.bfloat16) for size in ((m, k), (k, n)))
    return a, b, np.full((batch, m, n), np.nan, np.float32)


def function(kernel: Any, args: Any, target: str) -> Function:
    f: Function = kernel.lower(*args, target=target).tile_ir()
    f.switches = replace(f.switches, loop_over_blocks=True)
    return f


def machine(kernel: Any, args: Any) -> Function:
    f = function(kernel, args, "sm_90a")
    run_passes(f, get_target("sm_90a"))
    return f


def lowered(kernel: Any, args: Any, target: str = "sm_90a") -> Lowered:
    return lower_function(function(kernel, args, target), get_target(target))


@pytest.mark.parametrize(("grid", "k", "schedule"), [
    ((3, 2, 2), 80, "random"), ((2, 1, 1), 48, "inorder"), ((1, 1, 1), 16, "random")], ids=str)
def test_blocks_of_a_grid_are_iterations(grid: tuple[int, int, int], k: int, schedule: Any) -> None:
    """Two CTAs run all blocks, with one ring for all of them."""
    a, b, c = arrays(grid[2], TM * grid[0] - 5, TN * grid[1] - 16, k)
    made = lowered(plain, (a, b, c))
    assert made.looped and [p.kind for p in made.abi.params[-3:]] == ["grid"] * 3
    simulate_lowered(made, grid, (a, b, c), schedule=schedule, seed=sum(grid))
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_products_with_an_axis_of_batches() -> None:
    """MMAs stay outstanding between iterations, which carry a tile without that axis."""
    a, b, c = arrays(2, 2 * TM, TN, 80)
    args = a, b, c, TM, TN, TK
    made = lowered(batched, args)
    simulate_lowered(made, (2, 1, 2), args, schedule="random", seed=1)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    plan = machine(batched, (a, a, np.zeros((2, 128, 128), a.dtype), 128, 128, 64)).plan
    assert made.looped and (plan.warps, plan.teams) == (4, 2)


def test_products_in_loops_of_loops() -> None:
    a, b, c = arrays(2, 3 * TM, TN, 32)
    made = lowered(nested, (a, b, c))
    simulate_lowered(made, (3,), (a, b, c))
    assert made.looped
    np.testing.assert_array_equal(c[0], (a.astype(np.float32) @ b.astype(np.float32)).sum(axis=0))


def test_rows_that_threads_gather_and_scatter() -> None:
    """Beside tiles that TMA brings, where MMAs take longer than tiles to come, and threads scatter the product, too.
    Rows of the last block begin before the array does."""
    a, b, c = arrays(1, 3 * 128 - 8, 256, 2 * TK)
    made = lowered(gathered, (a, b, c, 128, 256))
    simulate_lowered(made, (3,), (a, b, c, 128, 256), schedule="random", seed=1)
    assert made.looped
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert not lowered(gathered, (a, b, c, 64, 256)).looped
    assert not lowered(gathered_alone, (a, b, c, 128, 256)).looped


@pytest.mark.parametrize("causal", [False, True])
def test_operands_that_are_computed_of_products(causal: bool) -> None:
    """Attention, where tensor cores take longer than the exponentials. Below a diagonal two CTAs take blocks of 5, 2
    and 1, and of 4 and 3 tiles."""
    case = hopper.attention_case("looped", causal, (64, 64 if causal else 32, 128), 64 * (4 if causal else 2) + 8)
    args = case.args()
    made = lowered(case.kernel, args)
    assert made.looped
    simulate_lowered(made, case.grid, args, schedule="random", seed=1)
    case.check(case.results(args), case.reference(*case.args()), "looped")


def test_where_exponentials_take_longer() -> None:
    case = hopper.attention_case("apart", True, (64, 32, 32), 3 * 64)
    assert not lowered(case.kernel, case.args()).looped


@ct.tile_kernel
def counted(x):
    place = ct.bid(0), ct.bid(1), ct.bid(2)
    ct.store(x, place, ct.load(x, place, (1, 1, 1)) + 1)


@pytest.mark.parametrize("size", [(1, 2, 1), (2, 3, 1), (5, 2, 2), (4, 1, 3), (7, 3, 2)], ids=str)
@pytest.mark.parametrize("most", [1, 3, 8])
def test_blocks_by_length(size: tuple[int, int, int], most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block is run once; launched ones differ by a long block at most."""
    count = min(most, prod(size))
    known = {"launched_blocks": count, "launched_block": 0}
    f = counted.lower(np.zeros(size, np.int32)).tile_ir()
    walk_grid(Unit(f), falling=True)

    def number(op: Any, low: Any) -> Any:
        found = known[op.opcode] if op.opcode in known else size[op.axis]
        return lambda: np.int32(found)

    for name in (*known, "num_blocks"):
        monkeypatch.setitem(HANDLERS, name, Entry(number, False))
    every, lengths = np.zeros(size, np.int32), []
    for known["launched_block"] in range(count):
        x = np.zeros(size, np.int32)
        compile_function(f).run((1, 1, 1), [x], ExecutionOptions(mode="single"))
        every += x
        lengths.append(int((x * np.arange(size[0], 0, -1)[:, None, None]).sum()))
    assert (every == 1).all() and max(lengths) - min(lengths) <= size[0]


@ct.tile_kernel
def weighed(a, b, c):
    """Rows are scaled by what is loaded at the start of a block."""
    x, share = ct.load(a, (0, ct.bid(0), 0), (1, TM, 128)).reshape((TM, 128)), ct.load(c, (0, ct.bid(0), 0), (1, TM, 1))
    acc = ct.zeros((TM, 128), ct.float32)
    for k in range(ct.num_tiles(b, 1, (1, TN, 128))):
        y = ct.load(b, (0, k, 0), (1, TN, 128)).reshape((TN, 128))
        part = ct.mma(x, y.transpose(), ct.zeros((TM, TN), ct.float32)) * share.reshape((TM, 1))
        acc = ct.mma(part.astype(b.dtype), y, acc)
    ct.store(c, (0, ct.bid(0), 0), acc.reshape((1, TM, 128)))


def test_tiles_that_are_no_operands() -> None:
    """Threads would wait for them at the start of each block."""
    a, b = np.zeros((1, 3 * TM, 128), ml_dtypes.bfloat16), np.zeros((1, 96, 128), ml_dtypes.bfloat16)
    assert not lowered(weighed, (a, b, np.zeros((1, 3 * TM, 128), np.float32))).looped


def test_in_the_interpreter_each_block_has_one_iteration() -> None:
    a, b, c = arrays(2, TM, 2 * TN, 48)
    f = function(plain, (a, b, c), "sm_90a")
    run_passes(f, get_target("sm_90a"))
    compile_function(f).run((1, 2, 2), [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@pytest.mark.parametrize("kernel", [persistent, triangular, once, added], ids=lambda k: k.__name__)
def test_others_keep_a_block_for_each_cta(kernel: Any) -> None:
    """Those that loop over tiles themselves, whose blocks take different times, that fill no ring, or that may wait for
    each other."""
    assert not lowered(kernel, arrays(1, 3 * TM, TN, 3 * TK)).looped


def test_a_cluster_runs_one_block() -> None:
    a, b, c = arrays(1, 256, 64, 64)
    assert not lowered(plain.replace_hints(num_ctas=2), (a, b, c)).looped


def test_rows_that_tma_brings_in_two_requests() -> None:
    assert lowered(plain, arrays(1, 256, 64, 64)).looped and not lowered(plain, arrays(1, 256, 64, 72)).looped


@pytest.mark.parametrize(("along_k", "looped"), [(True, True), (False, False)])
def test_operands_that_threads_turn(along_k: bool, looped: bool) -> None:
    """Tensor cores cannot read tfloat32 along n."""
    a, b = np.zeros((1, 64, 64), np.float32), np.zeros((1, 32, 64), np.float32).transpose(0, 2, 1)
    made = lowered(rounded, (a, b if along_k else b.copy(), np.zeros((1, 64, 32), np.float32)))
    assert made.looped is looped


def test_where_nothing_fills_rings() -> None:
    assert not lowered(plain, arrays(1, 256, 64, 64), "sm_80").looped


@ct.tile_kernel
def centred(a, b, c):
    """Warps exchange sums of columns before they store."""
    i, j = ct.bid(0), ct.bid(1)
    acc = product(a, b, 0, i, j, ct.num_tiles(a, 2, (1, TM, TK)))
    ct.store(c, (0, i, j), acc - ct.sum(acc, axis=1, keepdims=True))


def centre(tiles: Any) -> Any:
    parts = tiles.reshape(-1, TM, tiles.shape[1])
    return (parts - parts.sum(axis=1, keepdims=True)).reshape(tiles.shape)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teams of warps run small tiles, too, which are soon simulated."""
    monkeypatch.setattr(choose_warps, "_turns_pay", lambda c, products, much: True)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize(("blocks", "k", "schedule"), [(5, 112, "random"), (4, 256, "inorder"), (3, 16, "random")])
def test_two_teams_of_warps_run_blocks_in_turns(blocks: int, k: int, schedule: Any) -> None:
    """Each has its own buffers and barriers, and goes on in the ring behind what the other one reads of it."""
    a, b, c = arrays(1, TM * blocks, TN, k)
    f = machine(centred, (a, b, c))
    assert f.plan.teams == 2 and f.plan.roles[0].warps == 2 * f.plan.warps
    simulate_lowered(emit_function(f, get_target("sm_90a")), (blocks,), (a, b, c), schedule=schedule, seed=blocks)
    np.testing.assert_array_equal(c[0], centre(a[0].astype(np.float32) @ b[0].astype(np.float32)))


def one_buffer(f: Function) -> None:
    for op in f.walk():
        if isinstance(op, SharedAlloc):
            op.each = False


def no_turns(f: Function) -> None:
    for block in [f.body, *(block for op in f.walk() for block in op.blocks)]:
        block.ops = [op for op in block.ops if not isinstance(op, TakeTurn | PassTurn)]


def next_block(f: Function) -> None:
    """The second team goes on where the first does."""
    for op in f.walk():
        if isinstance(op, SkippedBlocks):
            op.first = False


def early_pass(f: Function) -> None:
    """The next team begins while this one still waits for tiles."""
    blocks = [f.body, *(block for op in f.walk() for block in op.blocks)]
    [block] = (block for block in blocks if any(isinstance(op, TakeTurn) for op in block.ops))
    [passed] = (op for op in block.ops if isinstance(op, PassTurn))
    block.ops.remove(passed)
    block.ops.insert(1 + next(i for i, op in enumerate(block.ops) if isinstance(op, TakeTurn)), passed)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("defect", [one_buffer, no_turns, next_block, early_pass], ids=lambda f: f.__name__)
def test_defects_of_teams_are_found(defect: Any) -> None:
    a, b, c = arrays(1, 3 * TM, TN, 512)
    f = machine(centred, (a, b, c))
    defect(f)
    with pytest.raises((SimError, AssertionError)):
        simulate_lowered(emit_function(f, get_target("sm_90a")), (3,), (a, b, c), schedule="random", seed=1)
        np.testing.assert_array_equal(c[0], centre(a[0].astype(np.float32) @ b[0].astype(np.float32)))


@ct.tile_kernel
def bent(a, b, bias, c, tm: ct.Constant[int], tn: ct.Constant[int], tk: ct.Constant[int], much: ct.Constant[str]):
    i, j = ct.bid(0), ct.bid(1)
    acc = ct.zeros((tm, tn), ct.float32)
    for k in range(ct.num_tiles(a, 1, (tm, tk))):
        acc = ct.mma(ct.load(a, (i, k), (tm, tk)), ct.load(b, (k, j), (tk, tn)), acc)
    if much == "rounded":
        acc = acc.astype(ct.bfloat16).astype(ct.float32)
    if much:
        acc = acc + ct.load(bias, j, tn)
        acc = acc * ct.sigmoid(acc) * ct.tanh(acc)
    ct.store(c, (i, j), acc.astype(c.dtype))


@pytest.mark.parametrize(("tile", "much", "hints", "teams", "warps"), [
    ((128, 128, 64), "", {}, 2, 4), ((64, 256, 64), "", {}, 2, 4), ((64, 128, 64), "", {}, 2, 4),
    ((128, 128, 64), "rounded", {}, 2, 8),
    ((128, 128, 64), "wide", {}, 2, 8),
    ((128, 256, 64), "", {}, 1, 8),  # the registers of an SM hold one such accumulator
    ((128, 128, 32), "", {}, 1, 4),  # two CTAs fit an SM
    ((256, 64, 64), "", {}, 1, 4),  # narrow MMAs
    ((128, 128, 64), "", {"occupancy": 2}, 1, 4), ((128, 128, 64), "wide", {"num_ctas": 2}, 1, 4),
], ids=str)
def test_who_runs_in_turns(tile: Any, much: str, hints: dict[str, int], teams: int, warps: int) -> None:
    a, b = np.zeros((1024, 512), ml_dtypes.bfloat16), np.zeros((512, 1024), ml_dtypes.bfloat16)
    args = a, b, np.zeros(1024, np.float32), np.zeros((1024, 1024), ml_dtypes.bfloat16), *tile, much
    plan = machine(bent.replace_hints(**hints), args).plan
    assert (plan.teams, plan.warps) == (teams, warps)


def test_blocks_whose_loops_differ_are_run_by_all_warps(turns: None) -> None:
    """What the other team skips of a ring is the same number for all blocks."""
    assert machine(plain, arrays(2, 3 * TM, TN, 32)).plan.teams == 2
    assert machine(nested, arrays(2, 3 * TM, TN, 32)).plan.teams == 1


@pytest.mark.gpu
@pytest.mark.parametrize("tile", [(128, 128, 64), (64, 256, 64), (64, 128, 64)], ids=str)
@pytest.mark.parametrize("k", [64, 512, 1088])
@pytest.mark.parametrize("much", ["", "rounded", "wide"])
def test_teams_on_a_gpu(much: str, k: int, tile: tuple[int, int, int]) -> None:
    """Several blocks for each team, fewer and more iterations than a ring has slots."""
    m, n = 128 * 30, 128 * 16
    a, b, _ = arrays(1, m, n, k)
    out, bias = np.zeros((m, n), np.float32), np.arange(n, dtype=np.float32) % 5 - 2
    given = [ct.to_device(x) for x in (a[0], b[0], bias, out)]
    for _ in range(3):
        bent[ct.cdiv(m, tile[0]), ct.cdiv(n, tile[1])](*given, *tile, much)
    want = a[0].astype(np.float32) @ b[0].astype(np.float32)
    if not much:
        np.testing.assert_array_equal(given[3].to_host(), want)
        return
    if much == "rounded":
        want = want.astype(ml_dtypes.bfloat16).astype(np.float32)
    want = (want + bias).astype(np.float64)
    want = want / (1 + np.exp(np.minimum(-want, 80.0))) * np.tanh(want)
    np.testing.assert_allclose(given[3].to_host(), want, rtol=1e-5, atol=1e-6)
