"""An unknown mode of the interpreter."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel.interpret((1,), np.zeros(16, np.float32), mode="fast")
