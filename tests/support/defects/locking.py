"""Locks that blocks take in different orders, which deadlocks when they run at the same time; and right kernels that
look alike. The line where a block waits while it holds a lock says so."""

from __future__ import annotations

import numpy as np

import tilewright as tw

ACQUIRE, RELEASE = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE
DEVICE = tw.MemoryScope.DEVICE


def free(locks, number):
    tw.atomic_xchg(locks, number, 0, memory_order=RELEASE)


def two_in_both_orders(locks, total):
    i = tw.bid(0)
    while tw.atomic_cas(locks, i % 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_cas(locks, (i + 1) % 2, 0, 1, memory_order=ACQUIRE) == 1:  # <- progress
        pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    free(locks, 0)
    free(locks, 1)


def philosophers(forks, meals):
    i, n = tw.bid(0), tw.num_blocks(0)
    while tw.atomic_xchg(forks, i, 1, memory_order=ACQUIRE) != 0:
        pass
    while tw.atomic_xchg(forks, (i + 1) % n, 1, memory_order=ACQUIRE) != 0:  # <- progress
        pass
    tw.store(meals, i, 1)
    free(forks, i)
    free(forks, (i + 1) % n)


def waits_inside_of_a_branch(locks, total):
    first = tw.bid(0) % 2
    taken = False
    while not taken:
        taken = tw.atomic_cas(locks, first, 0, 1) == 0
    taken = False
    while not taken:  # the loop tries at the next line
        taken = tw.atomic_cas(locks, 1 - first, 0, 1) == 0  # <- progress
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    free(locks, 1)
    free(locks, 0)


def all_of_them(locks, total):
    i, n = tw.bid(0), locks.shape[0]
    for k in range(n):
        while tw.atomic_cas(locks, (i + k) % n, 0, 1, memory_order=ACQUIRE) == 1:  # <- progress
            pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    for k in range(n):
        free(locks, k)


def zeros(*lengths):
    return tuple(np.zeros(n, np.int32) for n in lengths)


CASES = [
    (two_in_both_orders, 2, lambda: zeros(2, 1)),
    (philosophers, 3, lambda: zeros(3, 3)),
    (waits_inside_of_a_branch, 2, lambda: zeros(2, 1)),
    (all_of_them, 3, lambda: zeros(3, 1)),
]


def lower_number_first(locks, total):
    a, b = tw.bid(0) % 2, (tw.bid(0) + 1) % 2
    while tw.atomic_cas(locks, min(a, b), 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_cas(locks, max(a, b), 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    free(locks, a)
    free(locks, b)


def under_a_third_lock(locks, total):
    i = tw.bid(0)
    while tw.atomic_cas(locks, 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_cas(locks, i % 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_cas(locks, (i + 1) % 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    free(locks, 0)
    free(locks, 1)
    free(locks, 2)


def freed_before_the_next(locks, total):
    i = tw.bid(0)
    for k in range(2):
        one = (i + k) % 2
        while tw.atomic_cas(locks, one, 0, 1, memory_order=ACQUIRE) == 1:
            pass
        tw.store(total, one, tw.load(total, one, ()) + 1)
        free(locks, one)


def one_after_the_other(locks, total, turn):
    i = tw.bid(0)
    while tw.load(turn, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) != i:
        pass
    while tw.atomic_cas(locks, i % 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    while tw.atomic_cas(locks, (i + 1) % 2, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(total, 0, tw.load(total, 0, ()) + 1)
    free(locks, 0)
    tw.store(locks, 1, 0, memory_order=RELEASE, memory_scope=DEVICE)
    tw.store(turn, 0, i + 1, memory_order=RELEASE, memory_scope=DEVICE)


def sums_by_comparing(sums):
    i = tw.bid(0)
    for k in range(2):
        place = (i + k) % 2
        old = tw.load(sums, place, (), memory_order=tw.MemoryOrder.RELAXED, memory_scope=DEVICE)
        seen = tw.atomic_cas(sums, place, old, old + 5)
        while seen != old:
            old = seen
            seen = tw.atomic_cas(sums, place, old, old + 5)


CLEAN = [
    (lower_number_first, 3, lambda: zeros(2, 1)),
    (under_a_third_lock, 3, lambda: zeros(3, 1)),
    (freed_before_the_next, 3, lambda: zeros(2, 2)),
    (one_after_the_other, 3, lambda: zeros(2, 1, 1)),
    (sums_by_comparing, 3, lambda: zeros(2)),
]
