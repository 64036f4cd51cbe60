"""A misspelled keyword."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.load(x, (0,), (16,), paddingmode=ct.PaddingMode.ZERO))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
