"""A callable object."""

import numpy as np

import tilewright as ct


class Scale:
    def __call__(self, v):
        return v


scale = Scale()


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), scale(1.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
