"""An argument given by name and in ** at once."""

import numpy as np

import tilewright as ct


def scale(v, **options):
    return shift(v, by=1.0, **options)


def shift(v, by):
    return v + by


@ct.tile_kernel
def kernel(x):
    ct.store(x, (0,), scale(1.0, by=2.0))


def main() -> None:
    kernel[(1,)](np.zeros(16, np.float32))
