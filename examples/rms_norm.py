"""RMS normalisation with the residual connection added first, as transformer blocks need it: one pass over memory."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def add_rms_norm(x, residual, weight, out, eps: float, width: tw.Constant[int]):
    """`residual` becomes x + residual, `out` its normalised rows times the weights. A block does one row."""
    row = tw.bid(0)
    t = tw.load(x, (row, 0), (1, width), padding_mode=tw.PaddingMode.ZERO).astype(tw.float32)
    t += tw.load(residual, (row, 0), (1, width), padding_mode=tw.PaddingMode.ZERO).astype(tw.float32)
    tw.store(residual, (row, 0), tw.astype(t, residual.dtype))
    mean_square = tw.sum(t * t, axis=1, keepdims=True) / x.shape[1]
    w = tw.load(weight, 0, width).reshape((1, width))
    tw.store(out, (row, 0), (t * tw.rsqrt(mean_square + eps) * w.astype(tw.float32)).astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(23)
    m, n = 48, 640
    x, r = rng.standard_normal((2, m, n)).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal(n).astype(ml_dtypes.bfloat16)
    total = x.astype(np.float32) + r.astype(np.float32)
    want = total / np.sqrt((total.astype(np.float64) ** 2).mean(axis=1, keepdims=True) + 1e-6) * w.astype(np.float64)
    for place in places():
        dx, dr, dw, out = place.put(x, r.copy(), w, np.empty_like(x))
        add_rms_norm[(m,)](dx, dr, dw, out, 1e-6, 1024)
        check(f"residual of {m} x {n} bfloat16", place, place.get(dr), total.astype(ml_dtypes.bfloat16))
        check(f"RMS norm of {m} x {n} bfloat16", place, place.get(out), want, bound=2.0**-8 * np.abs(want) + 1e-30)


if __name__ == "__main__":
    main()
