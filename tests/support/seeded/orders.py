"""Blocks that wait for each other: locks, flags, counters, queues, each with the defect that its marked lines show."""

from __future__ import annotations

from support.seeded.inputs import counters, empty, floats, zeros

import tilewright as tw

ACQUIRE, RELEASE, RELAXED = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE, tw.MemoryOrder.RELAXED
DEVICE, BLOCK = tw.MemoryScope.DEVICE, tw.MemoryScope.BLOCK


def take(lock):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) != 0:
        pass


def give(lock):
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def lock_kept_by_some(x, lock, out):
    i = tw.bid(0)
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) != 0:  # <- progress
        pass
    tw.store(out, 0, tw.load(out, 0, 8) + tw.load(x, i, 8))
    if i % 2 == 0:
        tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def stored_behind_the_lock(x, lock, out):
    take(lock)
    s = tw.load(out, 0, 8) + tw.load(x, tw.bid(0), 8)  # <- race
    give(lock)
    tw.store(out, 0, s)  # <- race


def read_before_the_lock(x, lock, out):
    s = tw.load(out, 0, 8)  # <- race
    take(lock)
    tw.store(out, 0, s + tw.load(x, tw.bid(0), 8))  # <- race
    give(lock)


def lock_without_acquire(x, lock, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=RELAXED) != 0:
        pass
    tw.store(out, 0, tw.load(out, 0, 8) + tw.load(x, tw.bid(0), 8))  # <- race
    give(lock)


def lock_without_release(x, lock, out):
    take(lock)
    tw.store(out, 0, tw.load(out, 0, 8) + tw.load(x, tw.bid(0), 8))  # <- race
    tw.atomic_xchg(lock, 0, 0, memory_order=RELAXED)


def tickets_from_behind(x, turn, out):
    i, n = tw.bid(0), tw.num_blocks(0)
    while tw.load(turn, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != n - 1 - i:  # <- progress
        pass
    tw.store(out, 0, tw.load(out, 0, 8) + tw.load(x, i, 8))
    tw.store(turn, 0, n - i, memory_order=RELEASE, memory_scope=DEVICE)


def last_block_without_acquire(x, parts, count, out):
    i = tw.bid(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 8)))
    if tw.atomic_add(count, 0, 1, memory_order=RELEASE) == tw.num_blocks(0) - 1:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def first_block_sums(x, parts, out):
    i = tw.bid(0)
    tw.store(parts, i, tw.sum(tw.load(x, i, 8)))  # <- race
    if i == 0:
        tw.store(out, 0, tw.sum(tw.load(parts, 0, 4)))  # <- race


def prefix_flag_first(x, flags, sums):
    i = tw.bid(0)
    s = tw.sum(tw.load(x, i, 8))
    if i > 0:
        while tw.load(flags, i - 1, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:
            pass
        s += tw.load(sums, i - 1, ())  # <- race
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)
    tw.store(sums, i, s)  # <- race


def prefix_without_acquire(x, flags, sums):
    i = tw.bid(0)
    s = tw.sum(tw.load(x, i, 8))
    if i > 0:
        while tw.load(flags, i - 1, (), memory_order=RELAXED, memory_scope=DEVICE) == 0:
            pass
        s += tw.load(sums, i - 1, ())  # <- race
    tw.store(sums, i, s)  # <- race
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)


def prefix_of_two_behind(x, flags, sums):
    i = tw.bid(0)
    s = tw.sum(tw.load(x, i, 8))
    if i > 1:
        while tw.load(flags, i - 2, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:
            pass
    if i > 0:
        s += tw.load(sums, i - 1, ())  # <- race
    tw.store(sums, i, s)  # <- race
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)


def suffix_looks_ahead(x, flags, sums):
    i = tw.bid(0)
    s = tw.sum(tw.load(x, i, 8))
    if i + 1 < tw.num_blocks(0):
        while tw.load(flags, i + 1, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:  # <- progress
            pass
        s += tw.load(sums, i + 1, ())
    tw.store(sums, i, s)
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)


def barrier_of_all_blocks(x, arrived, tmp, out):
    i = tw.bid(0)
    tw.store(tmp, i, tw.load(x, i, 8))
    tw.atomic_add(arrived, 0, 1)
    while tw.load(arrived, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != tw.num_blocks(0):  # <- progress
        pass
    tw.store(out, i, tw.load(tmp, (i + 1) % tw.num_blocks(0), 8))


def flag_of_this_block_only(x, flag, data, out):
    if tw.bid(0) == 0:
        tw.store(data, 0, tw.load(x, 0, 8))  # <- race
        tw.store(flag, 0, 1, memory_order=RELEASE, memory_scope=BLOCK)  # <- race
    else:
        while tw.load(flag, 0, (), memory_order=ACQUIRE, memory_scope=BLOCK) == 0:  # <- race
            pass
        tw.store(out, tw.bid(0), tw.load(data, 0, 8))  # <- race


def consumer_does_not_wait(x, data, out):
    i = tw.bid(0)
    if i == 0:
        tw.store(data, 0, tw.load(x, 0, 8))  # <- race
    else:
        tw.store(out, i, tw.load(data, 0, 8))  # <- race


def plain_flag(x, flag, data, out):
    if tw.bid(0) == 0:
        tw.store(data, 0, tw.load(x, 0, 8))  # <- race
        tw.store(flag, 0, 1)  # <- race
    else:
        while tw.load(flag, 0, ()) == 0:  # <- race
            pass
        tw.store(out, tw.bid(0), tw.load(data, 0, 8))  # <- race


def queue_that_stands_still(x, head, out):
    n = tw.load(head, 0, ())
    while n < x.shape[0]:  # <- progress
        tw.store(out, n, tw.load(x, n, ()) * 2.0)


def bisection_that_stops_short(x, key, out):
    low, high = 0, x.shape[0]
    while low < high:  # <- progress
        middle = (low + high) // 2
        if tw.load(x, middle, ()) < key:
            low = middle
        else:
            high = middle
    tw.store(out, 0, low)


CASES = [
    (lock_kept_by_some, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (stored_behind_the_lock, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (read_before_the_lock, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (lock_without_acquire, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (lock_without_release, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (tickets_from_behind, (4,), lambda: (floats(32), counters(1), zeros(8))),
    (last_block_without_acquire, (4,), lambda: (floats(32), empty(4), counters(1), empty(1))),
    (first_block_sums, (4,), lambda: (floats(32), zeros(4), empty(1))),
    (prefix_flag_first, (4,), lambda: (floats(32), counters(4), empty(4))),
    (prefix_without_acquire, (4,), lambda: (floats(32), counters(4), empty(4))),
    (prefix_of_two_behind, (4,), lambda: (floats(32), counters(4), empty(4))),
    (suffix_looks_ahead, (4,), lambda: (floats(32), counters(4), empty(4))),
    (barrier_of_all_blocks, (4,), lambda: (floats(32), counters(1), empty(32), empty(32))),
    (flag_of_this_block_only, (3,), lambda: (floats(8), counters(1), empty(8), zeros(24))),
    (consumer_does_not_wait, (3,), lambda: (floats(8), empty(8), zeros(24))),
    (plain_flag, (3,), lambda: (floats(8), counters(1), empty(8), zeros(24))),
    (queue_that_stands_still, (1,), lambda: (floats(8), counters(1), zeros(8))),
    (bisection_that_stops_short, (1,), lambda: (floats(8), 0.6, counters(1))),
]
