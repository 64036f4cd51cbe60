"""A reduction inside the function of a reduction."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0, 0), (4, 16))
    ct.reduce(t, 1, lambda a, b: ct.reduce(a, 0, lambda c, d: c, 0), 0)


def main() -> None:
    kernel[(1,)](np.zeros((4, 16), np.float32))
