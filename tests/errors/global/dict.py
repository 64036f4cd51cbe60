"""A dict from outside."""

import numpy as np

import tilewright as ct

sizes = {"a": 16}


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), sizes["a"])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
