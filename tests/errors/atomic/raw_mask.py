"""A mask that is not bool."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    x.get_raw_memory().store_offset(0, 1, mask=1)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
