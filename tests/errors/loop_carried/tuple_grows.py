"""A tuple that grows."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    parts = (1.0,)
    for i in range(ct.num_blocks(0)):
        parts = parts + (2.0,)
    ct.store(x, (0,), parts[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
