"""An axis that is named twice."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.sum(ct.load(x, (0,), (16,)), axis=(0, -1)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
