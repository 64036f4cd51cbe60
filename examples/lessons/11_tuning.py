"""Lesson 11, tuning: docs/lessons/11-tuning.md reads it cell by cell."""

# %% Something to tune
import itertools

import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO


@tw.tile_kernel
def product(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        x = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        y = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(x, y, acc)
    tw.store(c, (i, j), acc.astype(c.dtype))


rng = np.random.default_rng(0)
a = rng.standard_normal((300, 200)).astype(np.float16)
b = rng.standard_normal((200, 250)).astype(np.float16)
c = np.zeros((300, 250), np.float16)

# %% Search
space = list(itertools.product((32, 64), (64, 128), (32,)))        # on a GPU: ((64, 128), (128, 256), (32, 64))
found = tw.tune.exhaustive_search(
    space, None, quiet=True, kernel=product,
    grid_fn=lambda t: (tw.cdiv(300, t[0]), tw.cdiv(250, t[1])),
    args_fn=lambda t: (a, b, c, *t))
print(len(space), len(found.successes), found.failures)             # 4 4 ()
print(found.best.config in space, found.best.mean_us > 0)           # True True

# %% Use what was found
tm, tn, tk = found.best.config
product[(tw.cdiv(300, tm), tw.cdiv(250, tn))](a, b, c, tm, tn, tk)
print(np.allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=2e-3, atol=4e-2))    # True

# %% What fails is listed
found = tw.tune.exhaustive_search(
    [(64, 64, 32), (48, 64, 32)], None, quiet=True, kernel=product,
    grid_fn=lambda t: (tw.cdiv(300, t[0]), tw.cdiv(250, t[1])),
    args_fn=lambda t: (a, b, c, *t))
print(found.best.config, found.failures[0][:2])                     # (64, 64, 32) ((48, 64, 32), 'TileTypeError')

# %% Hints
hinted = tw.tune.exhaustive_search(
    [(4, None), (8, 2)], None, quiet=True, kernel=product,
    grid_fn=lambda h: (tw.cdiv(300, 64), tw.cdiv(250, 64)),
    args_fn=lambda h: (a, b, c, 64, 64, 32),
    hints_fn=lambda h: {"num_worker_warps": h[0], "occupancy": h[1]})
warps, occupancy = hinted.best.config
fast = product.replace_hints(num_worker_warps=warps, occupancy=occupancy)
fast[(tw.cdiv(300, 64), tw.cdiv(250, 64))](a, b, c, 64, 64, 32)
print(len(hinted.successes))                                         # 2


# %% Choose before you measure
def worth_trying(m, n, tm, tn, sms=132):
    """The share of a GPU's SMs that work, averaged over the waves of blocks, if one block fits an SM."""
    tiles = tw.cdiv(m, tm) * tw.cdiv(n, tn)
    return tiles / (tw.cdiv(tiles, sms) * sms)


for shape in ((64, 64), (128, 128), (128, 256)):
    print(shape, [round(worth_trying(n, n, *shape), 2) for n in (1024, 2048, 4096, 8192)])
    # (64, 64) [0.97, 0.97, 0.97, 0.99]
    # (128, 128) [0.48, 0.97, 0.97, 0.97]
    # (128, 256) [0.24, 0.97, 0.97, 0.97]

# %% Remember
BEST = dict[object, tuple[int, int, int]]()


def multiply(a, b, c):
    """c = a @ b, tuned at the first call with such a shape."""
    key = a.shape, b.shape, a.dtype
    if key not in BEST:
        BEST[key] = tw.tune.exhaustive_search(
            [(64, 64, 32)], None, quiet=True, kernel=product,      # more entries in earnest
            grid_fn=lambda t: (tw.cdiv(len(a), t[0]), tw.cdiv(b.shape[1], t[1])),
            args_fn=lambda t: (a, b, np.empty_like(c), *t)).best.config
    tm, tn, tk = BEST[key]
    product[(tw.cdiv(len(a), tm), tw.cdiv(b.shape[1], tn))](a, b, c, tm, tn, tk)


multiply(a, b, c)
multiply(a, b, c)
print(len(BEST))                                                    # 1


# %% Solution 1
@tw.tile_kernel
def row_sums(x, out, rows: tw.Constant[int], chunk: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((rows, chunk), tw.float32)
    for k in range(tw.num_tiles(x, axis=1, shape=(rows, chunk))):
        acc += tw.load(x, (i, k), (rows, chunk), padding_mode=ZERO)
    tw.store(out, i, tw.sum(acc, axis=1))


x, out = rng.standard_normal((100, 3000), dtype=np.float32), np.zeros(100, np.float32)
sums = tw.tune.exhaustive_search(
    [(rows, chunk) for rows in (1, 4) for chunk in (1024,)], None, quiet=True, kernel=row_sums,
    grid_fn=lambda t: (tw.cdiv(100, t[0]),), args_fn=lambda t: (x, out, *t))
print(len(sums.successes), np.allclose(out, x.sum(axis=1), atol=1e-2))     # 2 True

# %% Solution 2
print([n for n in range(256, 4097, 256) if worth_trying(n, n, 128, 256) < 0.6])
# [256, 512, 768, 1024, 1280, 1536]
