"""An accumulator whose dtype changes."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    total = ct.zeros((16,), ct.float16)
    for i in range(4):
        total = total + ct.load(x, (i,), (16,))
    ct.store(x, (0,), total)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
