"""Blocks that wait for each other: locks, flags, tickets, chains, last blocks; each with one defect."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

ACQUIRE, RELEASE, RELAXED = ct.MemoryOrder.ACQUIRE, ct.MemoryOrder.RELEASE, ct.MemoryOrder.RELAXED
DEVICE, ZERO = ct.MemoryScope.DEVICE, ct.PaddingMode.ZERO


def ints(seed, n):
    return np.random.default_rng(seed).integers(-50, 50, n).astype(np.int32)


def zeros(*lengths):
    return tuple(np.zeros(n, np.int32) for n in lengths)


@ct.tile_kernel
def chained_scan(x, sums, flags, ticket, out, TILE: ct.Constant[int]):
    """Prefix sums in one pass: each tile waits for the sum of those before it."""
    me = ct.atomic_add(ticket, 0, 1)
    t = ct.load(x, me, TILE, padding_mode=ZERO)
    before = 0
    if me > 0:
        while ct.load(flags, me - 1, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:
            pass
        # HERE(races)
        before = ct.load(sums, me - 1, ())
    ct.store(sums, me, before + ct.sum(t))
    # DEFECT(races): ct.store(flags, me, 1, memory_order=RELEASE, memory_scope=DEVICE)
    ct.store(flags, me, 1, memory_order=RELAXED, memory_scope=DEVICE)
    ct.store(out, me, before + ct.cumsum(t))


def chained_scan_launch():
    x = ints(1, 200)
    return Launch((7,), (x, *zeros(7, 7, 1, 200), 32), {4: np.cumsum(x)})


@ct.tile_kernel
def champion(x, lock, best, owner, TILE: ct.Constant[int]):
    """The largest element and the block that has it, two words that change together under a lock."""
    i = ct.bid(0)
    candidate = ct.max(ct.load(x, i, TILE, padding_mode=ct.PaddingMode.NEG_INF))
    # HERE(progress)
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    if candidate <= ct.load(best, 0, ()):
        # MISSING: ct.atomic_xchg(lock, 0, 0, memory_order=RELEASE)
        return
    ct.store(best, 0, candidate)
    ct.store(owner, 0, i)
    ct.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def champion_launch():
    x = np.random.default_rng(2).permutation(150).astype(np.float32)
    x[[40, 149]] = 500, 600
    args = (x, *zeros(1), np.full(1, -1, np.float32), *zeros(1), 32)
    return Launch((5,), args, {1: np.zeros(1), 2: np.array([600]), 3: np.array([4])})


@ct.tile_kernel
def in_turn(x, tickets, serving, total, TILE: ct.Constant[int]):
    """A fair lock: who comes first is served first."""
    part = ct.sum(ct.load(x, ct.bid(0), TILE, padding_mode=ZERO))
    mine = ct.atomic_add(tickets, 0, 1)
    # HERE(progress)
    while ct.load(serving, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != mine:
        pass
    ct.store(total, 0, ct.load(total, 0, ()) + part)
    # DEFECT(progress): ct.atomic_xchg(serving, 0, mine + 1, memory_order=RELEASE)
    ct.atomic_xchg(serving, 0, mine, memory_order=RELEASE)


def in_turn_launch():
    x = ints(3, 100)
    return Launch((4,), (x, *zeros(1, 1, 1), 32), {3: np.array([x.sum()])})


@ct.tile_kernel
def producer_consumer(x, buffer, state, ticket, out, TILE: ct.Constant[int]):
    """Pairs of blocks: one squares a tile, the next one adds it up. state[item]: what was last done with it."""
    me = ct.atomic_add(ticket, 0, 1)
    item = me // 2
    if me % 2 == 0:
        t = ct.load(x, item, TILE, padding_mode=ZERO)
        ct.store(buffer, item, t * t)
        # DEFECT(progress): ct.atomic_xchg(state, item, item + 1, memory_order=RELEASE)
        ct.atomic_xchg(state, item, item, memory_order=RELEASE)
    else:
        # HERE(progress)
        while ct.load(state, item, (), memory_order=ACQUIRE, memory_scope=DEVICE) != item + 1:
            pass
        ct.store(out, item, ct.sum(ct.load(buffer, item, TILE)))


def producer_consumer_launch():
    x = ints(4, 128)
    want = (x.reshape(4, 32) ** 2).sum(axis=1)
    return Launch((8,), (x, *zeros(128, 4, 1, 4), 32), {4: want})


@ct.tile_kernel
def largest(x, parts, finished, out, TILE: ct.Constant[int], PARTS: ct.Constant[int]):
    """A maximum in one launch: the last block looks at what all have left."""
    i = ct.bid(0)
    ct.store(parts, i, ct.max(ct.load(x, i, TILE, padding_mode=ct.PaddingMode.NEG_INF)))
    # DEFECT(races): before = ct.atomic_add(finished, 0, 1)
    before = ct.atomic_add(finished, 0, 1, memory_scope=ct.MemoryScope.BLOCK)
    if before == ct.num_blocks(0) - 1:
        # HERE(races)
        every = ct.load(parts, 0, PARTS, padding_mode=ct.PaddingMode.NEG_INF)
        ct.store(out, 0, ct.max(every))


def largest_launch():
    x = np.random.default_rng(5).standard_normal(200, dtype=np.float32)
    args = (x, np.zeros(7, np.float32), *zeros(1), np.zeros(1, np.float32), 32, 8)
    return Launch((7,), args, {3: np.array([x.max()])})


@ct.tile_kernel
def trace_and_total(x, parts, finished, out, T: ct.Constant[int], PARTS: ct.Constant[int]):
    """The sum of a matrix by a grid of two axes; again the last block ends it."""
    i, j = ct.bid(0), ct.bid(1)
    part = ct.sum(ct.load(x, (i, j), (T, T), padding_mode=ZERO))
    ct.store(parts, i * ct.num_blocks(1) + j, part)
    before = ct.atomic_add(finished, 0, 1)
    # ALSO: if before == ct.num_blocks(0) * ct.num_blocks(1) - 1:
    if before == ct.num_blocks(0) - 1:
        # HERE(races|initialisation)
        ct.store(out, 0, ct.sum(ct.load(parts, 0, PARTS, padding_mode=ZERO)))


def trace_and_total_launch():
    x = np.arange(600, dtype=np.int32).reshape(20, 30)
    return Launch((3, 4), (x, *zeros(12, 1, 1), 8, 16), {3: np.array([x.sum()])})


@ct.tile_kernel
def suffix_sums(x, sums, flags, ticket, out, TILE: ct.Constant[int]):
    """As a chained scan, from the end: each tile waits for the sum of those behind it."""
    n = ct.num_blocks(0)
    # ALSO: i = n - 1 - ct.atomic_add(ticket, 0, 1)
    i = ct.bid(0)
    t = ct.load(x, i, TILE, padding_mode=ZERO)
    behind = 0
    if i < n - 1:
        # HERE(progress)
        while ct.load(flags, i + 1, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:
            pass
        behind = ct.load(sums, i + 1, ())
    ct.store(sums, i, behind + ct.sum(t))
    ct.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)
    ct.store(out, i, behind + ct.cumsum(t, reverse=True))


def suffix_sums_launch():
    x = ints(6, 200)
    return Launch((7,), (x, *zeros(7, 7, 1, 200), 32), {4: np.cumsum(x[::-1])[::-1]})


@ct.tile_kernel
def transfer(sources, targets, amounts, locks, balance):
    """Bookings between accounts, each under the locks of both."""
    k = ct.bid(0)
    a, b, amount = ct.load(sources, k, ()), ct.load(targets, k, ()), ct.load(amounts, k, ())
    # ALSO: first, second = min(a, b), max(a, b)
    first, second = a, b
    while ct.atomic_cas(locks, first, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    # HERE(progress)
    while ct.atomic_cas(locks, second, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    ct.store(balance, a, ct.load(balance, a, ()) - amount)
    ct.store(balance, b, ct.load(balance, b, ()) + amount)
    ct.atomic_xchg(locks, second, 0, memory_order=RELEASE)
    ct.atomic_xchg(locks, first, 0, memory_order=RELEASE)


def transfer_launch():
    sources, targets = np.array([0, 1, 2, 0], np.int32), np.array([1, 0, 0, 2], np.int32)
    amounts, balance = np.array([5, 7, 1, 2], np.int32), np.array([100, 100, 100], np.int32)
    return Launch((4,), (sources, targets, amounts, *zeros(3), balance), {4: np.array([101, 98, 101])})


@ct.tile_kernel
def dot(x, y, parts, finished, out, TILE: ct.Constant[int], PARTS: ct.Constant[int]):
    i = ct.bid(0)
    t = ct.load(x, i, TILE, padding_mode=ZERO) * ct.load(y, i, TILE, padding_mode=ZERO)
    ct.store(parts, i, ct.sum(t))
    before = ct.atomic_add(finished, 0, 1)
    # ALSO: if before == ct.num_blocks(0) - 1:
    if before == ct.num_blocks(0):
        # HERE(initialisation)
        ct.store(out, 0, ct.sum(ct.load(parts, 0, PARTS, padding_mode=ZERO)))


def dot_launch():
    x, y = ints(7, 200), ints(8, 200)
    out = ct.uninitialized(np.full(1, -7, np.int32))
    return Launch((7,), (x, y, *zeros(7, 1), out, 32, 8), {4: np.array([x @ y])})


@ct.tile_kernel
def hand_over(x, box, flag, ticket, out, TILE: ct.Constant[int]):
    """Each block adds its tile to what the one before left in the box."""
    me = ct.atomic_add(ticket, 0, 1)
    t = ct.load(x, me, TILE)
    while ct.load(flag, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != me:
        pass
    total = ct.load(box, 0, TILE) + t
    # ALSO: ct.store(box, 0, total)
    ct.atomic_xchg(flag, 0, me + 1, memory_order=RELEASE)
    # DEFECT(races): ct.atomic_xchg(flag, 0, me + 1, memory_order=RELEASE)
    ct.store(box, 0, total)
    if me == ct.num_blocks(0) - 1:
        ct.store(out, 0, total)


def hand_over_launch():
    x = ints(9, 96)
    return Launch((3,), (x, *zeros(32, 1, 1, 32), 32), {4: x.reshape(3, 32).sum(axis=0)})
