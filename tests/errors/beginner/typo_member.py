"""A misspelled member of an enum."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.load(x, (0,), (16,), padding_mode=ct.PaddingMode.ZEROS))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
