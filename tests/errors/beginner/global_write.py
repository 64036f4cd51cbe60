"""Counting in a global."""

import numpy as np

import tilewright as ct

launches = 0


@ct.tile_kernel
def kernel(x):
    launches += 1  # noqa: F823
    ct.store(x, (0,), launches)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
