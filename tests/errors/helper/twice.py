"""An argument given twice."""

import numpy as np

import tilewright as ct


def double(v, w):
    return v + w


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), double(1.0, v=2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
