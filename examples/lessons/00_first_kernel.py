"""Your first kernel: docs/first-kernel.md reads it cell by cell."""

# %% The kernel
import numpy as np

import tilewright as tw


@tw.tile_kernel
def double(x, out):
    i = tw.bid(0)                   # which block am I: 0, 1 or 2
    t = tw.load(x, i, 4)            # tile i of x: elements 4 i to 4 i + 3
    tw.store(out, i, t * 2)         # tile i of out


# %% The launch
x = np.arange(12, dtype=np.float32)
out = np.zeros_like(x)
double[(3,)](x, out)                # a grid of three blocks
print(out)                          # [ 0.  2.  4.  6.  8. 10. 12. 14. 16. 18. 20. 22.]


# %% Look over its shoulder
@tw.tile_kernel
def talking(x):
    i = tw.bid(0)
    print("block", i, "has", tw.load(x, i, 4))
    # block 0 has [0.000000, 1.000000, 2.000000, 3.000000]
    # block 1 has [4.000000, 5.000000, 6.000000, 7.000000]
    # block 2 has [8.000000, 9.000000, 10.000000, 11.000000]


talking[(3,)](x)

# %% An end that does not fit
x = np.arange(10, dtype=np.float32)
out = np.zeros_like(x)
double[(tw.cdiv(10, 4),)](x, out)   # cdiv rounds up: three blocks
print(out)                          # [ 0.  2.  4.  6.  8. 10. 12. 14. 16. 18.]

# %% Too few blocks
out = np.zeros_like(x)
double[(2,)](x, out)
print(out)                          # [ 0.  2.  4.  6.  8. 10. 12. 14.  0.  0.]


# %% Constants
@tw.tile_kernel
def scale(x, out, factor, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) * factor)


x = np.ones(1000, np.float32)
out = np.zeros_like(x)
scale[(tw.cdiv(1000, 256),)](x, out, 0.5, 256)
print(out.sum())                    # 500.0

# %% A mistake
try:
    scale[(1,)](x, out, 0.5, 100)
except tw.TileTypeError as error:
    print(error.message)
    # load: argument "shape" has a length of 100; the lengths of a tile are powers of two


# %% Solution 1
@tw.tile_kernel
def subtract(x, y, out, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(out, i, tw.load(x, i, tile) - tw.load(y, i, tile))


x, y = np.arange(100, dtype=np.float32), np.ones(100, np.float32)
out = np.zeros_like(x)
subtract[(tw.cdiv(100, 16),)](x, y, out, 16)
print(np.array_equal(out, x - y))   # True


# %% Solution 2
@tw.tile_kernel
def reverse_tiles(x, out):
    i = tw.bid(0)
    tw.store(out, tw.num_blocks(0) - 1 - i, tw.load(x, i, 4))


x = np.arange(12, dtype=np.float32)
out = np.zeros_like(x)
reverse_tiles[(3,)](x, out)
print(out)                          # [ 8.  9. 10. 11.  4.  5.  6.  7.  0.  1.  2.  3.]
