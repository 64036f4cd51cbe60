"""A mistake in computing with stand-ins."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    a, b = ct.zeros((16,), ct.int32), ct.zeros((16,), ct.uint32)
    ct.store(x, (0,), ct.static_eval(a + b))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
