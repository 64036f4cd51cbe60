"""Kernels that do not end. The line of the loop says so."""

from __future__ import annotations

import numpy as np

import tilewright as tw

ACQUIRE, RELEASE = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE
DEVICE = tw.MemoryScope.DEVICE


def later_block(flags, out):
    i = tw.bid(0)
    if i + 1 < tw.num_blocks(0):
        while tw.load(flags, i + 1, (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:  # <- progress
            pass
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)
    tw.store(out, i, 1)


def lock_not_freed(lock, out):
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:  # <- progress
        pass
    tw.store(out, tw.bid(0), 1)


def lock_taken_twice(lock, out):
    while tw.atomic_xchg(lock, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_xchg(lock, 0, 1, memory_order=ACQUIRE) == 1:  # <- progress
        pass
    tw.store(out, tw.bid(0), 1)
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


def wrong_flag(flags, out):
    i = tw.bid(0)
    while tw.load(flags, i, (), memory_order=ACQUIRE, memory_scope=DEVICE) != i:  # <- progress
        pass
    tw.store(flags, 0, i + 1, memory_order=RELEASE, memory_scope=DEVICE)
    tw.store(out, i, 1)


def all_arrive(count, out):
    tw.atomic_add(count, 0, 1)
    while tw.atomic_add(count, 0, 0) < tw.num_blocks(0):  # <- progress
        pass
    tw.store(out, tw.bid(0), 1)


def never_counts(out, n):
    i = 0
    while i < n:  # <- progress
        tw.store(out, tw.bid(0), i)


def some_blocks_stay(out):
    i = tw.bid(0)
    n = i
    while n != 0:  # <- progress
        n = n - 1 if i < 3 else n
    tw.store(out, i, n)


def converges_nowhere(x, out):
    t = tw.load(x, 0, ())
    while t > 1.0:  # <- progress
        t = t * 0.5 if t > 4.0 else t
    tw.store(out, 0, t)


def values_toggle(x, out):
    s = tw.load(x, 0, ())
    while s != 2:  # <- progress
        s = 1 - s
    tw.store(out, tw.bid(0), s)


def memory_toggles(x, out):
    while tw.load(x, 0, ()) != 2:  # <- progress
        tw.store(x, 0, 1 - tw.load(x, 0, ()))
    tw.store(out, tw.bid(0), 1)


def taken_and_given_back(lock, out):
    taken = 0
    while taken == 0:  # <- progress
        before = tw.atomic_xchg(lock, 0, 2, memory_order=ACQUIRE)
        if before == 0:
            taken = 1
        else:
            tw.atomic_xchg(lock, 0, before, memory_order=RELEASE)
    tw.store(out, tw.bid(0), 1)


def list_in_a_ring(follows, out):
    place = tw.bid(0)
    while place >= 0:  # <- progress
        place = tw.load(follows, place, ())
    tw.store(out, tw.bid(0), place)


def ring_of_waits(flags, out):
    i = tw.bid(0)
    while tw.load(flags, (i + 1) % tw.num_blocks(0), (), memory_order=ACQUIRE, memory_scope=DEVICE) == 0:  # <- progress
        pass
    tw.store(flags, i, 1, memory_order=RELEASE, memory_scope=DEVICE)
    tw.store(out, i, 1)


def search_without_step(x, out, n):
    low, high = 0, n
    while low < high:  # <- progress
        middle = (low + high) // 2
        if tw.load(x, middle, ()) < 5:
            low = middle
        else:
            high = middle
    tw.store(out, tw.bid(0), low)


def many_values_toggle(x, out):
    t = tw.load(x, tw.bid(0), 64)
    while tw.sum(t) != 1:  # <- progress
        t = -t
        tw.store(out, tw.bid(0), t)


def ints(n):
    return np.zeros(n, np.int32)


CASES = [
    (later_block, 4, lambda: (ints(4), ints(4))),
    (lock_not_freed, 3, lambda: (ints(1), ints(3))),
    (lock_taken_twice, 3, lambda: (ints(1), ints(3))),
    (wrong_flag, 3, lambda: (ints(3), ints(3))),
    (all_arrive, 3, lambda: (ints(1), ints(3))),
    (never_counts, 3, lambda: (ints(3), 5)),
    (some_blocks_stay, 5, lambda: (ints(5),)),
    (values_toggle, 2, lambda: (ints(1), ints(2))),
    (memory_toggles, 1, lambda: (ints(1), ints(1))),
    (taken_and_given_back, 2, lambda: (ints(1) + 1, ints(2))),
    (list_in_a_ring, 3, lambda: (np.roll(np.arange(100, dtype=np.int32), -1), ints(3))),
    (ring_of_waits, 3, lambda: (ints(3), ints(3))),
    (search_without_step, 2, lambda: (np.arange(8, dtype=np.int32), ints(2), 8)),
    (many_values_toggle, 3, lambda: (np.arange(192, dtype=np.int32), ints(192))),
    (converges_nowhere, 1, lambda: (np.full(1, 99, np.float32), np.zeros(1, np.float32))),
]
