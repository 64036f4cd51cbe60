"""A shape that a tile does not broadcast to."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.broadcast_to(ct.load(x, (0,), (16,)), (16, 8)))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
