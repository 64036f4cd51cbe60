"""match by the items of a tuple."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    match (ct.bid(0), 1):
        case (0, n):
            ct.store(x, (n,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
