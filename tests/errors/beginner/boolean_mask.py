"""NumPy's assignment where a mask holds."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    t[t < 0] = 0.0
    ct.store(x, (0,), t)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
