"""Bilinear resize of an image by gathers."""

import numpy as np

import tilewright as ct


def lerp(a, b, w):
    return a + (b - a) * w


@ct.tile_kernel
def resize(image, out, TILE: ct.Constant[int]):
    y, x = ct.bid(0), ct.bid(1)
    h, w = image.shape
    oh, ow = out.shape
    ys = (y * TILE + ct.arange(TILE, dtype=ct.int32)).astype(ct.float32) * (h - 1) / (oh - 1)
    xs = (x * TILE + ct.arange(TILE, dtype=ct.int32)).astype(ct.float32) * (w - 1) / (ow - 1)
    y0, x0 = ct.floor(ys), ct.floor(xs)
    iy, ix = y0.astype(ct.int32)[:, None], x0.astype(ct.int32)[None, :]
    wy, wx = (ys - y0)[:, None], (xs - x0)[None, :]
    ny, nx = min(iy + 1, h - 1), min(ix + 1, w - 1)
    top = lerp(ct.gather(image, (iy, ix)), ct.gather(image, (iy, nx)), wx)
    bottom = lerp(ct.gather(image, (ny, ix)), ct.gather(image, (ny, nx)), wx)
    ct.store(out, (y, x), lerp(top, bottom, wy))


img = np.random.default_rng(0).random((20, 30), dtype=np.float32)
out = np.zeros((37, 45), np.float32)
resize[(ct.cdiv(37, 16), ct.cdiv(45, 16))](img, out, 16)
ys = np.arange(37) * 19 / 36
xs = np.arange(45) * 29 / 44
y0 = np.floor(ys).astype(int)
x0 = np.floor(xs).astype(int)
wy = (ys - y0)[:, None]
wx = xs - x0
y1 = np.minimum(y0 + 1, 19)
x1 = np.minimum(x0 + 1, 29)
want = (img[y0][:, x0] * (1 - wx) + img[y0][:, x1] * wx) * (1 - wy) + (
    img[y1][:, x0] * (1 - wx) + img[y1][:, x1] * wx
) * wy
assert np.allclose(out, want, atol=1e-4)
