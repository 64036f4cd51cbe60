"""Layer normalisation's gradients. Each block adds its rows' share of the column sums to a common row under a lock."""

import numpy as np
from _places import check, places

import tilewright as tw

ZERO = tw.PaddingMode.ZERO
ACQUIRE, RELEASE = tw.MemoryOrder.ACQUIRE, tw.MemoryOrder.RELEASE


@tw.tile_kernel
def layer_norm_backward(grad, x, weight, mean, rstd, dx, weight_parts, bias_parts, locks,
                        columns: tw.Constant[int], rows: tw.Constant[int]):
    """grad, x, dx: (m, n), columns a power of two from n on. A block does `rows` rows.

    weight_parts, bias_parts: (parts, n) of zeros; locks: (parts,) int32 of zeros. Block b adds to part b % parts, so
    more parts mean less waiting for each other and more to sum afterwards.
    """
    w = tw.load(weight, (0,), (columns,), padding_mode=ZERO)[None, :]
    inside = (tw.arange(columns, dtype=tw.int32) < x.shape[1])[None, :]
    weight_sum, bias_sum = tw.zeros((1, columns), tw.float32), tw.zeros((1, columns), tw.float32)
    for row in range(tw.bid(0) * rows, min((tw.bid(0) + 1) * rows, x.shape[0])):
        mu, scale = tw.gather(mean, row), tw.gather(rstd, row)
        normal = tw.load(x, (row, 0), (1, columns), padding_mode=ZERO).astype(tw.float32) - mu
        normal = tw.where(inside, normal * scale, 0.0)
        above = tw.load(grad, (row, 0), (1, columns), padding_mode=ZERO).astype(tw.float32)
        scaled = above * w
        # The part of the gradient along the mean and along x itself is lost: the output does not change with those.
        along_mean = tw.sum(scaled) / x.shape[1]
        along_x = tw.sum(scaled * normal) / x.shape[1]
        tw.store(dx, (row, 0), ((scaled - along_mean - normal * along_x) * scale).astype(dx.dtype))
        weight_sum += above * normal
        bias_sum += above
    part = tw.bid(0) % locks.shape[0]
    while tw.atomic_cas(locks, part, 0, 1, memory_order=ACQUIRE) == 1:
        pass
    tw.store(weight_parts, (part, 0), tw.load(weight_parts, (part, 0), (1, columns)) + weight_sum)
    tw.store(bias_parts, (part, 0), tw.load(bias_parts, (part, 0), (1, columns)) + bias_sum)
    tw.atomic_xchg(locks, part, 0, memory_order=RELEASE)


@tw.tile_kernel
def sum_parts(parts, out, tile: tw.Constant[int], tall: tw.Constant[int]):
    """out[j] = sum of parts[:, j]; tall is a power of two from the number of parts on."""
    j = tw.bid(0)
    tw.store(out, (j,), tw.sum(tw.load(parts, (0, j), (tall, tile), padding_mode=ZERO), axis=0).astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(45)
    for m, n, parts in ((50, 768, 4), (3, 100, 2)):
        x, grad = (rng.standard_normal((2, m, n)) * 2 + 0.5).astype(np.float32)
        w = rng.standard_normal(n).astype(np.float32)
        exact = x.astype(np.float64)
        mean, rstd = exact.mean(axis=1), 1 / np.sqrt(exact.var(axis=1) + 1e-5)
        normal, scaled = (exact - mean[:, None]) * rstd[:, None], grad.astype(np.float64) * w
        inner = scaled.mean(axis=1, keepdims=True) + normal * (scaled * normal).mean(axis=1, keepdims=True)
        want = (scaled - inner) * rstd[:, None], (grad * normal).sum(axis=0), grad.sum(axis=0, dtype=np.float64)
        for place in places():
            given = place.put(grad, x, w, mean.astype(np.float32), rstd.astype(np.float32))
            dx, weight_parts, bias_parts, dw, db = place.put(
                np.empty_like(x), *np.zeros((2, parts, n), np.float32), *np.empty((2, n), np.float32))
            locks = place.put(np.zeros(parts, np.int32))
            columns = 1 << (n - 1).bit_length()
            layer_norm_backward[(tw.cdiv(m, 8),)](*given, dx, weight_parts, bias_parts, locks, columns, 8)
            for from_parts, to in ((weight_parts, dw), (bias_parts, db)):
                sum_parts[(tw.cdiv(n, 64),)](from_parts, to, 64, parts)
            for name, got, right in zip(("x", "weight", "bias"), (dx, dw, db), want, strict=True):
                check(f"layer norm of {m} x {n}: gradient of {name}", place, place.get(got), right, bound=1e-4)


if __name__ == "__main__":
    main()
