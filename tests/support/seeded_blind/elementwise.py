"""Element-wise kernels, each with one defect (see twins.py for the marks)."""

import numpy as np
from support.seeded_blind.launches import Launch

import tilewright as ct


@ct.tile_kernel
def saxpy(a, x, y, out, TILE: ct.Constant[int]):
    """out = a * x + y, with a position for each lane as one ports it from a thread per element."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    xs = ct.gather(x, at)
    # DEFECT(bounds): ys = ct.gather(y, at)
    ys = ct.gather(y, at, check_bounds=False)
    ct.scatter(out, at, a * xs + ys)


def saxpy_launch():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 1000), dtype=np.float32)
    return Launch((4,), (2.0, x, y, np.zeros_like(x), 256), {3: 2 * x + y})


@ct.tile_kernel
def scaled_copy(x, out, factor, TILE: ct.Constant[int]):
    """A loop over tiles with the grid as its step, so that any number of blocks does any length."""
    # ALSO: for k in range(ct.bid(0), ct.cdiv(x.shape[0], TILE), ct.num_blocks(0)):
    for k in range(ct.bid(0), x.shape[0] // TILE, ct.num_blocks(0)):
        t = ct.load(x, k, TILE)
        # HERE(initialisation)
        ct.store(out, k, t * factor)


def scaled_copy_launch():
    x = np.arange(1000, dtype=np.float32)
    return Launch((5,), (x, np.zeros_like(x), 0.5, 64), {1: x / 2})


@ct.tile_kernel
def high_pass(x, state, out, TILE: ct.Constant[int]):
    """out[i] = x[i] - x[i - 1]; the decayed signal is kept for the next call."""
    at = ct.bid(0) * TILE + ct.arange(TILE, dtype=ct.int32)
    here, before = ct.gather(x, at), ct.gather(x, at - 1)
    ct.scatter(out, at, here - before)
    # DEFECT(races): ct.scatter(state, at, here * 0.5)
    ct.scatter(x, at, here * 0.5)


def high_pass_launch():
    x = np.random.default_rng(2).standard_normal(300, dtype=np.float32)
    want = x - np.concatenate([[0], x[:-1]])
    return Launch((5,), (x, np.zeros_like(x), np.zeros_like(x), 64), {1: x * 0.5, 2: want})


@ct.tile_kernel
def bias_relu(x, bias, out, TILE: ct.Constant[int]):
    """relu(x + bias) over rows; the promise lets the compiler take wide accesses."""
    row, j = ct.bid(0), ct.bid(1)
    # DEFECT(bounds): n = ct.assume_divisible_by(x.shape[1], 4)
    n = ct.assume_divisible_by(x.shape[1], 16)
    column = j * TILE + ct.arange(TILE, dtype=ct.int32)
    t = x.get_raw_memory().load_offset(row * n + column, mask=column < n)
    b = ct.gather(bias, column)
    ct.scatter(out, (row, column), ct.maximum(t + b, 0.0))


def bias_relu_launch():
    rng = np.random.default_rng(3)
    x, bias = rng.standard_normal((7, 100), dtype=np.float32), rng.standard_normal(100, dtype=np.float32)
    return Launch((7, 2), (x, bias, np.zeros_like(x), 64), {2: np.maximum(x + bias, 0)})


@ct.tile_kernel
def discounted(price, params, out, TILE: ct.Constant[int]):
    """params: rate, years, spread. Discounts a book of prices."""
    rate, years = ct.load(params, 0, ()), ct.load(params, 1, ())
    # DEFECT(bounds): spread = ct.load(params, 2, ())
    spread = ct.load(params, 3, ())
    i = ct.bid(0)
    t = ct.load(price, i, TILE)
    ct.store(out, i, t * ct.exp(-(rate + spread) * years))


def discounted_launch():
    price = np.random.default_rng(4).uniform(1, 100, 200).astype(np.float32)
    params = np.array([0.03, 2.0, 0.01], np.float32)
    return Launch((4,), (price, params, np.zeros_like(price), 64), {2: price * np.exp(-0.08)}, 1e-4)


@ct.tile_kernel
def halve_windows(x, out, TILE: ct.Constant[int], STEP: ct.Constant[int]):
    """Overlapping windows come in, and each is to leave its first STEP elements."""
    i = ct.bid(0)
    window = x.tiled_view(TILE, padding_mode=ct.PaddingMode.ZERO, traversal_steps=(STEP,)).load(i)
    # DEFECT(races): out.tiled_view(STEP).store(i, window.extract((0,), (STEP,)) * 0.5)
    out.tiled_view(TILE, traversal_steps=(STEP,)).store(i, window * 0.5)


def halve_windows_launch():
    x = np.arange(120, dtype=np.float32)
    return Launch((8,), (x, np.zeros_like(x), 32, 16), {1: x / 2})
