"""An assertion that does not hold in the second block, inside a helper."""

import numpy as np

import tilewright as ct


@ct.function
def check(t):
    ct.assert_(t > 0, "values must be positive")


@ct.tile_kernel
def kernel(x):
    check(ct.load(x, ct.bid(0), 2))


def main() -> None:
    kernel[(2,)](np.array([1, 2, 3, 0]))
