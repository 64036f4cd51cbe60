"""A tuple that is shorter than its annotation."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x, sizes: tuple[ct.Constant[int], int]):
    ct.store(x, (0,), sizes[0])


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32), (1,))
