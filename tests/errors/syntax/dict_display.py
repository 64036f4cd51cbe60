"""A dict."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    sizes = {"a": 1}
    ct.store(x, (0,), sizes["a"])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
