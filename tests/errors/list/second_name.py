"""A list that changes under two names."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    sizes = [4, 8]
    others = sizes
    others.append(2)
    ct.store(x, (0,), ct.zeros((sizes[0],), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
