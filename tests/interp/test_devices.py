"""Launches on several devices in one memory: who waits for whom, what ends in an error, and which scopes order."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.interp.handlers import control

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED
SYS, DEVICE = tw.MemoryScope.SYS, tw.MemoryScope.DEVICE
ORDERS = (None, "asc", "desc", *range(5))


def ints(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


@tw.tile_kernel
def relay(values, flags, rank: tw.Constant[int], world: tw.Constant[int], send: tw.Constant[Any],
          receive: tw.Constant[Any]):
    """Each device adds one to what the one before has written, twice round; block by block."""
    for turn in tw.static_iter(range(2)):
        number = turn * world + rank
        while tw.load(flags, tw.bid(0), (), memory_order=ACQUIRE, memory_scope=receive) != number:
            pass
        tw.store(values, tw.bid(0), tw.load(values, tw.bid(0), 4) * 2 + rank)
        tw.store(flags, tw.bid(0), number + 1, memory_order=RELEASE, memory_scope=send)


def relayed(world: int) -> int:
    value = 0
    for number in range(2 * world):
        value = value * 2 + number % world
    return value


def launch(world: int, send: Any = SYS, receive: Any = SYS, blocks: int = 3, **options: Any) -> tuple[Any, Any]:
    values, flags = ints(4 * blocks), ints(blocks)
    devices = [(values, flags, rank, world, send, receive) for rank in range(world)]
    return values, relay.interpret((blocks,), devices=devices, **options)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("world", [1, 2, 3])
def test_devices_wait_for_each_other(world: int, order: Any) -> None:
    values, _ = launch(world, order=order)
    assert (values == relayed(world)).all()


@pytest.mark.parametrize("order", ORDERS)
def test_release_and_acquire_of_the_system_order_all(order: Any) -> None:
    values, found = launch(3, order=order, check=True)
    assert found == [] and (values == relayed(3)).all()


@pytest.mark.parametrize(("send", "receive"), [(DEVICE, DEVICE), (SYS, DEVICE), (DEVICE, SYS)])
@pytest.mark.parametrize("order", (None, "desc", 3))
def test_the_scope_of_one_device_orders_nothing_for_others(send: Any, receive: Any, order: Any) -> None:
    _, found = launch(2, send, receive, blocks=1, order=order, check=True, on_report="collect")
    messages = [report.message for report in found]
    assert any("flags[0]" in m and "atomically" in m and "of device" in m for m in messages), messages
    assert any("values[0]" in m and "of device" in m for m in messages), messages
    assert any("MemoryScope.SYS at both" in report.hint for report in found)


def test_the_scope_of_one_device_orders_its_blocks() -> None:
    @tw.tile_kernel
    def chain(values, flags):
        i = tw.bid(0)
        while tw.load(flags, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != i:
            pass
        tw.store(values, 0, tw.load(values, 0, ()) + 1)
        tw.store(flags, 0, i + 1, memory_order=RELEASE, memory_scope=DEVICE)

    values, flags = ints(2, 1), ints(2, 1)
    assert chain.interpret((4,), devices=[(values[d], flags[d]) for d in range(2)], check=True) == []
    assert (values == 4).all()


@pytest.mark.parametrize(("scope", "reports"), [(SYS, 0), (DEVICE, 1)])
@pytest.mark.parametrize("order", [RELAXED, tw.MemoryOrder.ACQ_REL])
def test_atomics_of_two_devices(scope: Any, reports: int, order: Any) -> None:
    @tw.tile_kernel
    def count(total, scope: tw.Constant[Any], order: tw.Constant[Any]):
        tw.atomic_add(total, 0, 1, memory_order=order, memory_scope=scope)

    total = ints(1)
    found = count.interpret((5,), devices=[(total, scope, order)] * 2, check=True, on_report="collect")
    assert found is not None and len(found) == reports and total[0] == 10
    if reports:
        assert re.fullmatch(r"atomic_add atomically writes total\[0\], which block \(\d, 0, 0\) of device [01] "
                            "atomically writes in no order", found[0].message)
        assert "one device's blocks" in found[0].reason and "MemoryScope.SYS" in found[0].hint


def test_plain_accesses_of_two_devices() -> None:
    @tw.tile_kernel
    def write(x, value: tw.Constant[int]):
        tw.store(x, tw.bid(0), value)

    x = ints(2)
    [report] = write.interpret((2,), devices=[(x, 1), (x, 2)], check=True, on_report="collect")
    assert "of device" in report.message and sorted(report.values.items()) == [("device", 1), ("other_device", 0)]
    assert write.interpret((1,), devices=[(x[:1], 1), (x[1:], 2)], check=True) == []
    assert x.tolist() == [1, 2]


@tw.tile_kernel
def lock_and_add(lock, total):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE, memory_scope=SYS) == 1:
        pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE, memory_scope=SYS)


@pytest.mark.parametrize("order", ORDERS)
def test_a_lock_of_all_devices(order: Any) -> None:
    lock, total = ints(1), ints(1)
    assert lock_and_add.interpret((3,), devices=[(lock, total)] * 3, order=order, check=True) == []
    assert total[0] == 9 and lock[0] == 0


@tw.tile_kernel
def wait(flags, own: tw.Constant[int]):
    while tw.load(flags, own, (), memory_order=ACQUIRE, memory_scope=SYS) == 0:
        pass
    tw.store(flags, 1 - own, 1, memory_order=RELEASE, memory_scope=SYS)


@tw.tile_kernel
def wait_for_two(flags):
    which = 0
    while tw.load(flags, which, (), memory_order=ACQUIRE, memory_scope=SYS) == 0:
        which = 1 - which


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "PATIENCE", 64)


@pytest.mark.usefixtures("impatient")
def test_devices_that_all_wait() -> None:
    for check in (False, True):
        with pytest.raises(tw.TileError, match=r"waits for flags\[[01]\], which nobody changes any more"):
            wait.interpret((1,), devices=[(ints(2), 0), (ints(2), 1)], check=check)
        with pytest.raises(tw.TileError, match="never ends: 2 iterations leave everything"):
            wait_for_two.interpret((1,), devices=[(ints(2),), (ints(2),)], check=check)


@pytest.mark.usefixtures("impatient")
def test_a_device_that_ends_without_what_another_waits_for() -> None:
    @tw.tile_kernel
    def only_one(flags, rank: tw.Constant[int]):
        if rank == 1:
            while tw.load(flags, 0, (), memory_order=ACQUIRE, memory_scope=SYS) == 0:
                pass

    with pytest.raises(tw.TileError, match="all other devices wait, too, or have ended"):
        only_one.interpret((1,), devices=[(ints(1), 0), (ints(1), 1)])


def test_an_error_on_one_device_ends_all() -> None:
    @tw.tile_kernel
    def fail(flags, rank: tw.Constant[int]):
        if rank == 0:
            tw.assert_(tw.load(flags, 0, ()) == 1, "not there")
        while tw.load(flags, 0, (), memory_order=ACQUIRE, memory_scope=SYS) == 0:
            pass

    for order in ("asc", "desc"):
        with pytest.raises(tw.TileAssertionError, match="not there"):
            fail.interpret((1,), devices=[(ints(1), 0), (ints(1), 1)], order=order)


@tw.tile_kernel
def multiply_and_send(a, b, inbox, signals, mine, awaited, out, rank: tw.Constant[int], tile: tw.Constant[int]):
    """Partial sums of the other device's rows go to its inbox, tile by tile, then its own rows are finished."""
    rows, columns = out.shape[0] // tile, out.shape[1] // tile
    inside = tw.bid(0) % (rows * columns)
    i, j = inside // columns, inside % columns
    own = tw.bid(0) >= rows * columns
    first = (rank if own else 1 - rank) * rows
    acc = tw.zeros((tile, tile), tw.float32)
    for k in range(tw.num_tiles(a, 1, (tile, tile))):
        acc = tw.mma(tw.load(a, (first + i, k), (tile, tile)), tw.load(b, (k, j), (tile, tile)), acc)
    if own:
        while tw.load(awaited, inside, (), memory_order=ACQUIRE, memory_scope=SYS) == 0:
            pass
        tw.store(out, (i, j), acc + tw.load(mine, (i, j), (tile, tile)))
    else:
        tw.store(inbox, (i, j), acc)
        tw.store(signals, inside, 1, memory_order=RELEASE, memory_scope=SYS)


@pytest.mark.parametrize("order", (None, "asc"))
def test_a_product_whose_tiles_wait_for_the_other_device(order: Any) -> None:
    rng, n, tile = np.random.default_rng(0), 32, 16
    a, b = (rng.integers(-4, 5, (2, 2 * n, n)).astype(np.float32) for _ in range(2))
    b = b[:, :n]
    inbox, signals, out = np.zeros((2, n, n), np.float32), ints(2, 4), np.zeros((2, n, n), np.float32)
    found = multiply_and_send.interpret((8,), devices=[
        (a[r], b[r], inbox[1 - r], signals[1 - r], inbox[r], signals[r], out[r], r, tile) for r in range(2)],
        order=order, check=True)
    assert found == []
    assert np.array_equal(out.reshape(2 * n, n), a[0] @ b[0] + a[1] @ b[1])


def test_reports_name_the_device() -> None:
    @tw.tile_kernel
    def look(x, first):
        tw.load(x, first + tw.bid(0), 4)

    [report] = look.interpret((1,), devices=[(ints(8), 0), (ints(8), 5)], check=True, on_report="collect")
    assert report.kind == "bounds" and report.values["device"] == 1


def test_what_devices_refuses() -> None:
    x = ints(2)
    with pytest.raises(TypeError, match="write no others beside it"):
        wait.interpret((1,), x, devices=[(x, 0)])
    for wrong in ([], 2, [x], {0: (x, 0)}):
        with pytest.raises(TypeError, match="a list with a tuple of arguments for each device"):
            wait.interpret((1,), devices=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="numerics and devices"):
        wait.interpret((1,), devices=[(x, 0)], numerics="sm_90a")
    assert wait.interpret((0,), devices=[(x, 0), (x, 1)]) is None
    assert wait.interpret((0,), devices=[(x, 0), (x, 1)], check=True) == []


def test_derived_kernels_with_memory_of_their_own() -> None:
    @tw.tile_kernel
    def row(x, w, out):
        tw.store(out, (tw.bid(0), 0), tw.load(x, (tw.bid(0), 0), (1, 4)) * tw.load(w, (0, 0), (1, 4)))

    derived = tw.grad(row, wrt=("x", "w"), outputs="out", workspace=True)
    x, w, out = np.ones((2, 4), np.float32), np.ones((1, 4), np.float32), np.zeros((2, 4), np.float32)
    args = (x, w, out, np.ones_like(out), np.zeros_like(x), np.zeros_like(w))
    with pytest.raises(tw.TileUnsupportedFeatureError, match="on several devices"):
        derived.interpret((2,), devices=[args])
