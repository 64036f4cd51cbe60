"""Lesson 5, the three levels of BLAS: docs/lessons/05-blas.md reads it cell by cell."""

# %% Two limits
import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO

BANDWIDTH = 3.35e12         # bytes a second from memory: NVIDIA's figure for the H100 SXM
FLOAT32 = 67e12             # operations a second in float32
TENSOR = 989e12             # the same of tensor cores in float16, float32 sums

print(round(FLOAT32 / BANDWIDTH), round(TENSOR / BANDWIDTH))        # 20 295


# %% Level 1
@tw.tile_kernel
def axpy(alpha, x, y, tile: tw.Constant[int]):
    i = tw.bid(0)
    tw.store(y, i, alpha * tw.load(x, i, tile) + tw.load(y, i, tile))


rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 4096), dtype=np.float32)
want = 1.5 * x.astype(np.float64) + y
axpy[(4,)](1.5, x, y, 1024)
print(np.abs(y - want).max() < 1e-6)                                # True


# %% Level 2
@tw.tile_kernel
def gemv(a, x, y, tm: tw.Constant[int], tk: tw.Constant[int]):
    i = tw.bid(0)
    acc = tw.zeros((tm, tk), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        rows = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        acc += rows * tw.load(x, k, tk, padding_mode=ZERO)
    tw.store(y, i, tw.sum(acc, axis=1))


a, x = rng.standard_normal((256, 512), dtype=np.float32), rng.standard_normal(512, dtype=np.float32)
y = np.zeros(256, np.float32)
gemv[(32,)](a, x, y, 8, 128)
print(np.abs(y - a.astype(np.float64) @ x).max() < 1e-4)            # True


# %% Level 3
@tw.tile_kernel
def gemm(a, b, c, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(a, axis=1, shape=(tm, tk))):
        left = tw.load(a, (i, k), (tm, tk), padding_mode=ZERO)
        right = tw.load(b, (k, j), (tk, tn), padding_mode=ZERO)
        acc = tw.mma(left, right, acc)
    tw.store(c, (i, j), acc)


a, b = rng.standard_normal((2, 256, 256), dtype=np.float32)
c = np.zeros((256, 256), np.float32)
gemm[(4, 4)](a, b, c, 64, 64, 16)
print(np.abs(c - a.astype(np.float64) @ b).max() < 1e-3)            # True


# %% Intensity
def intensity(operations, elements, size):
    """Operations per byte, if each element is read or written once."""
    return operations / (elements * size)


n = 8192
print(round(intensity(2 * n, 3 * n, 4), 2))                         # 0.17
print(round(intensity(2 * n * n, n * n + 2 * n, 4), 2))             # 0.5
print(round(intensity(2 * n**3, 3 * n * n, 4)))                     # 1365
print(round(intensity(2 * n**3, 3 * n * n, 2)))                     # 2731


# %% The roofline
def reachable(operations_per_byte, peak):
    """The operations a second that a kernel of this intensity can reach at most, in units of 10^12."""
    return min(peak, operations_per_byte * BANDWIDTH) / 1e12


print(round(reachable(1 / 6, FLOAT32), 2))                          # 0.56
print(round(reachable(1 / 2, FLOAT32), 2))                          # 1.68
print(round(reachable(1365, FLOAT32)))                              # 67
print(round(reachable(2731, TENSOR)))                               # 989


# %% Where the crossing is
for n in (64, 256, 512, 1024, 4096):
    print(n, round(reachable(intensity(2 * n**3, 3 * n * n, 2), TENSOR)))
    # 64 71
    # 256 286
    # 512 572
    # 1024 989
    # 4096 989


# %% What a kernel really moves
def bytes_moved(kernel, grid, *args):
    """The bytes that all blocks of a launch load and store."""
    rows = tw.trace(kernel, grid, *args).rows
    return sum(row.value.nbytes for row in rows if row.op in ("load", "store"))


least = 3 * 256 * 256 * 4
for tile in (16, 64, 128):
    grid = 256 // tile, 256 // tile
    print(tile, round(bytes_moved(gemm, grid, a, b, c, tile, tile, 16) / least, 1))
    # 16 11.0
    # 64 3.0
    # 128 1.7


# %% Solution 1
def solve(n, k):
    """The intensity of (n x k) times (k x n) in float16."""
    return intensity(2 * n * n * k, 2 * n * k + n * n, 2)


print([round(solve(4096, k)) for k in (32, 64, 128, 256, 1024)])    # [32, 62, 120, 228, 683]


# %% Solution 2
def decode(batch, n=8192):
    """The intensity of a few rows times a square matrix of weights in float16."""
    return intensity(2 * batch * n * n, n * n + 2 * batch * n, 2)


print([round(decode(batch)) for batch in (1, 16, 64, 256, 512)])    # [1, 16, 63, 241, 455]
