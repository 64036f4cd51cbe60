"""Lesson 10, quantised GEMM: docs/lessons/10-quantised.md reads it cell by cell."""

# %% Quantise
import ml_dtypes
import numpy as np

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
GROUP = 64

rng = np.random.default_rng(0)
weights = rng.standard_normal((128, 256)).astype(np.float32)        # (n, k): a row for each output


def quantise(w, group):
    """int8 numbers and a float16 scale for each `group` of inputs: w is about q * scale."""
    parts = w.reshape(len(w), -1, group)
    scale = (np.abs(parts).max(axis=2) / 127).astype(np.float16)
    q = np.rint(parts / scale[:, :, None].astype(np.float32))
    return np.clip(q, -127, 127).astype(np.int8).reshape(w.shape), scale


q, scale = quantise(weights, GROUP)
back = q * np.repeat(scale.astype(np.float32), GROUP, axis=1)
print(q.nbytes + scale.nbytes, weights.nbytes // 2)     # 33792 65536
print(np.abs(back - weights).max() < 0.02)              # True


# %% Multiply
@tw.tile_kernel
def int8_weights(x, q, scale, out, tm: tw.Constant[int], tn: tw.Constant[int], group: tw.Constant[int]):
    """x: (m, k) float16, q: (n, k) int8, scale: (n, k // group) float16, out: (m, n)."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for g in range(scale.shape[1]):
        a = tw.load(x, (i, g), (tm, group), padding_mode=ZERO)
        w = tw.load(q, (g, j), (group, tn), order="F", padding_mode=ZERO)
        s = tw.load(scale, (g, j), (1, tn), order="F", padding_mode=ZERO)
        part = tw.mma(a, w.astype(tw.float16), tw.zeros((tm, tn), tw.float32))      # int8 is exact in float16
        acc += part * s.astype(tw.float32)
    tw.store(out, (i, j), acc.astype(out.dtype))


x = rng.standard_normal((20, 256)).astype(np.float16)
out = np.zeros((20, 128), np.float16)
int8_weights[(1, 2)](x, q, scale, out, 32, 64, GROUP)
exact = x.astype(np.float64) @ back.T.astype(np.float64)
print(np.allclose(out, exact, rtol=2e-3, atol=2e-2))    # True
true = x.astype(np.float64) @ weights.T.astype(np.float64)
print(round(float(np.linalg.norm(out - true) / np.linalg.norm(true)), 3))   # 0.006


# %% int8 by int8
@tw.tile_kernel
def int8_both(x, x_scale, w, w_scale, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """x: (m, k) int8 with a scale for each row, w: (n, k) int8 with a scale for each output."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.int32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        a = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        b = tw.load(w, (k, j), (tk, tn), order="F", padding_mode=ZERO)
        acc = tw.mma(a, b, acc)                         # exact: sums of integers
    s = tw.load(x_scale, i, tm)[:, None] * tw.load(w_scale, j, tn)
    tw.store(out, (i, j), (acc.astype(tw.float32) * s).astype(out.dtype))


def quantise_rows(w):
    s = (np.abs(w).max(axis=1) / 127).astype(np.float32)
    return np.rint(w / s[:, None]).astype(np.int8), s


qx, sx = quantise_rows(x.astype(np.float32))
qw, sw = quantise_rows(weights)
int8_both[(1, 2)](qx, sx, qw, sw, out, 32, 64, 64)
print(round(float(np.linalg.norm(out - true) / np.linalg.norm(true)), 3))   # 0.01


# %% float8
@tw.tile_kernel
def float8(x, w, out, scale: float, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        a = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        b = tw.load(w, (k, j), (tk, tn), order="F", padding_mode=ZERO)
        acc = tw.mma(a, b, acc)
    tw.store(out, (i, j), (acc * scale).astype(out.dtype))


f8 = ml_dtypes.float8_e4m3fn
float8[(1, 2)](x.astype(f8), weights.astype(f8), out, 1.0, 32, 64, 64)
print(round(float(np.linalg.norm(out - true) / np.linalg.norm(true)), 3))   # 0.038


# %% A scale for each 32
@tw.tile_kernel
def block_scaled(x, x_scale, w, w_scale, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """x: (m, k) and w: (n, k) float8, with a power of two as the scale of each 32 elements of a row."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(x.shape[1], tk)):
        a = tw.load(x, (i, k), (tm, tk), padding_mode=ZERO)
        b = tw.load(w, (k, j), (tk, tn), order="F", padding_mode=ZERO)
        sa = tw.load(x_scale, (i, k), (tm, tk // 32), padding_mode=ZERO)
        sb = tw.load(w_scale, (k, j), (tk // 32, tn), order="F", padding_mode=ZERO)
        acc = tw.mma_scaled(a, sa, b, sb, acc)
    tw.store(out, (i, j), acc.astype(out.dtype))


def quantise_blocks(w):
    parts = w.astype(np.float32).reshape(len(w), -1, 32)
    scale = 2.0 ** np.ceil(np.log2(np.abs(parts).max(axis=2) / 448))
    return (parts / scale[:, :, None]).astype(f8).reshape(w.shape), scale.astype(ml_dtypes.float8_e8m0fnu)


bx, bsx = quantise_blocks(x)
bw, bsw = quantise_blocks(weights)
block_scaled[(1, 2)](bx, bsx, bw, bsw, out, 32, 64, 64)
print(round(float(np.linalg.norm(out - true) / np.linalg.norm(true)), 3))   # 0.038


# %% Solution 1
@tw.tile_kernel
def absolute_maximum(x, scale, columns: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.abs(tw.load(x, (i, 0), (1, columns), padding_mode=ZERO).astype(tw.float32))
    tw.store(scale, i, tw.max(t, axis=1) / 127)


@tw.tile_kernel
def round_rows(x, scale, q, columns: tw.Constant[int]):
    i = tw.bid(0)
    t = tw.load(x, (i, 0), (1, columns)).astype(tw.float32) / tw.load(scale, i, 1)[:, None]
    tw.store(q, (i, 0), tw.round(t).astype(tw.int8))


s, mine = np.zeros(20, np.float32), np.zeros((20, 256), np.int8)
absolute_maximum[(20,)](x, s, 256)
round_rows[(20,)](x, s, mine, 256)
print(np.array_equal(mine, qx), np.array_equal(s, sx))  # True True


# %% Solution 2
@tw.tile_kernel
def unpack(packed, out, n: tw.Constant[int]):
    i = tw.bid(0)
    byte = tw.load(packed, (i, 0), (1, n)).astype(tw.int32)
    low, high = (byte & 15) - 8, (byte >> 4) - 8
    both = tw.interleave(low, high)                     # the low half of each byte comes first
    tw.store(out, (i, 0), both.astype(out.dtype))


four = rng.integers(-8, 8, (4, 64)).astype(np.int8)
packed = ((four[:, 0::2] + 8) | (four[:, 1::2] + 8) << 4).astype(np.uint8)
wide = np.zeros((4, 64), np.int8)
unpack[(4,)](packed, wide, 32)
print(np.array_equal(wide, four))                       # True
