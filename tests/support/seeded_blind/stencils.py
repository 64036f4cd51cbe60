"""Stencils, convolution and pooling, each with one defect."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct

ACQUIRE, DEVICE = ct.MemoryOrder.ACQUIRE, ct.MemoryScope.DEVICE


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def inner(a, dy, dx):
    """The inner points, shifted."""
    return a.slice(0, 1 + dy, a.shape[0] - 1 + dy).slice(1, 1 + dx, a.shape[1] - 1 + dx)


@ct.tile_kernel
def heat(old, new, share, T: ct.Constant[int]):
    at = ct.bid(0), ct.bid(1)
    here = ct.load(inner(old, 0, 0), at, (T, T))
    around = ct.zeros((T, T), ct.float32)
    for dy, dx in ct.static_iter(((-1, 0), (1, 0), (0, -1), (0, 1))):
        around += ct.load(inner(old, dy, dx), at, (T, T))
    # DEFECT(races): ct.store(inner(new, 0, 0), at, here + share * (around - 4.0 * here))
    ct.store(inner(old, 0, 0), at, here + share * (around - 4.0 * here))


def heat_launch():
    old = normal(1, 30, 40)
    want = old.copy()
    around = old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
    want[1:-1, 1:-1] += np.float32(0.2) * (around - 4 * old[1:-1, 1:-1])
    return Launch((2, 3), (old, old.copy(), 0.2, 16), {1: want})


@ct.tile_kernel
def convolve(x, taps, out, TILE: ct.Constant[int]):
    """A filter of any odd length, centred; what lies outside the signal counts as zero."""
    raw, n, width = x.get_raw_memory(), x.shape[0], taps.shape[0]
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    acc = ct.zeros((TILE,), ct.float32)
    for k in range(width):
        place = at + k - width // 2
        # DEFECT(bounds): t = raw.load_offset(place, mask=(place >= 0) & (place < n))
        t = raw.load_offset(place, mask=place < n)
        acc += t * ct.gather(taps, k)
    ct.scatter(out, at, acc)


def convolve_launch():
    x, taps = normal(2, 200), normal(3, 7)
    return Launch((4,), (x, taps, np.zeros_like(x), 64), {2: np.convolve(x, taps[::-1], "same")}, 1e-4)


@ct.tile_kernel
def red_black(u, f, TILE: ct.Constant[int]):
    """Gauss-Seidel: first the even points from the odd ones, then the odd from the even ones."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    # ALSO: for colour in range(1):
    for colour in range(2):
        mine = (at % 2 == colour) & (at > 0) & (at < u.shape[0] - 1)
        # HERE(races)
        left, right = ct.gather(u, at - 1, mask=mine), ct.gather(u, at + 1, mask=mine)
        ct.scatter(u, at, 0.5 * (left + right - ct.gather(f, at)), mask=mine)


def red_black_launch():
    u, f = normal(4, 100), normal(5, 100)
    want = u.copy()
    want[2:-1:2] = 0.5 * (u[1:-2:2] + u[3::2] - f[2:-1:2])
    return Launch((4,), (u, f, 32), {0: want})


@ct.tile_kernel
def max_pool(x, out, T: ct.Constant[int]):
    """Windows of 2 by 2; where the sizes are odd, the last ones are cut."""
    i, j = ct.bid(0), ct.bid(1)
    # DEFECT(initialisation): t = ct.load(x, (i, j), (2 * T, 2 * T), padding_mode=ct.PaddingMode.NEG_INF)
    t = ct.load(x, (i, j), (2 * T, 2 * T))
    # HERE(initialisation)
    ct.store(out, (i, j), ct.max(ct.max(t.reshape((T, 2, T, 2)), axis=3), axis=1))


def max_pool_launch():
    x = normal(6, 21, 13)
    padded = np.pad(x, ((0, 1), (0, 1)), constant_values=-np.inf)
    want = padded.reshape(11, 2, 7, 2).max(axis=(1, 3))
    return Launch((3, 2), (x, np.zeros((11, 7), np.float32), 4), {1: want})


@ct.tile_kernel
def two_sweeps(u, v, arrived, TILE: ct.Constant[int]):
    """A sweep from u to v and one back, with a barrier of all blocks between them."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    ct.scatter(v, at, 0.5 * (ct.gather(u, at - 1) + ct.gather(u, at + 1)))
    # MISSING: return
    ct.atomic_add(arrived, 0, 1)
    # HERE(progress)
    while ct.load(arrived, 0, (), memory_order=ACQUIRE, memory_scope=DEVICE) < ct.num_blocks(0) + 1:
        pass
    ct.scatter(u, at, 0.5 * (ct.gather(v, at - 1) + ct.gather(v, at + 1)))


def two_sweeps_launch():
    u = normal(7, 100)
    padded = np.pad(u, 1)
    return Launch((4,), (u, np.zeros_like(u), np.zeros(1, np.int32), 32), {1: 0.5 * (padded[:-2] + padded[2:])})
