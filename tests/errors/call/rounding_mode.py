"""A rounding mode of another dtype."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.load(x, (0,), (16,)).astype(ct.float16)
    ct.store(x, (0,), ct.truediv(a, 3.0, rounding_mode=ct.RoundingMode.APPROX))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
