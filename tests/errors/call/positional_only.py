"""An argument by name that goes by position."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.exp(x=ct.load(x, (0,), (16,))))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
