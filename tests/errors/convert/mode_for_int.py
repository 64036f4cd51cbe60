"""A rounding mode toward integers."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,)).astype(ct.int32, rounding_mode=ct.RoundingMode.RZ)
    ct.store(x, (0,), t.astype(ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
