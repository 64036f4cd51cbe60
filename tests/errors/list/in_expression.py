"""A list that changes in an expression that has used it."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, 0, 4)
    xs = [t, t * 2]
    ct.store(x, 0, (xs + [xs.pop()])[0])


def main() -> None:
    kernel[(1,)](np.zeros(4, np.float32))
