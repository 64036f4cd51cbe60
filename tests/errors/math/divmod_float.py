"""divmod of float tiles."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    q, r = divmod(ct.load(x, (0,), (16,)), 2.0)
    ct.store(x, (0,), q)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
