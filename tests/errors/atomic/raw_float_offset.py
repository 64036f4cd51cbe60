"""An offset that is no integer."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    x.get_raw_memory().load_offset(1.5)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
