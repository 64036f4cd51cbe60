"""A rounding mode that addition lacks."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.add(t, t, rounding_mode=ct.RoundingMode.APPROX))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
