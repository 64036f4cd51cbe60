"""Weights of fewer bits, one scale for each group of inputs: quantisation, and the linear layer that reads them."""

import tilewright as tw
from tilewright.kernels.device.common import ZERO, load_wide, store_as, wide


def codes_of(t, scale, largest, kind):
    """The numbers that are stored in the place of t. A scale that was rounded down would give larger ones."""
    level = tw.clamp(t * tw.where(scale == 0.0, 0.0, 1.0 / scale), -largest, largest)
    if kind == "fp8":
        return level.astype(tw.float8_e4m3fn)
    whole = tw.round(level).astype(tw.int8)
    if kind == "int8":
        return whole
    rows, group = t.shape
    low, high = tw.split((whole + 8).astype(tw.uint8).reshape((rows, group // 2, 2)))
    return low | (high << 4)


def decoded(codes, kind, dtype):
    """The codes as numbers of a dtype, without their scale."""
    if kind != "int4":
        return codes.astype(dtype)
    # The value 8 in a half of a byte is zero. Numbers of 4 bits are exact in every float.
    low, high = (codes & 15).astype(tw.int8) - 8, (codes >> 4).astype(tw.int8) - 8
    return tw.interleave(low, high).astype(dtype)


@tw.tile_kernel
def quantise_groups(x, codes, scales, largest: float, kind: tw.Constant[str], rows: tw.Constant[int],
                    group: tw.Constant[int]):
    """x: (m, k), scales: (m, k / group), codes: (m, k), of int4 (m, k / 2). A group's largest code is `largest`."""
    i, g = tw.bid(0), tw.bid(1)
    t = load_wide(x, (i, g), (rows, group))
    scale = tw.max(tw.abs(t), axis=1, keepdims=True) / largest
    # What is stored is what is divided by: the scale as its dtype rounds it.
    scale = scale.astype(scales.dtype)
    tw.store(scales, (i, g), scale)
    tw.store(codes, (i, g), codes_of(t, scale.astype(t.dtype), largest, kind))


@tw.tile_kernel
def dequantise_groups(codes, scales, out, kind: tw.Constant[str], rows: tw.Constant[int], group: tw.Constant[int]):
    """out: (m, k), the codes times their scales."""
    i, g = tw.bid(0), tw.bid(1)
    width = group // 2 if kind == "int4" else group
    t = decoded(tw.load(codes, (i, g), (rows, width), padding_mode=ZERO), kind, wide(out.dtype))
    store_as(out, (i, g), t * load_wide(scales, (i, g), (rows, 1)))


@tw.tile_kernel
def multiply_quantised(x, codes, scales, bias, out, kind: tw.Constant[str], tm: tw.Constant[int],
                       tn: tw.Constant[int], group: tw.Constant[int]):
    """out = x @ (codes * scales).T + bias. x: (m, k), codes: (n, k), of int4 (n, k / 2), scales: (n, k / group)."""
    i, j = tw.bid(0), tw.bid(1)
    width = group // 2 if kind == "int4" else group
    acc = tw.zeros((tm, tn), wide(x.dtype))
    for g in range(scales.shape[1]):
        rows = tw.load(x, (i, g), (tm, group), padding_mode=ZERO)
        weight = decoded(tw.load(codes, (j, g), (tn, width), padding_mode=ZERO), kind, x.dtype)
        # The codes are exact in the dtype of x, so that the scale can wait until a group is added up.
        part = tw.mma(rows, weight.transpose(), tw.zeros((tm, tn), acc.dtype))
        acc += part * load_wide(scales, (j, g), (tn, 1)).transpose()
    if bias is not None:
        acc += load_wide(bias, j, tn)
    store_as(out, (i, j), acc)
