"""Tuples nested too deep."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, sizes):
    ct.store(x, (0,), 1.0)


def main() -> None:
    sizes = ()
    for _ in range(80):
        sizes = (sizes,)
    kernel[(1,)](np.zeros(16, np.float32), sizes)
