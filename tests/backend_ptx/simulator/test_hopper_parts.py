"""Hopper's asynchronous instructions one by one: fences, registers in flight, bulk stores, register pools."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.simulator.hopper import emit
from support.simulator.steps import Kernel

from tilewright.backend_ptx.instructions.record import Instruction
from tilewright.backend_ptx.instructions.warpgroup import wgmma, wgmma_wait_tied
from tilewright.backend_ptx.llvm.builder import Val
from tilewright.backend_ptx.simulator import (
    Deadlock,
    Divergence,
    InFlight,
    PendingCopy,
    Race,
    SimError,
    TensorMapArgument,
    Unfenced,
    UnwrittenRead,
)

SCHEDULES: list[dict[str, Any]] = [{}, {"schedule": "random", "seed": 3}]
Steps = dict[str, Callable[[], None]]
ONES = 0x3F803F80  # two bf16
B_AT = 8192


def staged(steps: list[str], **how: Any) -> np.ndarray:
    """A [64, 64] and B [8, 64] of ones, stored by the threads and multiplied, in the order of `steps`."""
    kernel = Kernel()
    b = kernel.b
    acc = [b.const("float", 0.0)] * 4
    record = wgmma(8, "bf16", steps=1)

    def multiply(record: Instruction = record) -> None:
        acc[:] = record.emit(b, *acc, kernel.descriptor(0), kernel.descriptor(B_AT), b.const("i32", 1))

    def unused() -> None:
        record.emit(b, *acc, kernel.descriptor(0), kernel.descriptor(B_AT), b.const("i32", 1))

    def double() -> None:
        acc[:] = [b.fmul(x, 2.0) for x in acc]

    actions: dict[str, Callable[[], None]] = {
        "store": lambda: kernel.fill(ONES, 18), "store A": lambda: kernel.fill(ONES, 16),
        "proxy": lambda: emit(b, "fence.proxy.async"), "barrier": lambda: emit(b, "bar.sync"),
        "fence": lambda: emit(b, "wgmma.fence"), "product": multiply, "double": double,
        "fenced": lambda: multiply(wgmma(8, "bf16", steps=1, fenced=True)),
        "commit": lambda: emit(b, "wgmma.commit"), "wait": lambda: emit(b, "wgmma.wait.0"),
        "wait 1": lambda: emit(b, "wgmma.wait.1"),
        "tied": lambda: acc.__setitem__(slice(None), wgmma_wait_tied(0, 4).emit(b, *acc)),
        "half": lambda: kernel.only(b.icmp("ult", kernel.tid, 64), unused),
    }
    for step in steps:
        actions[step]()
    kernel.out(acc[0])
    return kernel.result(**how)


START = ["store", "proxy", "barrier", "fence"]
END = ["commit", "tied"]


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize(("steps", "value"), [
    ([*START, "product", *END], 16), ([*START, "product", "product", *END], 32),
    ([*START, "product", "commit", "wait"], 16),
    (["store", "barrier", "proxy", "fence", "product", *END], 16),  # the reader may fence too
    ([*START, "product", "commit", "product", "commit", "wait 1", "product", *END], 48),
    ([*START, "product", *END, "double", "fence", "product", *END], 48),
    ([*START, "product", *END, "double", "fenced", *END, "double"], 96),
    ([*START, "product", *END, "barrier", "store A", "proxy", "barrier", "fence", "product", *END], 32),
])
def test_staged_products(steps: list[str], value: float, how: dict[str, Any]) -> None:
    np.testing.assert_array_equal(staged(steps, **how), np.full(128, value, np.float32))


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize(("steps", "error", "message"), [
    (["store", "barrier", "fence", "product", *END], Unfenced, "no fence.proxy.async"),
    (["proxy", "store", "barrier", "fence", "product", *END], Unfenced, "no fence.proxy.async"),
    (["store", "proxy", "fence", "product", *END], (Race, UnwrittenRead), "with no barrier|nothing has written"),
    ([*START[:3], "product", *END], Unfenced, "no wgmma.fence"),
    ([*START, "product", *END, "double", "product", *END], Unfenced, "no wgmma.fence"),
    ([*START, "product", "commit", "double", "wait"], InFlight, "no wgmma.wait_group that covers it"),
    ([*START, "product", "commit"], InFlight, "no wgmma.wait_group that covers it"),
    ([*START, "product", "wait"], InFlight, "no wgmma.wait_group that covers it"),
    ([*START, "product", "commit", "product", "commit", "wait 1"], InFlight, "no wgmma.wait_group"),
    ([*START, "product", "commit", "store A", "wait"], Race, "may still be reading"),
    ([*START, "product", *END, "store A"], (Race, Unfenced), "(reads|writes) what thread|no fence.proxy"),
    ([*START, "half", "commit", "wait"], Divergence, "issue .* MMAs"),
])
def test_staged_defects(steps: list[str], error: Any, message: str, how: dict[str, Any]) -> None:
    with pytest.raises(error, match=message):
        staged(steps, **how)


def test_accumulators_of_another_shape_need_a_wait() -> None:
    kernel = Kernel()
    b = kernel.b
    kernel.fill(ONES, 20)
    for name in ("fence.proxy.async", "bar.sync", "wgmma.fence"):
        emit(b, name)
    operands = (kernel.descriptor(0), kernel.descriptor(B_AT), b.const("i32", 0))
    wide = wgmma(16, "bf16").emit(b, *[b.const("float", 0.0)] * 8, *operands)
    narrow = wgmma(8, "bf16").emit(b, *wide[:4], *operands)
    emit(b, "wgmma.commit")
    emit(b, "wgmma.wait.0")
    kernel.out(narrow[0])
    with pytest.raises(InFlight, match="another shape"):
        kernel.result()


def test_left_operand_in_registers() -> None:
    """A's fragment: four words per thread; row r of A is r mod 8 throughout, B is ones."""
    kernel = Kernel()
    b = kernel.b
    kernel.fill(ONES, 18)
    lane = b.and_(kernel.tid, 31)
    row = b.cast("uitofp", b.lshr(lane, 2), "float")
    half = b.cast("lshr", row, "float")
    bits = b.lshr(b.bitcast(half, "i32"), 16)
    word = b.or_(bits, b.shl(bits, 16))
    for name in ("fence.proxy.async", "bar.sync"):
        emit(b, name)
    zero = [b.const("float", 0.0)] * 4
    acc = wgmma(8, "bf16", None, fenced=True).emit(b, *zero, *[word] * 4, kernel.descriptor(B_AT), b.const("i32", 0))
    emit(b, "wgmma.commit")
    kernel.out(wgmma_wait_tied(0, 4).emit(b, *acc)[2])
    np.testing.assert_array_equal(kernel.result(), np.arange(128) % 32 // 4 * 16)


# ---- bulk stores ----


def stored(steps: list[str], **how: Any) -> np.ndarray:
    """A tile [64, 16] of float32, stored at (-8, 32) and (24, 0) of an array [80, 40]."""
    kernel = Kernel()
    b = kernel.b
    one = Val("i1", 0, "true")

    def copy(x: int, y: int) -> Callable[[], None]:
        place = [b.const("i32", x), b.const("i32", y)]
        return lambda: kernel.only(b.icmp("eq", kernel.tid, 0), lambda: emit(
            b, "tma.store.2d", Val("ptr", 0, "%to"), kernel.base, *place, one))

    actions: dict[str, Callable[[], None]] = {
        "fill": lambda: kernel.fill(0x3F800000, 8), "again": lambda: kernel.fill(0x40000000, 8),
        "proxy": lambda: emit(b, "fence.proxy.async"), "barrier": lambda: emit(b, "bar.sync"),
        "store": copy(32, -8), "below": copy(0, 24), "commit": lambda: emit(b, "tma.store.commit"),
        "read": lambda: emit(b, "tma.store.wait_read.0"), "read 1": lambda: emit(b, "tma.store.wait_read.1"),
        "wait": lambda: emit(b, "tma.store.wait.0"),
    }
    for step in steps:
        actions[step]()
    out = np.zeros((80, 40), np.float32)
    params = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %to'
    kernel.run([TensorMapArgument(out, (1, 0), (16, 64))], params, 128, **how)
    return out


@pytest.mark.parametrize("how", SCHEDULES)
def test_bulk_stores_clip(how: dict[str, Any]) -> None:
    ready = ["fill", "proxy", "barrier"]
    want = np.zeros((80, 40), np.float32)
    want[:56, 32:] = 1
    np.testing.assert_array_equal(stored([*ready, "store", "commit", "read"], **how), want)
    want[24:, :16] = 2
    steps = [*ready, "store", "commit", "read", "barrier", "again", "proxy", "barrier", "below", "commit", "wait"]
    np.testing.assert_array_equal(stored(steps, **how), want)


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize(("steps", "error"), [
    (["fill", "barrier", "store", "commit", "read"], Unfenced),
    (["fill", "proxy", "store", "commit", "read"], (Race, UnwrittenRead)),
    (["fill", "proxy", "barrier", "store", "commit"], PendingCopy),
    (["fill", "proxy", "barrier", "store", "read"], PendingCopy),
    (["fill", "proxy", "barrier", "store", "commit", "read 1", "barrier", "again"], Race),
    (["fill", "proxy", "barrier", "store", "commit", "read", "again"], Race),
])
def test_bulk_store_defects(steps: list[str], error: Any, how: dict[str, Any]) -> None:
    with pytest.raises(error):
        stored(steps, **how)


# ---- the pool of registers ----


def exchange_registers(give: int, take: int, **how: Any) -> None:
    kernel = Kernel()
    giver = kernel.b.icmp("uge", kernel.tid, 256)
    kernel.only(giver, lambda: emit(kernel.b, f"setmaxnreg.dec.{give}"))
    taker = kernel.b.icmp("ult", kernel.tid, 256)
    kernel.only(taker, lambda: emit(kernel.b, f"setmaxnreg.inc.{take}"))
    kernel.run([], "", 384, **how)


@pytest.mark.parametrize("how", SCHEDULES)
def test_register_pool(how: dict[str, Any]) -> None:
    """384 threads start with 168 registers each."""
    exchange_registers(40, 232, **how)
    exchange_registers(24, 240, **how)
    with pytest.raises(Deadlock, match="registers, of which the block's pool has"):
        exchange_registers(40, 240, **how)
    with pytest.raises(SimError, match="setmaxnreg to 176, from 168 registers"):
        exchange_registers(176, 232, **how)


# ---- mbarriers ----


def signal(steps: list[str], **how: Any) -> np.ndarray:
    """Warp 0 tells warp 1 through an mbarrier that it has stored a word."""
    kernel = Kernel()
    b = kernel.b
    one = Val("i1", 0, "true")
    box = b.add(kernel.base, 1024)
    first = b.icmp("eq", kernel.tid, 0)
    zero = b.const("i32", 0)
    mine = b.add(kernel.base, b.mul(b.and_(kernel.tid, 31), 4))

    def read() -> None:
        pointer = b.gep(Val("ptr addrspace(3)", 0, "@smem"), b.mul(b.and_(kernel.tid, 31), 4))
        kernel.out(b.load("float", 0, pointer, 4))

    def twice() -> None:
        for _ in range(2):
            emit(b, "mbarrier.arrive", box, one)

    lane0 = b.icmp("eq", b.and_(kernel.tid, 31), 0)
    sender: dict[str, Callable[[], None]] = {
        "store": lambda: emit(b, "st.shared.b32", mine, one, b.const("i32", 0x3F800000)),
        "warp": lambda: emit(b, "bar.warp.sync"), "arrive": lambda: emit(b, "mbarrier.arrive", box, lane0),
        "twice": twice,
        "over": lambda: emit(b, "st.shared.b32", box, lane0, zero),
        "init": lambda: kernel.only(first, lambda: emit(b, "mbarrier.init", box, b.const("i32", 1))),
    }
    kernel.only(first, lambda: emit(b, "mbarrier.init", box, b.const("i32", 1)))
    emit(b, "bar.sync")
    sends, receives = b.label("sends"), b.label("receives")
    b.cbr(b.icmp("ult", kernel.tid, 32), sends, receives)
    b.start(sends)
    for step in steps:
        if step in sender:
            sender[step]()
    b.ret()
    b.start(receives)
    if "no wait" not in steps:
        emit(b, "mbarrier.wait", box, b.const("i32", 2 if "wrong" in steps else 0))
    read()
    return kernel.result(64, **how)


@pytest.mark.parametrize("how", SCHEDULES)
def test_mbarriers_order_ordinary_accesses(how: dict[str, Any]) -> None:
    got = signal(["store", "warp", "arrive"], **how)
    np.testing.assert_array_equal(got, np.repeat(np.array([0, 1], np.float32), 32))


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize(("steps", "error"), [
    (["store", "warp", "arrive", "no wait"], (Race, UnwrittenRead)),
    (["store", "arrive"], Race),  # the other lanes may not have stored yet
    (["arrive", "store"], (Race, UnwrittenRead)),
    (["store", "warp"], Deadlock),
    (["store", "warp", "over", "arrive"], Race),
    (["store", "warp", "arrive", "init"], SimError),
    (["store", "warp", "arrive", "wrong"], SimError),
])
def test_mbarrier_defects(steps: list[str], error: Any, how: dict[str, Any]) -> None:
    with pytest.raises(error):
        signal(steps, **how)


@pytest.mark.parametrize("how", SCHEDULES)
@pytest.mark.parametrize(("announced", "right"), [(128, True), (64, False), (192, False)])
def test_announced_bytes_are_those_that_come(announced: int, right: bool, how: dict[str, Any]) -> None:
    """Two copies of 64 bytes; if fewer are announced the wait may end after the first."""
    kernel = Kernel()
    b = kernel.b
    i32, yes, source = partial(b.const, "i32"), Val("i1", 0, "true"), Val("ptr", 0, "%map")

    def copy() -> None:
        emit(b, "mbarrier.init", kernel.base, i32(1))
        emit(b, "fence.mbarrier_init")
        emit(b, "mbarrier.expect_tx", kernel.base, i32(announced), yes)
        for piece in (1, 2):
            emit(b, "tma.load.1d", b.add(kernel.base, 128 * piece), source, kernel.base, i32(16 * piece), yes)
        emit(b, "mbarrier.wait", kernel.base, i32(0))

    kernel.only(b.icmp("eq", kernel.tid, 0), copy)
    params = 'ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map'
    run = partial(kernel.run, [TensorMapArgument(np.zeros(64, np.float32), (0,), (16,))], params, 32, **how)
    if right:
        run()
        return
    with pytest.raises(SimError):
        run()


def test_tensor_maps_that_the_driver_refuses() -> None:
    array = np.zeros((8, 40), np.float32)
    for axes, box, swizzle in (((0, 1), (8, 40), 0), ((1, 0), (3, 8), 0), ((1, 0), (16, 8), 32), ((1, 0), (8, 512), 0)):
        with pytest.raises(ValueError, match="no tensor map"):
            TensorMapArgument(array, axes, box, swizzle)
    with pytest.raises(ValueError, match="multiples of 16"):
        TensorMapArgument(np.zeros((8, 39), np.float32), (1, 0), (16, 8))
