"""Gravity among n bodies: each block holds a tile of bodies and walks over all others; then a leapfrog step."""

import numpy as np
from _places import check, places

import tilewright as tw


def pull(towards, here, mass, soft):
    """Acceleration components of the bodies `here` (columns of x, y, z) by the bodies `towards` (rows)."""
    dx, dy, dz = tuple(t - h for t, h in tw.static_iter(zip(towards, here, strict=True)))
    r2 = dx * dx + dy * dy + dz * dz + soft
    w = mass * tw.rsqrt(r2) / r2
    return tw.sum(w * dx, axis=1), tw.sum(w * dy, axis=1), tw.sum(w * dz, axis=1)


@tw.tile_kernel
def accelerate(position, mass, acceleration, soft: float, here: tw.Constant[int], there: tw.Constant[int]):
    """position, acceleration: (3, n); mass: (n,)."""
    i = tw.bid(0)
    mine = tuple(tw.load(position, (axis, i), (1, here)).reshape((here, 1)) for axis in tw.static_iter(range(3)))
    ax, ay, az = tw.zeros(here, tw.float32), tw.zeros(here, tw.float32), tw.zeros(here, tw.float32)
    for j in range(tw.num_tiles(mass, 0, there)):
        theirs = tuple(tw.load(position, (axis, j), (1, there), padding_mode=tw.PaddingMode.ZERO)
                       for axis in tw.static_iter(range(3)))
        # Bodies past the end have no mass. (Undetermined places could be NaN, and pull all the same.)
        m = tw.load(mass, j, there, padding_mode=tw.PaddingMode.ZERO)[None, :]
        px, py, pz = pull(theirs, mine, m, soft)
        ax, ay, az = ax + px, ay + py, az + pz
    for axis, a in tw.static_iter(enumerate((ax, ay, az))):
        tw.store(acceleration, (axis, i), a[None, :])


def main() -> None:
    rng = np.random.default_rng(33)
    n, soft = 300, 0.01
    x = rng.standard_normal((3, n)).astype(np.float32)
    m = rng.uniform(0.5, 2, n).astype(np.float32)
    d = x[:, None, :].astype(np.float64) - x[:, :, None]
    r2 = (d**2).sum(axis=0) + soft
    want = (m * d / r2**1.5).sum(axis=2)
    scale = np.abs(m * d / r2**1.5).sum(axis=2)
    for place in places():
        dx, dm, a = place.put(x, m, np.empty_like(x))
        accelerate[(tw.cdiv(n, 64),)](dx, dm, a, soft, 64, 64)
        check(f"pull among {n} bodies", place, place.get(a), want, bound=3e-6 * scale)


if __name__ == "__main__":
    main()
