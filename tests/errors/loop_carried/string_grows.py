"""A string that a loop makes longer."""

import numpy as np

import tilewright as ct


@ct.tile_kernel
def kernel(x):
    name = "a"
    for i in range(4):
        name = name + "b"
    ct.store(x, (0,), 1.0)


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
