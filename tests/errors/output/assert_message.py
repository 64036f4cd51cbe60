"""A message that is no string."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 4)
    ct.assert_(t >= 0, t)


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
