"""relu(x @ w + bias) in one kernel: the sums never leave the registers before the bias and the relu are applied."""

import ml_dtypes
import numpy as np
from _places import check, places

import tilewright as tw

TM, TN, TK = 64, 64, 64


@tw.tile_kernel
def linear_relu(x, w, bias, out, tm: tw.Constant[int], tn: tw.Constant[int], tk: tw.Constant[int]):
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for k in range(tw.num_tiles(x, 1, (tm, tk))):
        tx = tw.load(x, (i, k), (tm, tk), padding_mode=tw.PaddingMode.ZERO)
        # A row of w holds the weights of one output, as deep-learning libraries keep them.
        tw_ = tw.load(w, (k, j), (tk, tn), order="F", padding_mode=tw.PaddingMode.ZERO)
        acc = tw.mma(tx, tw_, acc)
    row = tw.load(bias, (j,), (tn,), padding_mode=tw.PaddingMode.ZERO)
    tw.store(out, (i, j), tw.maximum(acc + row, 0.0).astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(6)
    m, n, k = 200, 136, 312
    x = rng.standard_normal((m, k), dtype=np.float32).astype(ml_dtypes.bfloat16)
    w = rng.standard_normal((n, k), dtype=np.float32).astype(ml_dtypes.bfloat16)
    bias = rng.standard_normal(n, dtype=np.float32)
    wide = [v.astype(np.float64) for v in (x, w, bias)]
    total = wide[0] @ wide[1].T + wide[2]
    size = np.abs(wide[0]) @ np.abs(wide[1].T) + np.abs(wide[2])
    bound = (k + 1) * np.finfo(np.float32).eps * size + float(ml_dtypes.finfo(ml_dtypes.bfloat16).eps) * np.abs(total)
    for place in places():
        dx, dw, dbias, out = place.put(x, w, bias, np.zeros((m, n), ml_dtypes.bfloat16))
        linear_relu[(tw.cdiv(m, TM), tw.cdiv(n, TN))](dx, dw, dbias, out, TM, TN, TK)
        check("relu(x @ w.T + bias)", place, place.get(out), np.maximum(total, 0.0), bound)


if __name__ == "__main__":
    main()
