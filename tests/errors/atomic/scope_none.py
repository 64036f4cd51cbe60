"""An atomic operation without a scope."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.atomic_add(x, 0, 1, memory_scope=ct.MemoryScope.NONE)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
