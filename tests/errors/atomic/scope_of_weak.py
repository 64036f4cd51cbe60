"""A weak access has no scope."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1, memory_scope=ct.MemoryScope.DEVICE)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
