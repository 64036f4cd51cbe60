"""2-D convolution as a matrix product that is never written out: the rows are gathered while they are multiplied."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def convolve(image, weight, out, stride: tw.Constant[int], pad: tw.Constant[int],
             tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    """image: (batch, h, w, c), weight: (kh, kw, c, n), out: (batch, oh, ow, n). A block: tm pixels, tn features."""
    channels = image.shape[3]
    kh, kw = weight.shape[:2]
    _, oh, ow, _ = out.shape
    pixel = tw.bid(0) * tm + tw.arange(tm, dtype=tw.int32)
    feature = tw.bid(1) * tn + tw.arange(tn, dtype=tw.int32)
    batch, y, x = pixel // (oh * ow), pixel // ow % oh, pixel % ow
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.cdiv(kh * kw * channels, tk)):
        inner = k * tk + tw.arange(tk, dtype=tw.int32)
        dy, dx, c = inner // (kw * channels), inner // channels % kw, inner % channels
        iy = (y * stride - pad)[:, None] + dy[None, :]
        ix = (x * stride - pad)[:, None] + dx[None, :]
        # Indices outside the image, before or behind, give the padding value 0.
        a = tw.gather(image, (batch[:, None], iy, ix, c[None, :]))
        b = tw.gather(weight, (dy[:, None], dx[:, None], c[:, None], feature[None, :]))
        acc = tw.mma(a, b, acc)
    at = (batch[:, None], y[:, None], x[:, None], feature[None, :])
    tw.scatter(out, at, acc.astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(37)
    batch, h, w, c, n, stride, pad = 2, 13, 11, 5, 20, 2, 1
    image = rng.standard_normal((batch, h, w, c)).astype(np.float16)
    weight = rng.standard_normal((3, 3, c, n)).astype(np.float16)
    padded = np.pad(image, ((0, 0), (pad, pad), (pad, pad), (0, 0))).astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))[:, ::stride, ::stride]
    want = np.einsum("byxcij,ijcf->byxf", windows, weight.astype(np.float64))
    oh, ow = want.shape[1:3]
    for place in places():
        di, dw, out = place.put(image, weight, np.empty((batch, oh, ow, n), np.float16))
        convolve[(tw.cdiv(batch * oh * ow, 32), tw.cdiv(n, 32))](di, dw, out, stride, pad, 32, 32, 16)
        check(f"3 x 3 convolution to {batch} x {oh} x {ow} x {n}", place, place.get(out), want,
              bound=2.0**-11 * np.abs(want) + 1e-4)


if __name__ == "__main__":
    main()
