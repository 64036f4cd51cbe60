"""** of what are no keyword arguments."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    options = (1,)
    ct.store(x, (0,), 1.0, **options)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
