"""enumerate of a range that only the run knows."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for k, i in enumerate(range(0, x.shape[0], 2)):
        ct.store(x, (i,), ct.float32(k))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
