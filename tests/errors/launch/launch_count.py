"""ct.launch without the argument that has a default."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, n=1):
    ct.store(x, (0,), 1.0 * n)


def main() -> None:
    ct.launch(None, (1,), kernel, (np.zeros(16, np.float32),))
