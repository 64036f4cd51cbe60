"""A helper that is asynchronous."""

import numpy as np

import tilewright as ct


async def load(x):
    return 1.0


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), load(x))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
