"""Atomic operations of every kind and dtype, bounds and duplicates, locks and flags between blocks, raw memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from catalogue.case import Case
from catalogue.memory import values

import tilewright as tw
from tilewright.backend_ptx.targets import TARGETS

RELAXED, ACQUIRE, RELEASE = tw.MemoryOrder.RELAXED, tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE
DEVICE = tw.MemoryScope.DEVICE
INTEGERS = (np.int32, np.int64, np.uint32, np.uint64)
UFUNC = {"add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and, "or": np.bitwise_or,
         "xor": np.bitwise_xor}


def updates(kind: str, order: tw.MemoryOrder) -> Any:
    op = getattr(tw, f"atomic_{kind}")

    @tw.tile_kernel
    def kernel(at, x, out, tile: tw.Constant[int]):
        i = tw.bid(0)
        place = tw.load(at, (i,), (tile,), padding_mode=tw.PaddingMode.ZERO)
        op(out, place, tw.load(x, (i,), (tile,), padding_mode=tw.PaddingMode.ZERO), memory_order=order)

    return kernel


KERNELS = {(kind, order): updates(kind, order) for kind in UFUNC for order in (RELAXED, tw.MemoryOrder.ACQ_REL)}


@tw.tile_kernel
def tickets(counter, out, tile: tw.Constant[int]):
    # Old values of one counter: every element of every block gets a number of its own.
    place = tw.bid(0) * tile + tw.arange(tile, dtype=tw.int32)
    got = tw.atomic_add(counter, tw.zeros((tile,), tw.int32), 1, memory_order=RELAXED)
    tw.scatter(out, got, tw.full((tile,), 7, tw.int32) + 0 * place)


@tw.tile_kernel
def old_values(at, x, out, old, tile: tw.Constant[int]):
    i = tw.load(at, (0,), (tile,))
    got = tw.atomic_xchg(out, i, tw.load(x, (0,), (tile,)))
    tw.store(old, (0,), tw.where((i >= 0) & (i < out.shape[0]), got, 0))


@tw.tile_kernel
def swaps(at, expected, x, out, old, tile: tw.Constant[int]):
    i = tw.load(at, (0,), (tile,))
    tw.store(old, (0,), tw.atomic_cas(out, i, tw.load(expected, (0,), (tile,)), tw.load(x, (0,), (tile,))))


@tw.tile_kernel
def locked_sum(lock, x, out, tile: tw.Constant[int]):
    part = tw.load(x, (tw.bid(0), 0), (1, tile))
    while tw.atomic_cas(lock, 0, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(out, (0, 0), tw.load(out, (0, 0), (1, tile)) + part)
    tw.atomic_xchg(lock, 0, 0, memory_order=RELEASE)


@tw.tile_kernel
def in_turn(flag, out):
    # Each block waits for the one before it, by ordered loads and stores.
    i = tw.bid(0)
    while tw.load(flag, (0,), (), memory_order=ACQUIRE, memory_scope=DEVICE) < i:
        pass
    tw.store(out, (0,), tw.load(out, (0,), (64,)) * 3 + i)
    tw.store(flag, (0,), i + 1, memory_order=RELEASE, memory_scope=DEVICE)


@tw.tile_kernel
def view_updates(x, out, tm: tw.Constant[int], tn: tw.Constant[int]):
    view = out.tiled_view((tm, tn))
    view.atomic_store_add((0, tw.bid(0) % 2), tw.load(x, (tw.bid(0), 0), (tm, tn)))


@tw.tile_kernel
def raw_memory(x, out, total):
    place = tw.arange(16, dtype=tw.int32)
    got = x.get_raw_memory().load_offset(place * 2 + tw.bid(0) * 32, mask=place < 12, padding_value=5)
    out.get_raw_memory().store_offset(place + tw.bid(0) * 16, got, mask=place < 14)
    total.get_raw_memory().atomic_add_offset(tw.zeros((16,), tw.int32), got, mask=place < 12, memory_order=RELAXED)


@tw.tile_kernel
def ordered_copy(x, out):
    t = tw.load(x, (tw.bid(0),), (64,), memory_order=ACQUIRE, memory_scope=DEVICE, padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (tw.bid(0),), t, memory_order=RELEASE, memory_scope=tw.MemoryScope.SYS)


@tw.tile_kernel
def relaxed_copy(x, out):
    t = tw.load(x, (tw.bid(0), 0), (2, 4), memory_order=RELAXED, memory_scope=tw.MemoryScope.BLOCK)
    tw.store(out, (tw.bid(0), 0), t, memory_order=RELAXED, memory_scope=DEVICE, order="F")


@tw.tile_kernel
def branches(x, out, old):
    i = tw.bid(0)
    v = tw.load(x, (i,), ())
    if v > 0:
        got = tw.atomic_add(out, (i % 2, 1), v)
    else:
        got = tw.atomic_max(out, (i % 2, 0), -v)
    for k in range(i):
        tw.atomic_xor(out, (1, 2), v + k)
    tw.scatter(old, i, got)


def branches_reference(x: np.ndarray, out: np.ndarray, old: np.ndarray) -> tuple[np.ndarray, ...]:
    for i, v in enumerate(x):
        place = (i % 2, 1 if v > 0 else 0)
        old[i] = out[place]
        out[place] = out[place] + v if v > 0 else max(out[place], -v)
        for k in range(i):
            out[1, 2] ^= v + k
    return (out,)


def update_case(kind: str, dtype: Any, order: tw.MemoryOrder, blocks: int = 3, tile: int = 64) -> Case:
    integer = np.dtype(dtype).kind in "iu"
    n = blocks * tile - 9

    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        at = rng.integers(-2, 12, n).astype(np.int32)  # the array has 10 places
        x = rng.integers(0, 1000, n).astype(dtype) if integer else values(rng, (n,), np.float32).astype(dtype)
        start = rng.integers(0, 100, 10).astype(dtype) if integer else np.zeros(10, dtype)
        return at, x, start, tile

    def reference(at: np.ndarray, x: np.ndarray, out: np.ndarray, tile: int) -> tuple[np.ndarray, ...]:
        at, x = np.concatenate([at, np.zeros(9, at.dtype)]), np.concatenate([x, np.zeros(9, x.dtype)])
        wide = out.copy() if integer else out.astype(np.float64)
        ok = (at >= 0) & (at < 10)
        UFUNC[kind].at(wide, at[ok], x[ok] if integer else x[ok].astype(np.float64))
        return (wide,)

    def bound(want: np.ndarray) -> Any:
        # About 14 additions per place, of numbers up to about 400, partial sums included below 4000.
        return 20 * 4000 * float(ml_dtypes.finfo(dtype).eps)

    name = f"atomic-{kind}-{np.dtype(dtype).name}-{order.value}"
    targets = tuple(name for name, t in TARGETS.items() if t.has_bf16_atomic or dtype is not ml_dtypes.bfloat16)
    return Case(name, KERNELS[kind, order], (blocks,), make, (2,), reference, None if integer else bound, targets)


def xchg_case(dtype: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        return (rng.permutation(40)[:32].astype(np.int32) - 2, values(rng, (32,), dtype), values(rng, (30,), dtype),
                np.zeros(32, dtype), 32)

    def reference(at: Any, x: Any, out: Any, old: Any, tile: int) -> tuple[np.ndarray, ...]:
        ok = (at >= 0) & (at < 30)
        old[ok] = out[at[ok]]
        out[at[ok]] = x[ok]
        return out, old

    return Case(f"atomic-xchg-{np.dtype(dtype).name}", old_values, (1,), make, (2, 3), reference)


def cas_case(dtype: Any) -> Case:
    def make(rng: np.random.Generator) -> tuple[Any, ...]:
        at = rng.permutation(40)[:32].astype(np.int32) - 2
        out = values(rng, (30,), dtype)
        expected = np.where(rng.random(32) < 0.5, out[np.clip(at, 0, 29)], values(rng, (32,), dtype)).astype(dtype)
        return at, expected, values(rng, (32,), dtype), out, np.zeros(32, dtype), 32

    def reference(at: Any, expected: Any, x: Any, out: Any, old: Any, tile: int) -> tuple[np.ndarray, ...]:
        ok = (at >= 0) & (at < 30)
        old[:] = expected
        old[ok] = out[at[ok]]
        hit = ok & (old == expected)
        out[at[hit]] = x[hit]
        return out, old

    return Case(f"atomic-cas-{np.dtype(dtype).name}", swaps, (1,), make, (3, 4), reference)


def raw_reference(x: np.ndarray, out: np.ndarray, total: np.ndarray) -> tuple[np.ndarray, ...]:
    for block in range(2):
        got = np.where(np.arange(16) < 12, x[block * 32 : block * 32 + 32 : 2], 5)
        out[block * 16 : block * 16 + 14] = got[:14]
        total[0] += got[:12].sum()
    return out, total


def cases() -> Iterator[Case]:
    for kind in UFUNC:
        for dtype in INTEGERS:
            yield update_case(kind, dtype, RELAXED)
        yield update_case(kind, np.int32, tw.MemoryOrder.ACQ_REL)
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        yield update_case("add", dtype, RELAXED)
    yield update_case("add", np.float32, tw.MemoryOrder.ACQ_REL)
    for dtype in (*INTEGERS, np.float32, np.float64):
        yield xchg_case(dtype)
        yield cas_case(dtype)
    yield Case("atomic-tickets", tickets, (4,), lambda rng: (np.zeros(1, np.int32), np.zeros(160, np.int32), 32),
               (0, 1), lambda c, out, tile: (c + 128, np.where(np.arange(160) < 128, 7, 0).astype(np.int32)))
    yield Case("atomic-tickets-wide", tickets, (2,),
               lambda rng: (np.zeros(1, np.int32), np.zeros(1024, np.int32), 512), (0, 1),
               lambda c, out, tile: (c + 1024, np.full(1024, 7, np.int32)))
    yield Case("locked-sum", locked_sum, (6,),
                 lambda rng: (np.zeros(1, np.int32), rng.integers(-50, 50, (6, 256)).astype(np.float32),
                              np.zeros((1, 256), np.float32), 256), (0, 2),
                 lambda lock, x, out, tile: (lock, x.sum(0, keepdims=True)))
    yield Case("in-turn", in_turn, (5,), lambda rng: (np.zeros(1, np.int32), rng.integers(0, 9, 64).astype(np.int32)),
                 (0, 1), lambda flag, out: (flag + 5, out * 243 + sum(i * 3 ** (4 - i) for i in range(5))))
    yield Case("view-atomic-add", view_updates, (4,),
                 lambda rng: (rng.integers(0, 99, (32, 16)).astype(np.int32), np.zeros((7, 30), np.int32), 8, 16), (1,),
                 lambda x, out, tm, tn: (np.concatenate(
                     [x[:8] + x[16:24], x[8:16] + x[24:]], axis=1)[:7, :30].astype(np.int32),))
    yield Case("raw-memory", raw_memory, (2,),
                 lambda rng: (rng.integers(0, 99, 64).astype(np.int32), np.zeros(32, np.int32), np.zeros(1, np.int32)),
                 (1, 2), raw_reference)
    for dtype in (np.bool_, np.int8, np.uint16, np.int32, np.int64, np.float16, ml_dtypes.bfloat16, np.float32,
                  np.float64):
        yield Case(f"ordered-copy-{np.dtype(dtype).name}", ordered_copy, (3,),
                   lambda rng, dtype=dtype: (values(rng, (150,), dtype), np.zeros(150, dtype)), (1,),
                   lambda x, out: (x.copy(),))
        yield Case(f"relaxed-copy-{np.dtype(dtype).name}", relaxed_copy, (3,),
                   lambda rng, dtype=dtype: (values(rng, (6, 4), dtype), np.zeros((4, 6), dtype)), (1,),
                   lambda x, out: (x.T.copy(),))
    # Blocks of a GPU come in any order: old values are compared for those that commute alone.
    yield Case("atomics-in-branches", branches, (7,),
               lambda rng: (rng.integers(-9, 9, 7).astype(np.int32), np.zeros((2, 3), np.int32), np.zeros(7, np.int32)),
               (1,), branches_reference)
