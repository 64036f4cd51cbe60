"""A tuple by an index behind its end."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    t = (1.0, 2.0)
    ct.store(x, (0,), t[2])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
