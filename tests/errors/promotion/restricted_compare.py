"""Two storage formats compared."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a = ct.zeros((16,), ct.float8_e5m2)
    b = ct.zeros((16,), ct.float8_e4m3fn)
    ct.store(x, (0,), ct.where(a < b, 1.0, 2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
