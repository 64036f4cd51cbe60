"""A function that the module does not have."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.relu(ct.load(x, (0,), (16,))))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
