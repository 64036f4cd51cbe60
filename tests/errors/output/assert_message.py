"""A message that is no constant string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 4)
    ct.assert_(t >= 0, f"block {ct.bid(0)}")


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
