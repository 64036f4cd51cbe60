"""A value that raw memory cannot take without a cast."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    m = x.get_raw_memory()
    m.store_offset(0, ct.float64(1.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
