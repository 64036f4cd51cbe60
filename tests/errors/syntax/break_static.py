"""break in a loop that is unrolled."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i in ct.static_iter(range(4)):
        if ct.bid(0) > i:
            break
        ct.store(x, (i,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
