"""A part of another dtype."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = ct.load(x, (0,), (16,))
    ct.store(x, (0,), ct.insert(t, (0,), ct.zeros((4,), ct.int32)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
