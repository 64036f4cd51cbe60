"""A change of a captured list."""

import numpy as np

import tilewright as ct

weights = [1.0, 2.0]


@ct.tile_kernel
def kernel(x):
    weights[0] = 2.0
    ct.store(x, (0,), weights[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
