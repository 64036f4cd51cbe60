"""Product with weights kept in int8, one scale per group of 64 inputs: memory traffic of a quarter of float32."""

import numpy as np
from _places import check, places

import tilewright as tw


@tw.tile_kernel
def quantised_linear(x, weight, scale, out, tm: tw.Constant[int], tn: tw.Constant[int], group: tw.Constant[int]):
    """x: (m, k) float16, weight: (n, k) int8, scale: (n, k // group) float16, out: (m, n)."""
    i, j = tw.bid(0), tw.bid(1)
    acc = tw.zeros((tm, tn), tw.float32)
    for g in range(scale.shape[1]):
        a = tw.load(x, (i, g), (tm, group), padding_mode=tw.PaddingMode.ZERO)
        w = tw.load(weight, (g, j), (group, tn), order="F", padding_mode=tw.PaddingMode.ZERO)
        s = tw.load(scale, (g, j), (1, tn), order="F", padding_mode=tw.PaddingMode.ZERO)
        # int8 is exact in float16, so the scale can wait until after the product of a group.
        acc += tw.mma(a, w.astype(tw.float16), tw.zeros((tm, tn), tw.float32)) * s.astype(tw.float32)
    tw.store(out, (i, j), acc.astype(out.dtype))


def main() -> None:
    rng = np.random.default_rng(36)
    m, n, k, group = 20, 150, 256, 64
    x = rng.standard_normal((m, k)).astype(np.float16)
    weight = rng.integers(-127, 128, (n, k)).astype(np.int8)
    scale = rng.uniform(0.5, 1.5, (n, k // group)).astype(np.float16) / np.float16(128)
    full = weight * np.repeat(scale.astype(np.float64), group, axis=1)
    want = x.astype(np.float64) @ full.T
    bound = 2.0**-11 * np.abs(want) + k * 2.0**-23 * (np.abs(x).astype(np.float64) @ np.abs(full).T)
    for place in places():
        dx, dw, ds, out = place.put(x, weight, scale, np.empty((m, n), np.float16))
        quantised_linear[(tw.cdiv(m, 32), tw.cdiv(n, 64))](dx, dw, ds, out, 32, 64, group)
        check(f"int8 weights, {m} x {k} x {n}", place, place.get(out), want, bound)


if __name__ == "__main__":
    main()
