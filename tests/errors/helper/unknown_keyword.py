"""An argument that a helper does not have."""

import numpy as np

import tilewright as ct


def double(v):
    return v + v


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), double(v=1.0, w=2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
