"""A load cannot release."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.load(x, (0,), (16,), memory_order=ct.MemoryOrder.RELEASE, memory_scope=ct.MemoryScope.DEVICE)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.int32))
