"""Two dtypes under one name."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    if ct.bid(0) > 0:
        d = ct.float32
    else:
        d = ct.float16
    ct.store(x, (0,), ct.zeros((16,), d))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
