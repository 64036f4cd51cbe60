"""Two tiles that are reasonable alone broadcast to one that is not."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    i = ct.arange(1 << 14, dtype=ct.int32)
    ct.store(x, (0,), ct.sum(i[:, None] * i[None, :]))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
