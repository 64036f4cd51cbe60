""":= where only the run knows whether it is reached."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if ct.bid(0) >= 0 and (n := x.shape[0]) > 0:
        ct.store(x, (0,), ct.float32(n))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
