"""A keyword argument that was not given."""

import numpy as np

import tilewright as ct


def pick(**options):
    return options["scale"]


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), pick(factor=2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
