"""break in the else of a loop that may break itself."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for j in range(ct.num_blocks(1)):
        for i in range(4):
            if ct.bid(0) > i:
                break
        else:
            break
        ct.store(x, (j,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
