"""A grid that is a list."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    ct.launch(None, [1], kernel, (np.zeros(16, np.float32),))
