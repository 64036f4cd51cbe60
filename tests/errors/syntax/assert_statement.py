"""An assertion that never holds."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    assert x.ndim == 2, "a matrix"
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
