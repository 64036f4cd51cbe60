"""Layer normalisation: mean and variance of each row, then a scale and a shift per column."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def layer_norm(x, weight, bias, out, mean, rstd, eps: float, chunk: tw.Constant[int]):
    row = tw.bid(0)
    columns = x.shape[1]
    chunks = tw.cdiv(columns, chunk)
    total = tw.zeros((1, chunk), tw.float32)
    for j in range(chunks):
        total += tw.load(x, (row, j), (1, chunk), padding_mode=tw.PaddingMode.ZERO)
    mu = tw.sum(total) / columns
    squares = tw.zeros((1, chunk), tw.float32)
    for j in range(chunks):
        t = tw.load(x, (row, j), (1, chunk), padding_mode=tw.PaddingMode.ZERO)
        column = j * chunk + tw.arange(chunk, dtype=tw.int32)
        centred = tw.where(column[None, :] < columns, t - mu, 0.0)
        squares += centred * centred
    scale = tw.rsqrt(tw.sum(squares) / columns + eps)
    tw.store(mean, (row,), mu)
    tw.store(rstd, (row,), scale)
    for j in range(chunks):
        t = tw.load(x, (row, j), (1, chunk))
        w = tw.load(weight, (j,), (chunk,))
        b = tw.load(bias, (j,), (chunk,))
        tw.store(out, (row, j), (t - mu) * scale * w[None, :] + b[None, :])


def main() -> None:
    rng = np.random.default_rng(22)
    for m, n in ((64, 768), (5, 1000)):
        x = (rng.standard_normal((m, n)) * 3 + 1).astype(np.float32)
        w, b = rng.standard_normal((2, n)).astype(np.float32)
        exact = x.astype(np.float64)
        want_mean = exact.mean(axis=1)
        want_rstd = 1 / np.sqrt(exact.var(axis=1) + 1e-5)
        want = (exact - want_mean[:, None]) * want_rstd[:, None] * w + b
        for place in places():
            dx, dw, db, out, mean, rstd = place.put(
                x, w, b, np.empty_like(x), np.empty(m, np.float32), np.empty(m, np.float32))
            layer_norm[(m,)](dx, dw, db, out, mean, rstd, 1e-5, 256)
            check(f"layer norm of {m} x {n}", place, place.get(out), want, bound=2e-5)
            check(f"layer norm of {m} x {n}: mean", place, place.get(mean), want_mean, bound=2e-6)
            check(f"layer norm of {m} x {n}: 1/deviation", place, place.get(rstd), want_rstd, bound=2e-6)


if __name__ == "__main__":
    main()
