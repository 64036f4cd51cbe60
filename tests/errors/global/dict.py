"""A key that a dict from outside does not have."""

import numpy as np

import tilewright as ct

sizes = {"a": 1}


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), sizes["b"])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
