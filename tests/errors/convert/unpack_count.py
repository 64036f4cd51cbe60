"""Too few bytes for one element."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), ct.unpack_from_bytes(ct.zeros((2,), ct.uint8), ct.float32))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
