"""Only raw memory has masked atomics."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_xchg(x, 0, 1, mask=True)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
