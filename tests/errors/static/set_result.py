"""A set out of static_eval."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    sizes = ct.static_eval({1, 2})
    ct.store(x, (0,), sizes)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
