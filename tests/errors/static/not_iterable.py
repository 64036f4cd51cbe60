"""A loop over a number."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    for i in ct.static_iter(4):
        ct.store(x, (i,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
