"""static_eval in a variable."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    f = ct.static_eval
    ct.store(x, (0,), f(3))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
